//! The members of a JSON object as they are written, for a body that goes on word for word but for a few of them.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of an object, in their order, as they are written.
pub(super) struct Members<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Members<'a>, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        from.deserialize_map(Reader).map(Members)
    }
}

impl Members<'_> {
    /// The object with another value of a member, which is added where it is missing.
    pub(super) fn with(&self, name: &str, value: u64) -> Vec<u8> {
        let Members(members) = self;
        let mut out = String::from("{");
        if !members.iter().any(|(member, _)| member == name) {
            out.push_str(&format!("{}:{value},", quoted(name)));
        }
        for (member, raw) in members {
            let raw = if member == name {
                value.to_string()
            } else {
                raw.get().to_owned()
            };
            out.push_str(&format!("{}:{raw},", quoted(member)));
        }
        if out.ends_with(',') {
            out.pop();
        }
        out.push('}');
        out.into_bytes()
    }
}

fn quoted(name: &str) -> serde_json::Value {
    serde_json::Value::from(name)
}
