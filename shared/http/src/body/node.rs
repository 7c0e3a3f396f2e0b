//! JSON as it was sent: read whole, with duplicate keys noted and deep nesting refused.

use std::cell::RefCell;
use std::rc::Rc;

use awo_domain::Fault;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::MAX_DEPTH;

pub(super) type Faults = Rc<RefCell<Vec<Fault>>>;

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

pub(super) fn fault(faults: &Faults, path: &str, message: impl Into<String>) {
    faults.borrow_mut().push(Fault {
        path: path.to_owned(),
        message: message.into(),
    });
}

pub(super) fn child(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Reads a node, noting duplicate keys; deeper than [`MAX_DEPTH`] is an error.
pub(super) struct Reading<'a> {
    pub(super) path: String,
    pub(super) depth: usize,
    pub(super) faults: &'a Faults,
}

impl Reading<'_> {
    fn inner(&self, name: &str) -> Reading<'_> {
        Reading {
            path: child(&self.path, name),
            depth: self.depth + 1,
            faults: self.faults,
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
        while let Some(item) = items.next_element_seed(self.inner(&list.len().to_string()))? {
            list.push(item);
        }
        Ok(Node::List(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut object: Vec<(String, Node)> = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            let node = members.next_value_seed(self.inner(&name))?;
            if object.iter().any(|(known, _)| *known == name) {
                fault(self.faults, &child(&self.path, &name), "is given twice");
            }
            object.push((name, node));
        }
        Ok(Node::Object(object))
    }
}
