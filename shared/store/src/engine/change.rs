//! An update with its condition, as data: its expressions are built when it is sent. Every name and
//! value in them is a placeholder, so that no attribute can collide with a reserved word.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;

use crate::engine::item::Item;

/// The name of an attribute.
type Name = Cow<'static, str>;

/// What to change in one item, and when.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    sets: Vec<Set>,
    adds: BTreeMap<Name, i64>,
    removes: Vec<Name>,
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone)]
struct Set {
    name: Name,
    to: AttributeValue,
    /// An attribute that is there stays as it is.
    if_missing: bool,
}

#[derive(Debug, Clone)]
enum Condition {
    Compares(Name, &'static str, AttributeValue),
    /// With another attribute, or a value where that is missing; or itself is missing.
    ComparesOr {
        name: Name,
        operator: &'static str,
        with: Name,
        default: AttributeValue,
    },
    AtMostOrMissing(Name, AttributeValue),
    MissingUnless(Name, Name),
    Present(Name),
    Missing(Name),
}

/// The expressions of a [`Change`].
#[derive(Debug)]
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

    /// Sets an attribute.
    pub fn set(mut self, name: impl Into<Name>, to: impl Serialize) -> Change {
        self.sets.push(Set {
            name: name.into(),
            to: value(to),
            if_missing: false,
        });
        self
    }

    /// Sets an attribute if there is a value, and leaves it alone otherwise.
    pub fn set_some(self, name: impl Into<Name>, to: Option<impl Serialize>) -> Change {
        match to {
            Some(to) => self.set(name, to),
            None => self,
        }
    }

    /// Sets an attribute if there is a value, and removes it otherwise.
    pub fn set_or_remove(self, name: impl Into<Name>, to: Option<impl Serialize>) -> Change {
        match to {
            Some(to) => self.set(name, to),
            None => self.remove(name),
        }
    }

    /// Sets an attribute unless it is there.
    pub fn set_if_missing(mut self, name: impl Into<Name>, to: impl Serialize) -> Change {
        self.sets.push(Set {
            name: name.into(),
            to: value(to),
            if_missing: true,
        });
        self
    }

    /// Adds to a number, which is 0 if it is not there. What one change adds and takes away
    /// again adds up: an expression may name an attribute once only.
    pub fn add(mut self, name: impl Into<Name>, amount: i64) -> Change {
        *self.adds.entry(name.into()).or_default() += amount;
        self
    }

    /// Removes an attribute.
    pub fn remove(mut self, name: impl Into<Name>) -> Change {
        self.removes.push(name.into());
        self
    }

    /// Only if the attribute has this value.
    pub fn when(self, name: impl Into<Name>, is: impl Serialize) -> Change {
        self.compare(name, "=", is)
    }

    /// Only if the attribute compares so.
    pub fn compare(
        self,
        name: impl Into<Name>,
        operator: &'static str,
        with: impl Serialize,
    ) -> Change {
        self.only(Condition::Compares(name.into(), operator, value(with)))
    }

    /// Only if the attribute, or the default where it is missing, compares so with a value.
    pub fn compare_or(
        self,
        name: impl Into<Name>,
        operator: &'static str,
        with: impl Into<Name>,
        default: i64,
    ) -> Change {
        self.only(Condition::ComparesOr {
            name: name.into(),
            operator,
            with: with.into(),
            default: value(default),
        })
    }

    /// Only if the attribute has this value, or is missing where there is none.
    pub fn when_option(self, name: impl Into<Name>, is: Option<impl Serialize>) -> Change {
        match is {
            Some(is) => self.when(name, is),
            None => self.when_missing(name),
        }
    }

    /// Only if the number is at most a value, or missing.
    pub fn at_most_or_missing(self, name: impl Into<Name>, most: i64) -> Change {
        self.only(Condition::AtMostOrMissing(name.into(), value(most)))
    }

    /// Only if the attribute is not there, unless another one is.
    pub fn when_missing_unless(self, name: impl Into<Name>, other: impl Into<Name>) -> Change {
        self.only(Condition::MissingUnless(name.into(), other.into()))
    }

    /// Only if the attribute is there.
    pub fn when_present(self, name: impl Into<Name>) -> Change {
        self.only(Condition::Present(name.into()))
    }

    /// Only if the attribute is not there.
    pub fn when_missing(self, name: impl Into<Name>) -> Change {
        self.only(Condition::Missing(name.into()))
    }

