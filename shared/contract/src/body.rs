//! JSON bodies, read field by field, so that the caller gets all faults at once with their paths.
//! Duplicate keys and deep nesting are faults; so is every unknown field.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::rc::Rc;

use awo_domain::{Error, Fault};
use serde::de::DeserializeSeed;

pub use node::FaultList;
use node::{Faults, Node, Path, Reading, child, fault};

mod node;
#[cfg(test)]
mod tests;

/// Deepest nesting of a body.
pub const MAX_DEPTH: usize = 64;
/// Most values of a body, in all its lists and objects.
pub const MAX_VALUES: usize = 32_768;

/// A JSON object that is being read. What is wrong is noted and reading goes on; the fields
/// count only once [`Object::finish`] is content.
#[derive(Debug)]
pub struct Object {
    path: String,
    members: Vec<(String, Node)>,
    faults: Faults,
}

/// A value that is being read.
#[derive(Debug)]
pub struct Value {
    path: String,
    node: Node,
    faults: Faults,
}

impl Object {
    /// Parses a whole body.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not JSON, too deep, has too many values, or is not an object.
    pub fn parse(bytes: &[u8]) -> Result<Object, Error> {
        let (faults, values) = (Faults::default(), Cell::new(0));
        let mut from = serde_json::Deserializer::from_slice(bytes);
        let node = Reading {
            at: Path::Root,
            depth: 0,
            faults: &faults,
            values: &values,
        }
        .deserialize(&mut from)
        .and_then(|node| from.end().map(|()| node))
        .map_err(|e| Error::invalid("", format!("is not valid JSON: {e}")))?;
        match node {
            Node::Object(members) => Ok(Object {
                path: String::new(),
                members,
                faults,
            }),
            other => Err(Error::invalid(
                "",
                format!("must be a JSON object, not {}", other.kind()),
            )),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.members.iter().position(|(known, _)| known == name)?;
        let node = self.members.swap_remove(at).1;
        self.members.retain(|(known, _)| known != name);
        Some(Value {
            path: child(&self.path, name),
            node,
            faults: Rc::clone(&self.faults),
        })
    }

    /// Reads a field that must be there.
    pub fn required<T>(&mut self, name: &str, read: impl FnOnce(Value) -> Option<T>) -> Option<T> {
        let Some(value) = self.take(name) else {
            fault(&self.faults, &child(&self.path, name), "is required");
            return None;
        };
        read(value)
    }

    /// Reads a field that may be there.
    pub fn optional<T>(&mut self, name: &str, read: impl FnOnce(Value) -> Option<T>) -> Option<T> {
        self.take(name).and_then(read)
    }

    /// Notes a fault of a field.
    pub fn fault(&self, name: &str, message: impl Into<String>) {
        fault(&self.faults, &child(&self.path, name), message);
    }

    /// Notes faults whose paths begin at this object.
    pub fn faults(&self, faults: impl IntoIterator<Item = Fault>) {
        for found in faults {
            fault(
                &self.faults,
                &format!("{}{}", self.path, found.path),
                found.message,
            );
        }
    }

    /// Notes the fields that were not read.
    fn end(self) {
        for (name, _) in self.members {
            fault(
                &self.faults,
                &child(&self.path, &name),
                "is not a known field",
            );
        }
    }

    /// Ends the reading of a body that is judged further: the faults so far, among them every field
    /// that was not read.
    #[must_use]
    pub fn close(self) -> FaultList {
        let faults = Rc::clone(&self.faults);
        self.end();
        faults.take()
    }

    /// Ends the reading of a whole body: what was read, if nothing was wrong anywhere.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault, up to a hundred.
    pub fn finish<T>(self, read: Option<T>) -> Result<T, Error> {
        self.close().finish(read)
    }
}

impl Value {
    /// Notes what is wrong with this value.
    fn wrong<T>(&self, message: impl Into<String>) -> Option<T> {
        fault(&self.faults, &self.path, message);
        None
    }

    fn not_a<T>(&self, wanted: &str) -> Option<T> {
        self.wrong(format!("must be {wanted}, not {}", self.node.kind()))
    }

    /// A string with so many characters.
    pub fn text(self, length: RangeInclusive<usize>) -> Option<String> {
        let Node::Text(text) = &self.node else {
            return self.not_a("a string");
        };
        let characters = text.chars().count();
        if !length.contains(&characters) {
            return self.wrong(format!(
                "must have {} to {} characters, not {characters}",
                length.start(),
                length.end()
            ));
        }
        if text.contains('\0') {
            return self.wrong("must not hold NUL characters");
        }
        Some(text.clone())
    }

