//! A body from a user's file: JSON, in the API's format.

use std::io::Read;

use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::paint::clean_line;

/// Largest body that the service takes, in bytes.
const MAX_BODY: u64 = 256 * 1_024;

/// Reads a JSON object from a file, or from standard input (`-`).
pub fn read(path: &str) -> Result<Map<String, Value>, Failure> {
    let refused = |why: String| Failure::Usage(format!("{}: {why}", clean_line(path)));
    let mut text = String::new();
    let read = match path {
        "-" => std::io::stdin()
            .lock()
            .take(MAX_BODY + 1)
            .read_to_string(&mut text),
        path => std::fs::File::open(path)
            .and_then(|file| file.take(MAX_BODY + 1).read_to_string(&mut text)),
    };
    read.map_err(|error| refused(error.to_string()))?;
    if text.len() as u64 > MAX_BODY {
        return Err(refused(format!("is larger than {MAX_BODY} bytes")));
    }
    let object = serde_json::from_str(&text);
    object.map_err(|error| refused(format!("is not a JSON object: {error}")))
}

/// Puts fields of the command line over those of the file.
pub fn with(mut body: Map<String, Value>, fields: &[(&str, &Option<String>)]) -> Value {
    for (name, value) in fields {
        if let Some(value) = value {
            body.insert((*name).to_owned(), Value::String(value.clone()));
        }
    }
    Value::Object(body)
}

/// An answer for people: its JSON in lines, without what would steer the terminal.
pub fn pretty(value: &Value) -> Vec<String> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.lines().map(clean_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        for (text, why) in [
            ("[1]", "not a JSON object"),
            ("{\n\"a\": }", "line 2"),
            ("", "EOF"),
        ] {
            std::fs::write(&path, text).unwrap();
            let Err(Failure::Usage(message)) = read(path.to_str().unwrap()) else {
                panic!("{text} was read");
            };
            assert!(message.contains(why), "{message}");
        }
        std::fs::write(&path, r#"{"name": "a"}"#).unwrap();
        let body = with(
            read(path.to_str().unwrap()).unwrap(),
            &[("name", &Some("b".to_owned()))],
        );
        assert_eq!(body["name"], "b");
    }
}
