//! Reports: the request, and grouped totals of records or of sums. Every amount of a report is in
//! exactly one row, except for runs that are grouped by model: those count once for each model.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::measures::Measures;
use super::record::{CostRecord, NONE};
use super::sums::Sums;
use crate::Timestamp;
use crate::span::Span;

/// Between a tenant and its user in the value of a user.
const BETWEEN: char = '\u{1f}';

/// The dimensions of costs, beside the model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Dimension {
    /// The tenant.
    Tenant,
    /// A user of a tenant.
    TenantUser,
    /// The repository.
    Repository,
    /// The agent's type.
    Agent,
    /// The profile.
    Harness,
    /// The key that created the work order.
    Key,
    /// How the run ended.
    Outcome,
    /// A cost label.
    Label(String),
}

impl Dimension {
    /// Those that are no labels.
    pub const FIXED: [Dimension; 7] = [
        Dimension::Tenant,
        Dimension::TenantUser,
        Dimension::Repository,
        Dimension::Agent,
        Dimension::Harness,
        Dimension::Key,
        Dimension::Outcome,
    ];

    /// The name on the wire.
    #[must_use]
    pub fn name(&self) -> String {
        let name = match self {
            Dimension::Tenant => "tenant",
            Dimension::TenantUser => "tenantUser",
            Dimension::Repository => "repository",
            Dimension::Agent => "agent",
            Dimension::Harness => "harness",
            Dimension::Key => "key",
            Dimension::Outcome => "outcome",
            Dimension::Label(label) => return format!("label:{label}"),
        };
        name.to_owned()
    }

    /// The dimension of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Dimension> {
        match name.strip_prefix("label:") {
            Some("") => None,
            Some(label) => Some(Dimension::Label(label.to_owned())),
            None => Dimension::FIXED.into_iter().find(|one| one.name() == name),
        }
    }

    /// The dimensions of a record: the fixed ones, and its labels.
    #[must_use]
    pub fn all_of(record: &CostRecord) -> Vec<Dimension> {
        let labels = record.attribution.iter().flat_map(|of| of.labels.keys());
        let labels = labels.map(|label| Dimension::Label(label.clone()));
        Dimension::FIXED.into_iter().chain(labels).collect()
    }

    /// The value of a record, if it has one.
    #[must_use]
    pub fn value_of(&self, record: &CostRecord) -> Option<String> {
        let (of, tenant) = (record.attribution.as_ref(), record.tenant_context.as_ref());
        match self {
            Dimension::Tenant => tenant.map(|of| of.tenant_id.clone()),
            Dimension::TenantUser => {
                let user = tenant.and_then(|of| of.tenant_user_id.as_ref());
                let named = tenant.zip(user);
                named.map(|(of, user)| format!("{}{BETWEEN}{user}", of.tenant_id))
            }
            Dimension::Repository => of.map(|of| of.repository.clone()),
            Dimension::Agent => of.map(|of| of.agent.clone()),
            Dimension::Harness => of.map(|of| of.harness.clone()),
            Dimension::Key => of.and_then(|of| of.key_id.clone()),
            Dimension::Outcome => record.outcome_name().map(str::to_owned),
            Dimension::Label(label) => of.and_then(|of| of.labels.get(label).cloned()),
        }
    }

    /// A value as people are shown it.
    fn shown(&self, value: Option<&str>) -> BTreeMap<String, String> {
        let mut shown = BTreeMap::new();
        match (self, value.and_then(|value| value.split_once(BETWEEN))) {
            (Dimension::TenantUser, Some((tenant, user))) => {
                shown.insert(Dimension::Tenant.name(), tenant.to_owned());
                shown.insert(self.name(), user.to_owned());
            }
            _ => {
                shown.insert(self.name(), value.unwrap_or(NONE).to_owned());
            }
        }
        shown
    }

    fn is_wanted(&self, value: Option<&str>, wanted: &str) -> bool {
        self.shown(value)
            .get(&self.name())
            .is_some_and(|of| of == wanted)
    }
}

/// Into what periods a report is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Bucket {
    /// None.
    None,
    /// Days.
    Day,
    /// Months.
    Month,
}

impl Bucket {
    /// What a day or a month belongs to.
    fn of(self, period: &str) -> Option<String> {
        match self {
            Bucket::None => None,
            Bucket::Day => Some(period.to_owned()),
            Bucket::Month => Some(period.get(..7).unwrap_or(period).to_owned()),
        }
    }
}

/// What is asked of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportQuery {
    /// Booked in this period.
    pub span: Span,
    /// True if rows are by model.
    pub by_model: bool,
    /// The other dimension of rows.
    pub by: Option<Dimension>,
    /// Into what periods.
    pub bucket: Bucket,
    /// Only of this model.
    pub model: Option<String>,
    /// Only with these values.
    pub only: Vec<(Dimension, String)>,
}

