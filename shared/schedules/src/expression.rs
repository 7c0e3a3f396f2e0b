//! Grammar of a cron expression: five fields of numbers, names, lists, ranges and steps. It is narrower
//! than what `croner` reads, so that an expression means the same in every program that knows cron.

use std::ops::RangeInclusive;

/// Longest expression, in bytes: enough for five lists of all values.
const MAX_BYTES: usize = 512;

const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Reason why a text is no cron expression that the service takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionFault {
    #[error("must have at most {MAX_BYTES} bytes")]
    TooLong,
    #[error(
        "must have five fields (minute, hour, day of month, month, day of week), and has {0}; seconds, years and names such as @daily are not supported"
    )]
    FieldCount(usize),
    #[error(
        "the {field} {text:?} is not a list of numbers, ranges and steps from {least} to {greatest}; L, W, # and ? are not supported"
    )]
    Field {
        field: &'static str,
        text: String,
        least: u8,
        greatest: u8,
    },
    #[error("names a date that never comes")]
    NeverComes,
    #[error("fires twice within five minutes")]
    TooOften,
}

/// One of the five places of an expression.
struct Field {
    name: &'static str,
    range: RangeInclusive<u8>,
    names: &'static [&'static str],
    /// Number of the first name.
    first: u8,
}

const FIELDS: [Field; 5] = [
    Field {
        name: "minute",
        range: 0..=59,
        names: &[],
        first: 0,
    },
    Field {
        name: "hour",
        range: 0..=23,
        names: &[],
        first: 0,
    },
    Field {
        name: "day of month",
        range: 1..=31,
        names: &[],
        first: 0,
    },
    Field {
        name: "month",
        range: 1..=12,
        names: &MONTHS,
        first: 1,
    },
    Field {
        name: "day of week",
        range: 0..=7,
        names: &DAYS,
        first: 0,
    },
];

/// Expression whose grammar is checked: its text with numbers only, and what the rules ask of it.
pub(crate) struct Expression {
    /// Five fields with a space between them, names replaced by numbers.
    pub numeric: String,
    /// Days alone, at midnight, in the same form.
    pub days: String,
    /// Minutes of an hour, ascending.
    pub minutes: Vec<u8>,
    /// Hours of a day, ascending.
    pub hours: Vec<u8>,
    /// Whether each real hour counts: the hour field begins with `*`.
    pub every_hour: bool,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// [`ExpressionFault`], with the field that is wrong.
    pub fn read(text: &str) -> Result<Expression, ExpressionFault> {
        if text.len() > MAX_BYTES {
            return Err(ExpressionFault::TooLong);
        }
        let texts: Vec<&str> = text.split_ascii_whitespace().collect();
        if texts.len() != FIELDS.len() {
            return Err(ExpressionFault::FieldCount(texts.len()));
        }
        let mut numeric = Vec::new();
        let mut sets = Vec::new();
        for (field, text) in FIELDS.iter().zip(&texts) {
            let items: Option<Vec<ListItem>> =
                text.split(',').map(|item| field.item(item)).collect();
            let items = items.ok_or_else(|| field.fault(text))?;
            let texts: Vec<String> = items.iter().map(ListItem::numeric).collect();
            numeric.push(texts.join(","));
            sets.push(values(&items));
        }
        Ok(Expression {
            days: format!("0 0 {}", numeric[2..].join(" ")),
            numeric: numeric.join(" "),
            minutes: std::mem::take(&mut sets[0]),
            hours: std::mem::take(&mut sets[1]),
            every_hour: texts[1].starts_with('*'),
        })
    }
}

/// Part of a field between commas: all values or a range, each or every n-th of them.
struct ListItem {
    /// `None` for `*`.
    range: Option<(u8, u8)>,
    /// All values of the field.
    whole: RangeInclusive<u8>,
    step: Option<u8>,
}

impl ListItem {
    fn numeric(&self) -> String {
        let range = match self.range {
            None => "*".to_owned(),
            Some((from, to)) if from == to && self.step.is_none() => from.to_string(),
            Some((from, to)) => format!("{from}-{to}"),
        };
        match self.step {
            None => range,
            Some(step) => format!("{range}/{step}"),
        }
    }
}

fn values(items: &[ListItem]) -> Vec<u8> {
    let mut values: Vec<u8> = items
        .iter()
        .flat_map(|item| {
            let (from, to) = item
                .range
                .unwrap_or((*item.whole.start(), *item.whole.end()));
            (from..=to).step_by(usize::from(item.step.unwrap_or(1)))
        })
        .collect();
    values.sort_unstable();
    values.dedup();
    values
}

impl Field {
    fn item(&self, text: &str) -> Option<ListItem> {
        let (range, step) = match text.split_once('/') {
            None => (text, None),
            Some((range, step)) => (range, Some(number(step).filter(|step| *step > 0)?)),
        };
        let is_step_of_one_value = step.is_some() && range != "*" && !range.contains('-');
        if is_step_of_one_value {
            return None;
        }
        let range = match range.split_once('-') {
            _ if range == "*" => None,
            None => {
                let value = self.value(range)?;
                Some((value, value))
            }
            Some((from, to)) => {
                let from = self.value(from)?;
                let to = self.last_value(from, to)?;
                (from <= to).then_some(Some((from, to)))?
            }
        };
        Some(ListItem {
            range,
            whole: self.range.clone(),
            step,
        })
    }

    fn value(&self, text: &str) -> Option<u8> {
        let value = match number(text) {
            Some(value) => value,
            None => {
                let name = text.to_ascii_uppercase();
                let index = self.names.iter().position(|known| *known == name)?;
                self.first + u8::try_from(index).ok()?
            }
        };
        self.range.contains(&value).then_some(value)
    }

    /// The end of a range: `SAT-SUN` ends with the Sunday that closes a week, which is 7.
    fn last_value(&self, from: u8, text: &str) -> Option<u8> {
        let is_closing_sunday = from > 0 && text.eq_ignore_ascii_case(DAYS[0]);
        if is_closing_sunday && self.names.len() == DAYS.len() {
            return Some(7);
        }
        self.value(text)
    }

    fn fault(&self, text: &str) -> ExpressionFault {
        ExpressionFault::Field {
            field: self.name,
            text: text.chars().take(40).collect(),
            least: *self.range.start(),
            greatest: *self.range.end(),
        }
    }
}

/// A number of one or two digits without a sign.
fn number(text: &str) -> Option<u8> {
    let is_short = matches!(text.len(), 1 | 2);
    (is_short && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}
