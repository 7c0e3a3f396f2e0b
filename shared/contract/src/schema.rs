//! The named schemas of the document, and short constructors of schemas. Those of responses come from
//! their types, those of bodies from their fields.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use awo_domain::schema::TypeSchema;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// Marks a schema that stands where it is used, and becomes a component of this name.
const COMPONENT: &str = "x-component";

/// The named schemas that the document needs.
#[derive(Debug, Default)]
pub struct Schemas {
    all: BTreeMap<String, Value>,
    /// Schemas that replace those of the types.
    instead: BTreeMap<String, Value>,
}

impl Schemas {
    /// A reference to the schema of a type, which is added with all that it refers to.
    pub fn of<T: ToSchema>(&mut self) -> Value {
        let mut all = Vec::new();
        T::schemas(&mut all);
        all.push((T::name().into_owned(), T::schema()));
        for (name, schema) in all {
            self.keep(&name, json!(schema));
        }
        reference(&T::name())
    }

    /// Keeps the schemas that a type refers to, and not its own.
    pub fn refer(&mut self, of: TypeSchema) {
        let mut all = Vec::new();
        (of.parts)(&mut all);
        for (name, schema) in all {
            self.keep(&name, json!(schema));
        }
    }

    /// Keeps a schema under a name.
    pub fn keep(&mut self, name: &str, schema: Value) {
        self.insert(public_name(name), tidied(schema));
    }

    fn insert(&mut self, name: &str, schema: Value) {
        let before = self.all.insert(name.to_owned(), schema.clone());
        assert!(
            before.is_none_or(|before| before == schema),
            "two types are called {name}"
        );
    }

    /// The schema of a type whose every member can be absent, described as those of the type
    /// without gaps.
    pub fn with_gaps<P: ToSchema, W: ToSchema>(&mut self) -> Value {
        let (mut partial, mut whole) = (json!(P::schema()), json!(W::schema()));
        tidy(&mut partial);
        tidy(&mut whole);
        if let Some(properties) = partial["properties"].as_object_mut() {
            for (name, property) in properties {
                property["description"] = whole["properties"][name]["description"].clone();
            }
        }
        partial
    }

    /// Puts another schema in the place of that of a type.
    pub fn replace(&mut self, name: &str, schema: Value) {
        self.instead.insert(public_name(name).to_owned(), schema);
    }

    /// Makes components of all schemas in this part of the document that [`named`] has marked.
    pub fn lift(&mut self, part: &mut Value) {
        match part {
            Value::Array(items) => items.iter_mut().for_each(|item| self.lift(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.lift(member));
                if let Some(Value::String(name)) = members.remove(COMPONENT) {
                    let schema = Value::Object(std::mem::take(members));
                    self.insert(&name, schema);
                    *part = reference(&name);
                }
            }
            _ => {}
        }
    }

    /// All of them.
    pub fn into_value(mut self) -> Value {
        let instead = std::mem::take(&mut self.instead);
        self.all.extend(instead);
        for (name, mut schema) in self.all.clone() {
            self.lift(&mut schema);
            self.all.insert(name, schema);
        }
        json!(self.all)
    }
}

/// What utoipa writes, as this document has it.
pub fn tidied(mut schema: Value) -> Value {
    tidy(&mut schema);
    schema
}

/// The same schema, as a component of this name.
pub fn named(name: &str, mut schema: Value) -> Value {
    schema[COMPONENT] = json!(name);
    schema
}

/// A named part of a body, and what it is.
pub fn input(name: &str, description: &str, schema: Value) -> Value {
    named(name, described(schema, description))
}

/// The name of the component that a schema refers to, or will be.
pub fn name_of(schema: &Value) -> Option<&str> {
    let to = schema["$ref"].as_str();
    let to = to.and_then(|to| to.strip_prefix("#/components/schemas/"));
    to.or_else(|| schema[COMPONENT].as_str())
}

/// A reference to a named schema.
pub fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", public_name(name)) })
}

/// The code calls what the API shows a shape; the API calls it by its name.
fn public_name(name: &str) -> &str {
    name.strip_suffix("Shape").unwrap_or(name)
}

/// Adapts utoipa's schemas to this API: names without `Shape`; what has no value is left
/// out, never null; and a description is one line, as its comment would be if it were not wrapped.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get_mut("$ref")
                && let Some(short) = to.strip_suffix("Shape")
            {
                *to = short.to_owned();
            }
            if let Some(Value::String(text)) = members.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            if members.get("default") == Some(&Value::Null) {
                members.remove("default");
            }
            // Of a choice with null utoipa describes what is not null.
            let choices = members.get("oneOf").and_then(Value::as_array);
            let described = choices
                .into_iter()
                .flatten()
                .find_map(|one| one.get("description"));
            if let Some(description) = described.cloned() {
                members.entry("description").or_insert(description);
            }
            // Generators of clients take a described reference for a schema of its own.
            if let Some(Value::Array(choices)) = members.get_mut("oneOf") {
                let choices = choices.iter_mut().filter_map(Value::as_object_mut);
                for reference in choices.filter(|choice| choice.contains_key("$ref")) {
                    reference.remove("description");
                }
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
            join(members);
        }
        _ => {}
    }
}

/// Of a type with another one's members, the members of both: those of one that has no schema of
/// its own stand in place.
fn join(members: &mut Map<String, Value>) {
    let parts = members.get("allOf").and_then(Value::as_array).cloned();
    let Some(parts) = parts.filter(|parts| parts.iter().all(|of| of["properties"].is_object()))
    else {
        return;
    };
    members.remove("allOf");
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in &parts {
        properties.extend(part["properties"].as_object().cloned().unwrap_or_default());
        required.extend(part["required"].as_array().cloned().unwrap_or_default());
    }
    members.insert("type".to_owned(), json!("object"));
    members.insert("properties".to_owned(), properties.into());
    members.insert("required".to_owned(), required.into());
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

/// An object of at most so many members with names of this length.
pub fn map(of: &Value, most: usize, name: RangeInclusive<usize>) -> Value {
    json!({
        "type": "object",
        "additionalProperties": of,
        "maxProperties": most,
        "propertyNames": { "minLength": name.start(), "maxLength": name.end() },
    })
}
