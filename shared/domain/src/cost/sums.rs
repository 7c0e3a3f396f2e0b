//! Sums of days and months: each record is added to the total, and to the sum of each of its
//! values.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::measures::Measures;
use super::record::{CostRecord, OTHER};
use super::report::Dimension;
use crate::usage::OTHER_MODELS;

/// Most values of a cost label that are told apart.
pub const MAX_VALUES: usize = 1_000;
/// Most models that sums tell apart; further ones count as [`OTHER_MODELS`].
const MAX_MODELS: usize = 100;

/// Sums of a day or a month: of everything, or of one value of a dimension.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sums {
    /// The day, such as `2026-11-20`, or the month.
    pub period: String,
    /// The value; none, where it is of everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// All of it.
    #[serde(default)]
    pub total: Measures,
    /// By model.
    #[serde(default)]
    pub models: BTreeMap<String, Measures>,
}

impl Sums {
    /// Adds a record.
    pub fn add(&mut self, record: &CostRecord) {
        self.total.add(&record.total());
        for (model, measures) in record.by_model() {
            let is_known = self.models.contains_key(model) || self.models.len() < MAX_MODELS;
            let name = if is_known { model } else { OTHER_MODELS };
            self.models
                .entry(name.to_owned())
                .or_default()
                .add(&measures);
        }
    }
}

/// Which sums.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Of what; none, of everything.
    pub dimension: Option<Dimension>,
    /// The day or the month.
    pub period: String,
    /// The value of the dimension.
    pub value: Option<String>,
}

impl Cell {
    /// Those that a record is added to.
    #[must_use]
    pub fn all_of(record: &CostRecord, values: &mut LabelValues) -> Vec<Cell> {
        let valued = Dimension::all_of(record).into_iter().filter_map(|of| {
            let value = of.value_of(record)?;
            let value = match &of {
                Dimension::Label(label) => values.counted(label, value),
                _ => value,
            };
            Some((Some(of), Some(value)))
        });
        let day = record.at.day();
        let month = day.get(..7).unwrap_or_default().to_owned();
        let mut cells = Vec::new();
        for (dimension, value) in std::iter::once((None, None)).chain(valued) {
            for period in [&day, &month] {
                cells.push(Cell {
                    dimension: dimension.clone(),
                    period: period.clone(),
                    value: value.clone(),
                });
            }
        }
        cells
    }

    /// Nothing yet.
    #[must_use]
    pub fn empty(&self) -> Sums {
        Sums {
            period: self.period.clone(),
            value: self.value.clone(),
            ..Sums::default()
        }
    }

    /// Its name, of bounded length: those of a dimension's days, and of its months, stand together
    /// in the order of time.
    #[must_use]
    pub fn name(&self) -> String {
        let value = self.value.as_deref().unwrap_or_default();
        let prefix = Cell::prefix(self.dimension.as_ref(), self.period.len() > 7);
        format!("{prefix}{}#{}", self.period, short(value))
    }

    /// What the names of a dimension's days, or of its months, begin with.
    #[must_use]
    pub fn prefix(dimension: Option<&Dimension>, days: bool) -> String {
        let of = match dimension {
            None => "all".to_owned(),
            Some(Dimension::Label(label)) => format!("label:{}", short(label)),
            Some(fixed) => fixed.name(),
        };
        format!("{of}#{}", if days { "day#" } else { "month#" })
    }
}

/// A name of any length in few characters.
fn short(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes())[..16])
}

/// The values of cost labels that are told apart, by short names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelValues(pub BTreeMap<String, BTreeSet<String>>);

impl LabelValues {
    /// The value itself, if it is one of the first; it is, from now on.
    fn counted(&mut self, label: &str, value: String) -> String {
        let known = self.0.entry(label.to_owned()).or_default();
        let short = short(&value);
        match known.contains(&short) || known.len() < MAX_VALUES {
            true => {
                known.insert(short);
                value
            }
            false => OTHER.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Attribution;
    use crate::{RunId, Timestamp, TransactionId};

    fn labelled(value: usize) -> CostRecord {
        let now = Timestamp::from_epoch_ms(1_795_420_800_000);
        CostRecord {
            id: TransactionId::new(now, value as u128),
            at: now,
            run_id: RunId::new(now, value as u128),
            work_order_id: None,
            outcome: None,
            tenant_context: None,
            attribution: Some(Attribution {
                labels: [("team".to_owned(), value.to_string())].into(),
                ..Attribution::default()
            }),
            is_refund: false,
            parts: Vec::new(),
        }
    }

    #[test]
    fn values_of_a_label_beyond_the_first_thousand_count_as_other_and_those_before_keep_their_names()
     {
        let mut values = LabelValues::default();
        let mut counted = |value: usize| {
            let cells = Cell::all_of(&labelled(value), &mut values);
            let label = Some(Dimension::Label("team".to_owned()));
            let of_label = cells.into_iter().find(|cell| cell.dimension == label);
            of_label.and_then(|cell| cell.value)
        };
        for value in 0..MAX_VALUES {
            assert_eq!(counted(value), Some(value.to_string()));
        }
        assert_eq!(counted(MAX_VALUES).as_deref(), Some(OTHER));
        assert_eq!(counted(7).as_deref(), Some("7"));
    }
}
