//! JSON as sent: read completely, with duplicate keys recorded; deep nesting, long names and very
//! many values are refused, since the smallest value has two bytes in a body and up to 160 in
//! memory. A body's cost is bounded by its own size: paths are built for faults only, of which
//! [`MAX_FAULTS`] are stored, and duplicates are found by sorting.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use awo_domain::{Error, Fault};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{MAX_DEPTH, MAX_VALUES};

/// Most faults of one body that are reported.
const MAX_FAULTS: usize = 100;
/// Longest path and longest message of a fault, in characters.
const MAX_PATH: usize = 256;
const MAX_MESSAGE: usize = 512;
/// Longest name of a field, in bytes.
const MAX_NAME: usize = 1_024;

pub(super) type Faults = Rc<RefCell<FaultList>>;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Flag(bool),
    Whole(u64),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    /// The same as JSON again; a number without a fraction is whole.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "guarded"
    )]
    pub(super) fn to_json(&self) -> Value {
        match self {
            Node::Null => Value::Null,
            Node::Flag(flag) => Value::Bool(*flag),
            Node::Whole(whole) => Value::from(*whole),
            Node::Number(n) if n.fract() == 0.0 && n.abs() < i64::MAX as f64 => {
                Value::from(*n as i64)
            }
            Node::Number(number) => Value::from(*number),
            Node::Text(text) => Value::from(text.as_str()),
            Node::List(items) => items.iter().map(Node::to_json).collect(),
            Node::Object(members) => {
                let json = members
                    .iter()
                    .map(|(name, node)| (name.clone(), node.to_json()));
                Value::Object(json.collect())
            }
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Node::Null => "null",
            Node::Flag(_) => "a boolean",
            Node::Whole(_) | Node::Number(_) => "a number",
            Node::Text(_) => "a string",
            Node::List(_) => "an array",
            Node::Object(_) => "an object",
        }
    }
}

/// The faults of a body. Beyond [`MAX_FAULTS`] the last one states only that there are more.
#[derive(Debug, Clone, Default)]
pub struct FaultList(Vec<Fault>);

impl FaultList {
    /// Adds a fault of the value at this JSON pointer.
    pub fn add(&mut self, path: &str, message: impl Into<String>) {
        let fault = match self.0.len() {
            MAX_FAULTS.. => return,
            known if known + 1 == MAX_FAULTS => Fault {
                path: String::new(),
                message: format!("has {MAX_FAULTS} or more faults; the first ones are listed"),
            },
            _ => Fault {
                path: cut(path, MAX_PATH),
                message: cut(&message.into(), MAX_MESSAGE),
            },
        };
        self.0.push(fault);
    }

    /// Ends the reading of a body: what was read, if nothing is wrong anywhere.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault, up to a hundred.
    pub fn finish<T>(mut self, read: Option<T>) -> Result<T, Error> {
        self.0.sort_by(|a, b| a.path.cmp(&b.path));
        match read {
            Some(read) if self.0.is_empty() => Ok(read),
            _ if self.0.is_empty() => Err(Error::internal("a body was refused without a fault")),
            _ => Err(Error::Invalid(self.0)),
        }
    }
}

pub(super) fn fault(faults: &Faults, path: &str, message: impl Into<String>) {
    faults.borrow_mut().add(path, message);
}

/// At most so many characters of a text; a text that was cut ends in an ellipsis.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

pub(super) fn child(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Where the reader is: nothing is written down until a fault asks for it.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl Path<'_> {
    /// As a JSON pointer, of which no more is made than a fault shows.
    fn pointer(&self) -> String {
        let (above, last) = match self {
            Path::Root => return String::new(),
            Path::Member(above, name) => (above.pointer(), child("", name)),
            Path::Item(above, nth) => (above.pointer(), format!("/{nth}")),
        };
        cut(&(above + &last), MAX_PATH)
    }
}

/// Reads a node, noting duplicate keys; deeper than [`MAX_DEPTH`] is an error.
pub(super) struct Reading<'a> {
    pub(super) at: Path<'a>,
    pub(super) depth: usize,
    pub(super) faults: &'a Faults,
    /// Values that were read so far.
    pub(super) values: &'a Cell<usize>,
}

impl Reading<'_> {
    fn inner<'a>(&'a self, at: Path<'a>) -> Reading<'a> {
        Reading {
            at,
            depth: self.depth + 1,
            faults: self.faults,
            values: self.values,
        }
    }

    /// Notes each name that an object has more than once.
    fn note_duplicates(&self, object: &[(String, Node)]) {
        let mut names: Vec<&str> = object.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let mut twice: Vec<&str> = names
            .windows(2)
            .filter(|pair| pair[0] == pair[1])
            .map(|pair| pair[0])
            .collect();
        twice.dedup();
        for name in twice.into_iter().take(MAX_FAULTS) {
            let path = Path::Member(&self.at, name).pointer();
            fault(self.faults, &path, "is given twice");
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = Node;
    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Node, D::Error> {
        if self.depth > MAX_DEPTH {
            return Err(serde::de::Error::custom(format!(
                "it is nested deeper than {MAX_DEPTH} levels"
            )));
        }
        self.values.set(self.values.get() + 1);
        if self.values.get() > MAX_VALUES {
            return Err(serde::de::Error::custom(format!(
                "it has more than {MAX_VALUES} values"
            )));
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }
    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Flag(flag))
    }
    fn visit_u64<E>(self, whole: u64) -> Result<Node, E> {
        Ok(Node::Whole(whole))
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "negative numbers are out of every range of this API"
    )]
    fn visit_i64<E>(self, whole: i64) -> Result<Node, E> {
        Ok(u64::try_from(whole).map_or(Node::Number(whole as f64), Node::Whole))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Number(number))
    }
    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) =
            items.next_element_seed(self.inner(Path::Item(&self.at, list.len())))?
        {
            list.push(item);
        }
        Ok(Node::List(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut object: Vec<(String, Node)> = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            if name.len() > MAX_NAME {
                return Err(serde::de::Error::custom(format!(
                    "a field's name has more than {MAX_NAME} bytes"
                )));
            }
            let node = members.next_value_seed(self.inner(Path::Member(&self.at, &name)))?;
            object.push((name, node));
        }
        self.note_duplicates(&object);
        Ok(Node::Object(object))
    }
}