    fn only(mut self, condition: Condition) -> Change {
        self.conditions.push(condition);
        self
    }

    /// True if an item is as this makes it, as far as attributes are set.
    pub fn is_made_in(&self, item: &Item) -> bool {
        let is_set = |set: &Set| item.get(&*set.name) == Some(&set.to);
        self.sets.iter().all(is_set)
    }

    /// The expressions.
    pub fn parts(&self) -> Parts {
        let mut placeholders = Placeholders::default();
        let mut update = String::new();
        section(&mut update, "SET", &self.sets, |text, set| {
            let (name, to) = (
                placeholders.name(&set.name),
                placeholders.value(set.to.clone()),
            );
            if !set.if_missing {
                write!(text, "{name} = {to}")
            } else {
                write!(text, "{name} = if_not_exists({name}, {to})")
            }
        });
        section(&mut update, "ADD", &self.adds, |text, (name, amount)| {
            let amount = placeholders.value(value(amount));
            write!(text, "{} {amount}", placeholders.name(name))
        });
        section(&mut update, "REMOVE", &self.removes, |text, name| {
            write!(text, "{}", placeholders.name(name))
        });
        let mut condition = String::new();
        listed(&mut condition, " AND ", &self.conditions, |text, one| {
            one.write(&mut placeholders, text)
        });
        Parts {
            update,
            condition: (!condition.is_empty()).then_some(condition),
            names: placeholders.names,
            values: (!placeholders.values.is_empty()).then_some(placeholders.values),
        }
    }
}

impl Condition {
    fn write(&self, of: &mut Placeholders, text: &mut String) -> fmt::Result {
        match self {
            Condition::Compares(name, operator, with) => {
                let (name, with) = (of.name(name), of.value(with.clone()));
                write!(text, "{name} {operator} {with}")
            }
            Condition::ComparesOr {
                name,
                operator,
                with,
                default,
            } => {
                let (name, with) = (of.name(name), of.name(with));
                let default = of.value(default.clone());
                write!(
                    text,
                    "((attribute_not_exists({with}) AND (attribute_not_exists({name}) OR {name} {operator} {default})) \
                     OR (attribute_exists({with}) AND (attribute_not_exists({name}) OR {name} {operator} {with})))"
                )
            }
            Condition::AtMostOrMissing(name, most) => {
                let (name, most) = (of.name(name), of.value(most.clone()));
                write!(text, "(attribute_not_exists({name}) OR {name} <= {most})")
            }
            Condition::MissingUnless(name, other) => {
                let (name, other) = (of.name(name), of.name(other));
                write!(
                    text,
                    "(attribute_not_exists({name}) OR attribute_exists({other}))"
                )
            }
            Condition::Present(name) => write!(text, "attribute_exists({})", of.name(name)),
            Condition::Missing(name) => write!(text, "attribute_not_exists({})", of.name(name)),
        }
    }
}

/// The placeholders of one item's expressions, and what they stand for.
#[derive(Default)]
struct Placeholders {
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

/// The placeholder of a name.
struct NamePlaceholder<'a>(&'a str);

/// The placeholder of a value, by its number.
struct ValuePlaceholder(usize);

impl fmt::Display for NamePlaceholder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Display for ValuePlaceholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":v{}", self.0)
    }
}

impl Placeholders {
    fn name<'a>(&mut self, name: &'a str) -> NamePlaceholder<'a> {
        self.names.insert(["#", name].concat(), name.to_owned());
        NamePlaceholder(name)
    }

    fn value(&mut self, of: AttributeValue) -> ValuePlaceholder {
        let valued = ValuePlaceholder(self.values.len());
        self.values.insert(valued.to_string(), of);
        valued
    }
}

/// Writes a clause of an update, if there is something in it.
fn section<T>(
    text: &mut String,
    word: &str,
    all: impl IntoIterator<Item = T>,
    write: impl FnMut(&mut String, T) -> fmt::Result,
) {
    let mut all = all.into_iter().peekable();
    if all.peek().is_none() {
        return;
    }
    text.push_str(word);
    text.push(' ');
    listed(text, ", ", all, write);
    text.push(' ');
}

/// Writes one after the other with something between them.
fn listed<T>(
    text: &mut String,
    between: &str,
    all: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T) -> fmt::Result,
) {
    for (nth, one) in all.into_iter().enumerate() {
        if nth > 0 {
            text.push_str(between);
        }
        // Text that is in memory takes everything.
        let _written = write(text, one);
    }
}