/// What a report is counted from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Sums of everything, and those of a dimension, if rows have one.
    Sums(Option<Dimension>),
    /// Records: its rows combine dimensions that no sums have.
    Records,
}

impl ReportQuery {
    /// What answers it.
    #[must_use]
    pub fn source(&self) -> Source {
        let filters = self.only.iter().map(|(dimension, _)| dimension);
        let all: BTreeSet<&Dimension> = self.by.iter().chain(filters).collect();
        let mut all = all.into_iter();
        match (all.next(), all.next()) {
            (one, None) => Source::Sums(one.cloned()),
            _ => Source::Records,
        }
    }
}

/// Rows as they are added up.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    asked: &'a ReportQuery,
    rows: BTreeMap<RowKey, Measures>,
    totals: Measures,
}

/// The key of a row: its bucket, value and model.
type RowKey = (Option<String>, Option<String>, Option<String>);

/// A row of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The day or the month.
    pub bucket: Option<String>,
    /// What it is grouped by.
    pub group: BTreeMap<String, String>,
    /// Its amounts.
    pub measures: Measures,
}

impl<'a> Rows<'a> {
    /// None yet.
    #[must_use]
    pub fn new(asked: &'a ReportQuery) -> Rows<'a> {
        Rows {
            asked,
            rows: BTreeMap::new(),
            totals: Measures::default(),
        }
    }

    /// Adds a record, if it is asked for.
    pub fn add_record(&mut self, record: &CostRecord) {
        let is_wanted = |(of, wanted): &(Dimension, String)| {
            of.is_wanted(of.value_of(record).as_deref(), wanted)
        };
        if self.asked.span.contains(record.at) && self.asked.only.iter().all(is_wanted) {
            let value = self.asked.by.as_ref().and_then(|by| by.value_of(record));
            let models = record.by_model();
            self.add(&record.at.day(), value, record.total(), models.into_iter());
        }
    }

    /// Adds sums of everything, or of the dimension that answers it, of a period that is asked for.
    /// What has no value is everything less what has one.
    pub fn add_sums(&mut self, sums: &Sums) {
        let models = || sums.models.iter().map(|(model, of)| (model.as_str(), *of));
        if self.wants(sums.value.as_deref()) {
            let value = self.asked.by.as_ref().and(sums.value.clone());
            self.add(&sums.period, value, sums.total, models());
        }
        if sums.value.is_some() && self.wants(None) {
            let models = models().map(|(model, of)| (model, of.negated()));
            self.add(&sums.period, None, sums.total.negated(), models);
        }
    }

    fn wants(&self, value: Option<&str>) -> bool {
        let wanted = |(of, wanted): &(Dimension, String)| of.is_wanted(value, wanted);
        self.asked.only.iter().all(wanted)
    }

    fn add<'m>(
        &mut self,
        period: &str,
        value: Option<String>,
        total: Measures,
        models: impl Iterator<Item = (&'m str, Measures)>,
    ) {
        let bucket = self.asked.bucket.of(period);
        let only = self.asked.model.as_deref();
        let mut of_model = Measures::default();
        for (model, measures) in models.filter(|(model, _)| only.is_none_or(|only| only == *model))
        {
            of_model.add(&measures);
            if self.asked.by_model {
                let key = (bucket.clone(), value.clone(), Some(model.to_owned()));
                self.rows.entry(key).or_default().add(&measures);
            }
        }
        let all = match only {
            Some(_) => of_model,
            None => total,
        };
        self.totals.add(&all);
        if !self.asked.by_model {
            self.rows
                .entry((bucket, value, None))
                .or_default()
                .add(&all);
        }
    }

    /// The rows in the order of periods, values and models, and their total.
    #[must_use]
    pub fn finish(self) -> (Vec<Row>, Measures) {
        let by = self.asked.by.as_ref();
        let rows = self
            .rows
            .into_iter()
            .filter(|(_, of)| *of != Measures::default());
        let rows = rows.map(|((bucket, value, model), measures)| {
            let mut group = by.map(|by| by.shown(value.as_deref())).unwrap_or_default();
            group.extend(model.map(|model| ("model".to_owned(), model)));
            Row {
                bucket,
                group,
                measures,
            }
        });
        (rows.collect(), self.totals)
    }
}

/// The first moment of a month, so many months later.
#[must_use]
pub fn month(at: Timestamp, later: u32) -> Timestamp {
    let day = at.day();
    let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok()).unwrap_or(1);
    let (year, month) = (number(day.get(..4)), number(day.get(5..7)));
    let months = year * 12 + month - 1 + later;
    let text = format!("{:04}-{:02}-01T00:00:00.000Z", months / 12, months % 12 + 1);
    Timestamp::parse(&text).unwrap_or(at)
}
