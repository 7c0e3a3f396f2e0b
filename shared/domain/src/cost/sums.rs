//! Sums of days and months: each record is added to the total, and to the sum of each of its
//! values. For statements, its credits are added to the month's sum of its tenant and each cost label.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::measures::Measures;
use super::record::{CostRecord, OTHER};
use super::report::Dimension;
use crate::usage::OTHER_MODELS;

/// Most values of a cost label that have sums of their own.
pub const MAX_VALUES: usize = 1_000;
/// Most models with sums of their own; further ones count as [`OTHER_MODELS`].
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
    /// Of everything: the versions of price lists by which runs were charged.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub price_lists: BTreeSet<String>,
}

impl Sums {
    fn add(&mut self, total: &Measures, models: &BTreeMap<&str, Measures>) {
        self.total.add(total);
        for (model, measures) in models {
            let is_known = self.models.contains_key(*model) || self.models.len() < MAX_MODELS;
            let name = if is_known { model } else { OTHER_MODELS };
            self.models
                .entry(name.to_owned())
                .or_default()
                .add(measures);
        }
    }
}

/// What sums are of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SumsOf {
    /// Everything.
    All,
    /// A value of a dimension.
    Dimension(Dimension),
    /// A value of a cost label of a tenant: credits of a month, for its statement.
    Statement,
}

/// Which sums.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Of what.
    pub of: SumsOf,
    /// The day or the month.
    pub period: String,
    /// The value; of a statement's sums a [`LabelOfTenant`].
    pub value: Option<String>,
}

/// The dimensions of a statement's rows, beside the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelOfTenant {
    /// The cost label.
    pub label: String,
    /// Its value.
    pub value: String,
    /// The tenant, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

impl Cell {
    /// Those that a record is added to.
    #[must_use]
    pub fn all_of(record: &CostRecord, values: &mut LabelValues) -> Vec<Cell> {
        let day = record.at.day();
        let month = day.get(..7).unwrap_or_default().to_owned();
        let mut cells = Vec::new();
        let mut add = |of: SumsOf, period: &str, value: Option<String>| {
            let period = period.to_owned();
            cells.push(Cell { of, period, value });
        };
        for period in [&day, &month] {
            add(SumsOf::All, period, None);
        }
        for dimension in Dimension::all_of(record) {
            let value = dimension.value_of(record);
            let value = match (&dimension, value) {
                (_, None) => continue,
                (Dimension::Label(label), Some(value)) => {
                    let value = values.counted(label, value);
                    let of_tenant = LabelOfTenant {
                        label: label.clone(),
                        value: value.clone(),
                        tenant: Dimension::Tenant.value_of(record),
                    };
                    if record.total().credits_micro != 0 {
                        add(SumsOf::Statement, &month, of_tenant.name());
                    }
                    value
                }
                (_, Some(value)) => value,
            };
            for period in [&day, &month] {
                let of = SumsOf::Dimension(dimension.clone());
                add(of, period, Some(value.clone()));
            }
        }
        cells
    }

    /// Adds a record to the sums of this cell.
    pub fn add(&self, sums: &mut Sums, record: &CostRecord) {
        let models = record.by_model();
        match self.of {
            SumsOf::All => {
                sums.add(&record.total(), &models);
                sums.price_lists.extend(record.price_list.clone());
            }
            SumsOf::Dimension(_) => sums.add(&record.total(), &models),
            SumsOf::Statement => {
                let credits = |of: &Measures| Measures {
                    credits_micro: of.credits_micro,
                    ..Measures::default()
                };
                let charged = models.iter().filter(|(_, of)| of.credits_micro != 0);
                let charged = charged.map(|(model, of)| (*model, credits(of)));
                sums.add(&credits(&record.total()), &charged.collect());
            }
        }
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
        let prefix = Cell::prefix(&self.of, self.period.len() > 7);
        format!("{prefix}{}#{}", self.period, short(value))
    }

    /// What the names of a dimension's days, or of its months, begin with.
    #[must_use]
    pub fn prefix(of: &SumsOf, days: bool) -> String {
        let of = match of {
            SumsOf::All => "all".to_owned(),
            SumsOf::Statement => "statement".to_owned(),
            SumsOf::Dimension(Dimension::Label(label)) => format!("label:{}", short(label)),
            SumsOf::Dimension(fixed) => fixed.name(),
        };
        format!("{of}#{}", if days { "day#" } else { "month#" })
    }
}

impl LabelOfTenant {
    /// The value that stands for it.
    fn name(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// What a statement's sums are of.
    #[must_use]
    pub fn of(sums: &Sums) -> Option<LabelOfTenant> {
        serde_json::from_str(sums.value.as_deref()?).ok()
    }
}

/// A name of any length in few characters.
fn short(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes())[..16])
}

/// The values of cost labels with sums of their own, by short names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelValues(pub BTreeMap<String, BTreeSet<String>>);

impl LabelValues {
    /// The value itself, if it is one of the first; it is, from now on.
    pub fn counted(&mut self, label: &str, value: String) -> String {
        let known = self.0.entry(label.to_owned()).or_default();
        let short = short(&value);
        if known.contains(&short) || known.len() < MAX_VALUES {
            known.insert(short);
            value
        } else {
            OTHER.to_owned()
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
            verification_id: None,
            work_order_id: None,
            outcome: None,
            tenant_context: None,
            attribution: Some(Attribution {
                labels: [("team".to_owned(), value.to_string())].into(),
                ..Attribution::default()
            }),
            is_refund: false,
            price_list: None,
            parts: Vec::new(),
        }
    }

    #[test]
    fn values_of_a_label_beyond_the_first_thousand_count_as_other_and_those_before_keep_their_names()
     {
        let mut values = LabelValues::default();
        let mut counted = |value: usize| {
            let cells = Cell::all_of(&labelled(value), &mut values);
            let label = SumsOf::Dimension(Dimension::Label("team".to_owned()));
            let of_label = cells.into_iter().find(|cell| cell.of == label);
            of_label.and_then(|cell| cell.value)
        };
        for value in 0..MAX_VALUES {
            assert_eq!(counted(value), Some(value.to_string()));
        }
        assert_eq!(counted(MAX_VALUES).as_deref(), Some(OTHER));
        assert_eq!(counted(7).as_deref(), Some("7"));
    }
}
