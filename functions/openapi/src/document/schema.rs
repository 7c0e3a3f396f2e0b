//! Short constructors of schemas. Schemas of responses come from their types; those of bodies and
//! parameters are composed here from the limits of their readers.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// The named schemas that the document needs.
#[derive(Debug, Default)]
pub struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    /// A reference to the schema of a type, which is kept with all that it refers to.
    pub fn of<T: ToSchema>(&mut self) -> Value {
        let mut all = Vec::new();
        T::schemas(&mut all);
        all.push((T::name().into_owned(), T::schema()));
        for (name, schema) in all {
            self.keep(&name, json!(schema));
        }
        reference(&T::name())
    }

    /// Keeps a schema under a name.
    pub fn keep(&mut self, name: &str, mut schema: Value) {
        tidy(&mut schema);
        let name = public_name(name);
        let kept = self.0.insert(name.to_owned(), schema.clone());
        assert!(
            kept.is_none_or(|kept| kept == schema),
            "two types are called {name}"
        );
    }

    /// All of them.
    pub fn into_value(self) -> Value {
        json!(self.0)
    }
}

/// A reference to a named schema.
pub fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", public_name(name)) })
}

/// The code calls what the API shows a shape; the API calls it by its name.
fn public_name(name: &str) -> &str {
    name.strip_suffix("Shape").unwrap_or(name)
}

/// Makes what utoipa writes say what this API does: names without `Shape`; and what has no value
/// is left out, never null.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get_mut("$ref")
                && let Some(short) = to.strip_suffix("Shape")
            {
                *to = short.to_owned();
            }
            if members.get("default") == Some(&Value::Null) {
                members.remove("default");
            }
            let required = members.get("required").cloned().unwrap_or(json!([]));
            let is_required = |name: &str| {
                required
                    .as_array()
                    .is_some_and(|r| r.contains(&json!(name)))
            };
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                for (name, property) in properties.iter_mut() {
                    if !is_required(name) {
                        without_null(property);
                    }
                }
            }
            members.values_mut().for_each(tidy);
        }
        _ => {}
    }
}

fn without_null(property: &mut Value) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|of| of != "null");
        if let [only] = types.as_slice() {
            property["type"] = only.clone();
        }
    }
    let Some(Value::Array(choices)) = property.get_mut("oneOf") else {
        return;
    };
    choices.retain(|choice| choice != &json!({ "type": "null" }));
    if let [only] = choices.as_slice() {
        let mut only = only.clone();
        if let (Some(only), Some(description)) = (only.as_object_mut(), property.get("description"))
        {
            only.insert("description".to_owned(), description.clone());
        }
        *property = only;
    }
}

/// A string of so many characters.
pub fn text(length: RangeInclusive<usize>) -> Value {
    json!({ "type": "string", "minLength": length.start(), "maxLength": length.end() })
}

/// A whole number.
pub fn whole(range: RangeInclusive<u64>) -> Value {
    json!({ "type": "integer", "minimum": range.start(), "maximum": range.end() })
}

/// One of these words.
pub fn word<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    json!({ "type": "string", "enum": words.into_iter().collect::<Vec<_>>() })
}

/// True or false.
pub fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// A list of so many.
pub fn list(of: &Value, length: RangeInclusive<usize>) -> Value {
    json!({ "type": "array", "items": of, "minItems": length.start(), "maxItems": length.end() })
}

/// The same with a description.
pub fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

/// The same with a default.
pub fn default(mut schema: Value, default: impl Into<Value>) -> Value {
    schema["default"] = default.into();
    schema
}

/// An object of these members and no others; the names of those that must be there end with `!`.
pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, schema) in members {
        let bare = name.strip_suffix('!');
        required.extend(bare);
        properties.insert(bare.unwrap_or(name).to_owned(), schema);
    }
    let mut object =
        json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

/// An object of at most so many members with names of this length.
pub fn map(of: &Value, most: usize, name: RangeInclusive<usize>) -> Value {
    json!({
        "type": "object",
        "additionalProperties": of,
        "maxProperties": most,
        "propertyNames": { "minLength": name.start(), "maxLength": name.end() },
    })
}
