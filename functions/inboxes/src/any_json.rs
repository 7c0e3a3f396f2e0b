//! JSON that is checked and not kept.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value of which nothing is kept. It is as deep as readers of the body take it: `serde_json` refuses more
/// than 128 levels, which it does not for `IgnoredAny`.
#[derive(Debug, Clone, Copy)]
pub struct AnyJson;

impl<'de> Deserialize<'de> for AnyJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyJson, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

impl<'de> Visitor<'de> for AnyJson {
    type Value = AnyJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<AnyJson, E> {
        Ok(AnyJson)
    }

    fn visit_i64<E>(self, _: i64) -> Result<AnyJson, E> {
        Ok(AnyJson)
    }

    fn visit_u64<E>(self, _: u64) -> Result<AnyJson, E> {
        Ok(AnyJson)
    }

    fn visit_f64<E>(self, _: f64) -> Result<AnyJson, E> {
        Ok(AnyJson)
    }

    fn visit_str<E>(self, _: &str) -> Result<AnyJson, E> {
        Ok(AnyJson)
    }

    fn visit_unit<E>(self) -> Result<AnyJson, E> {
        Ok(AnyJson)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<AnyJson, A::Error> {
        while elements.next_element::<AnyJson>()?.is_some() {}
        Ok(AnyJson)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<AnyJson, A::Error> {
        while members.next_entry::<AnyJson, AnyJson>()?.is_some() {}
        Ok(AnyJson)
    }
}

#[cfg(test)]
mod tests {
    use super::AnyJson;

    fn is_json(text: &str) -> bool {
        serde_json::from_str::<AnyJson>(text).is_ok()
    }

    #[test]
    fn json_of_every_kind_is_taken_and_nothing_else() {
        for text in [
            r#"{"a":[1,-2,0.5,true,null,"x",{}]}"#,
            "[]",
            "\"x\"",
            "1e400000",
            "12345678901234567890123",
        ] {
            let value = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(is_json(text), value, "{text}");
        }
        assert!(!is_json("{"));
        assert!(!is_json("1 2"));
    }

    #[test]
    fn json_that_is_too_deep_for_readers_is_refused() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(is_json(&nested(127)));
        assert!(!is_json(&nested(128)));
        assert!(!is_json(&nested(1_000_000)));
    }
}
