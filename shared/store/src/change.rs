//! An update with its condition, built without writing expressions by hand: every name and
//! value is a placeholder, so that no attribute can collide with a reserved word.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;

/// What to change in one item, and when.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    sets: Vec<String>,
    adds: BTreeMap<String, i64>,
    removes: Vec<String>,
    conditions: Vec<String>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

/// The expressions of a [`Change`].
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub update: String,
    pub condition: Option<String>,
    pub names: HashMap<String, String>,
    pub values: Option<HashMap<String, AttributeValue>>,
}

/// A value as DynamoDB has it. Our own types always fit; anything else becomes NULL, which no
/// reader accepts.
pub(crate) fn value(of: impl Serialize) -> AttributeValue {
    serde_dynamo::to_attribute_value(of).unwrap_or(AttributeValue::Null(true))
}

impl Change {
    pub fn new() -> Change {
        Change::default()
    }

    fn name(&mut self, name: &str) -> String {
        let placeholder = format!("#{name}");
        self.names.insert(placeholder.clone(), name.to_owned());
        placeholder
    }

    fn value(&mut self, of: impl Serialize) -> String {
        let placeholder = format!(":v{}", self.values.len());
        self.values.insert(placeholder.clone(), value(of));
        placeholder
    }

    /// Sets an attribute.
    pub fn set(mut self, name: &str, to: impl Serialize) -> Change {
        let (name, to) = (self.name(name), self.value(to));
        self.sets.push(format!("{name} = {to}"));
        self
    }

    /// Sets an attribute if there is a value, and leaves it alone otherwise.
    pub fn set_some(self, name: &str, to: Option<impl Serialize>) -> Change {
        match to {
            Some(to) => self.set(name, to),
            None => self,
        }
    }

    /// Sets an attribute unless it is there.
    pub fn set_if_missing(mut self, name: &str, to: impl Serialize) -> Change {
        let (name, to) = (self.name(name), self.value(to));
        self.sets
            .push(format!("{name} = if_not_exists({name}, {to})"));
        self
    }

    /// Adds to a number, which is 0 if it is not there. What one change adds and takes away
    /// again adds up: an expression may name an attribute once only.
    pub fn add(mut self, name: &str, amount: i64) -> Change {
        *self.adds.entry(name.to_owned()).or_default() += amount;
        self
    }

    /// Removes an attribute.
    pub fn remove(mut self, name: &str) -> Change {
        let name = self.name(name);
        self.removes.push(name);
        self
    }

    /// Only if the attribute has this value.
    pub fn when(self, name: &str, is: impl Serialize) -> Change {
        self.compare(name, "=", is)
    }

    /// Only if the attribute compares so.
    pub fn compare(mut self, name: &str, operator: &str, with: impl Serialize) -> Change {
        let (name, with) = (self.name(name), self.value(with));
        self.conditions.push(format!("{name} {operator} {with}"));
        self
    }

    /// Only if the attribute, or the default where it is missing, compares so with a value.
    pub fn compare_or(mut self, name: &str, operator: &str, with: &str, default: i64) -> Change {
        let (name, with, default) = (self.name(name), self.name(with), self.value(default));
        self.conditions.push(format!(
            "((attribute_not_exists({with}) AND (attribute_not_exists({name}) OR {name} {operator} {default})) \
             OR (attribute_exists({with}) AND (attribute_not_exists({name}) OR {name} {operator} {with})))"
        ));
        self
    }

    /// Only if the attribute has this value, or is missing where there is none.
    pub fn when_option(self, name: &str, is: Option<impl Serialize>) -> Change {
        match is {
            Some(is) => self.when(name, is),
            None => self.when_missing(name),
        }
    }

    /// Only if the number is at most a value, or missing.
    pub fn at_most_or_missing(mut self, name: &str, most: i64) -> Change {
        let (name, most) = (self.name(name), self.value(most));
        self.conditions.push(format!(
            "(attribute_not_exists({name}) OR {name} <= {most})"
        ));
        self
    }

    /// Only if the attribute is not there, unless another one is.
    pub fn when_missing_unless(mut self, name: &str, other: &str) -> Change {
        let (name, other) = (self.name(name), self.name(other));
        self.conditions.push(format!(
            "(attribute_not_exists({name}) OR attribute_exists({other}))"
        ));
        self
    }

    /// Only if the attribute is there.
    pub fn when_present(mut self, name: &str) -> Change {
        let name = self.name(name);
        self.conditions.push(format!("attribute_exists({name})"));
        self
    }

    /// Only if the attribute is not there.
    pub fn when_missing(mut self, name: &str) -> Change {
        let name = self.name(name);
        self.conditions
            .push(format!("attribute_not_exists({name})"));
        self
    }

    /// The expressions.
    pub fn into_parts(mut self) -> Parts {
        let adds: Vec<String> = std::mem::take(&mut self.adds)
            .into_iter()
            .map(|(name, amount)| {
                let (name, amount) = (self.name(&name), self.value(amount));
                format!("{name} {amount}")
            })
            .collect();
        let section = |word: &str, parts: &[String]| {
            if parts.is_empty() {
                String::new()
            } else {
                format!("{word} {} ", parts.join(", "))
            }
        };
        Parts {
            update: [
                section("SET", &self.sets),
                section("ADD", &adds),
                section("REMOVE", &self.removes),
            ]
            .concat(),
            condition: (!self.conditions.is_empty()).then(|| self.conditions.join(" AND ")),
            names: self.names,
            values: (!self.values.is_empty()).then_some(self.values),
        }
    }
}
