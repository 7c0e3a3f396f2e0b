//! The successful response of an operation.

use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::schema::{Schemas, described, name_of, named};

/// The successful response of an operation.
pub struct Success {
    pub status: u16,
    pub description: &'static str,
    pub content: Option<Value>,
}

impl Success {
    /// A body of a type.
    pub fn of<T: ToSchema>(
        schemas: &mut Schemas,
        status: u16,
        description: &'static str,
    ) -> Success {
        Success::with(status, description, schemas.of::<T>())
    }

    /// A body of a schema.
    pub fn with(status: u16, description: &'static str, schema: Value) -> Success {
        Success {
            status,
            description,
            content: Some(schema),
        }
    }

    /// No body.
    pub fn nothing(description: &'static str) -> Success {
        Success {
            status: 204,
            description,
            content: None,
        }
    }

    /// A body that is no JSON: [`crate::operation::Operation::answers_also`] describes it.
    pub fn file(description: &'static str) -> Success {
        Success {
            status: 200,
            ..Success::nothing(description)
        }
    }

    /// No body, since the client has it.
    pub fn not_modified(description: &'static str) -> Success {
        Success {
            status: 304,
            ..Success::nothing(description)
        }
    }
}

/// The body of a plain list: a component that is called as its items are, and `Page`.
pub fn plain_list(plural: &str, item: &Value) -> Value {
    let count = json!({ "type": "integer", "minimum": 0 });
    let page = format!("{}Page", name_of(item).unwrap_or(plural));
    let body = json!({
        "type": "object",
        "description": "A page of a list.",
        "required": [plural, "total", "limit", "offset"],
        "properties": {
            plural: { "type": "array", "items": item, "description": "The items of this page." },
            "total": described(count.clone(), "The exact total."),
            "limit": described(count.clone(), "The maximum size of a page."),
            "offset": described(count, "The number of skipped items."),
            "nextCursor": {
                "type": "string",
                "description": "The next page's `cursor`; absent on the last page.",
            },
        },
    });
    named(&page, body)
}