    /// A string that reads as a type.
    pub fn parsed<T>(self, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let Node::Text(text) = &self.node else {
            return self.not_a("a string");
        };
        match parse(text) {
            Ok(parsed) => Some(parsed),
            Err(why) => self.wrong(why),
        }
    }

    /// True for an object, where a field may be one or something else.
    #[must_use]
    pub fn is_object(&self) -> bool {
        matches!(self.node, Node::Object(_))
    }

    /// True for `null`, which only a few fields may be.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.node == Node::Null
    }

    /// True or false.
    pub fn flag(self) -> Option<bool> {
        match self.node {
            Node::Flag(flag) => Some(flag),
            _ => self.not_a("true or false"),
        }
    }

    /// A whole number within a range.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "guarded"
    )]
    pub fn whole(self, range: RangeInclusive<u64>) -> Option<u64> {
        let whole = match self.node {
            Node::Whole(whole) => whole,
            Node::Number(n) if n.fract() == 0.0 && n >= 0.0 && n < u64::MAX as f64 => n as u64,
            Node::Number(_) => return self.wrong("must be a whole number of 0 or more"),
            _ => return self.not_a("a whole number"),
        };
        if range.contains(&whole) {
            Some(whole)
        } else {
            self.wrong(format!("must be from {} to {}", range.start(), range.end()))
        }
    }

    /// A decimal number that reads as a type.
    #[expect(clippy::cast_precision_loss, reason = "the reader judges the number")]
    pub fn decimal<T>(self, read: impl FnOnce(f64) -> Result<T, String>) -> Option<T> {
        let number = match self.node {
            Node::Whole(whole) => whole as f64,
            Node::Number(number) => number,
            _ => return self.not_a("a number"),
        };
        match read(number) {
            Ok(read) => Some(read),
            Err(why) => self.wrong(why),
        }
    }

    /// Any JSON that reads as a type; the caller bounds it.
    pub fn json<T>(self, read: impl FnOnce(serde_json::Value) -> Result<T, String>) -> Option<T> {
        match read(self.node.to_json()) {
            Ok(read) => Some(read),
            Err(why) => self.wrong(why),
        }
    }

    /// A list of so many values.
    pub fn list<T>(
        self,
        length: RangeInclusive<usize>,
        mut each: impl FnMut(Value) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Node::List(items) = &self.node else {
            return self.not_a("an array");
        };
        if !length.contains(&items.len()) {
            return self.wrong(format!(
                "must have {} to {} items, not {}",
                length.start(),
                length.end(),
                items.len()
            ));
        }
        let read: Vec<Option<T>> = items
            .iter()
            .cloned()
            .enumerate()
            .map(|(i, node)| {
                let path = child(&self.path, &i.to_string());
                each(Value {
                    path,
                    node,
                    faults: Rc::clone(&self.faults),
                })
            })
            .collect();
        read.into_iter().collect()
    }

    /// An object, of which every field must be read.
    pub fn object<T>(self, read: impl FnOnce(&mut Object) -> Option<T>) -> Option<T> {
        let Node::Object(members) = self.node else {
            return self.not_a("an object");
        };
        let mut object = Object {
            path: self.path,
            members,
            faults: self.faults,
        };
        let read = read(&mut object);
        object.end();
        read
    }

    /// An object with any names and values of one kind.
    pub fn map<T>(
        self,
        most: usize,
        name_length: RangeInclusive<usize>,
        mut each: impl FnMut(Value) -> Option<T>,
    ) -> Option<Vec<(String, T)>> {
        let Node::Object(members) = &self.node else {
            return self.not_a("an object");
        };
        if members.len() > most {
            return self.wrong(format!(
                "must have at most {most} fields, not {}",
                members.len()
            ));
        }
        let mut read = Vec::new();
        for (name, node) in members.clone() {
            let path = child(&self.path, &name);
            if !name_length.contains(&name.chars().count()) {
                let (least, most) = (name_length.start(), name_length.end());
                fault(
                    &self.faults,
                    &path,
                    format!("has a name that is not {least} to {most} characters long"),
                );
            }
            read.push(
                each(Value {
                    path,
                    node,
                    faults: Rc::clone(&self.faults),
                })
                .map(|value| (name, value)),
            );
        }
        read.into_iter().collect()
    }
}
