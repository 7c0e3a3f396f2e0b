//! Schemas that need nothing beside themselves, of the components of the OpenAPI document.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Value, json};

/// The document as it is committed.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../docs/openapi.json")).unwrap_or_default()
});

/// Where the document has its components.
const COMPONENTS: &str = "#/components/schemas/";

/// An operation, by its id.
pub(crate) fn operation(id: &str) -> &'static Value {
    let paths = DOCUMENT["paths"].as_object();
    let methods = paths.into_iter().flat_map(|paths| paths.values());
    let operations = methods
        .filter_map(Value::as_object)
        .flat_map(|of| of.values());
    let mut operations =
        operations.filter(|operation| operation["operationId"].as_str() == Some(id));
    operations.next().unwrap_or(&Value::Null)
}

/// A component, by its name.
pub(crate) fn component(name: &str) -> &'static Value {
    &DOCUMENT["components"]["schemas"][name]
}

/// A reference to a component, for [`whole`].
pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{COMPONENTS}{name}") })
}

/// The same schema with all that it refers to in `$defs`.
pub(crate) fn whole(mut schema: Value) -> Value {
    let mut names = BTreeSet::new();
    localize(&mut schema, &mut names);
    let mut parts: BTreeMap<String, Value> = BTreeMap::new();
    while let Some(name) = names.pop_first() {
        if let Entry::Vacant(place) = parts.entry(name) {
            let mut part = component(place.key()).clone();
            localize(&mut part, &mut names);
            place.insert(part);
        }
    }
    if !parts.is_empty() {
        schema["$defs"] = json!(parts);
    }
    schema
}

/// Turns references to components into references to `$defs`, and collects their names.
fn localize(schema: &mut Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| localize(item, names)),
        Value::Object(members) => {
            // OpenAPI's own; its mapping names components.
            members.remove("discriminator");
            if let Some(Value::String(to)) = members.get_mut("$ref")
                && let Some(name) = to.strip_prefix(COMPONENTS).map(str::to_owned)
            {
                *to = format!("#/$defs/{name}");
                names.insert(name);
            }
            members
                .values_mut()
                .for_each(|member| localize(member, names));
        }
        _ => {}
    }
}
