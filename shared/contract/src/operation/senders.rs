//! Operations of senders, which have neither a key nor bodies of ours.

use serde_json::{Value, json};

use super::{Operation, names_in};
use crate::schema::named;

impl Operation {
    /// A parameter of its path that is no resource of the caller's.
    ///
    /// # Panics
    /// If the path has no further parameter.
    #[must_use]
    pub fn path_text(mut self, schema: Value, description: &str) -> Operation {
        let name = names_in(self.route.path).nth(self.path_parameters);
        let name = name.unwrap_or_else(|| panic!("{} has no parameter", self.route.path));
        self.path_parameters += 1;
        self.parameters.push(json!({
            "name": name, "in": "path", "required": true, "schema": schema, "description": description,
        }));
        self
    }

    /// A JSON body whose members are the sender's own.
    pub fn foreign_body(mut self, description: &str, example: Value) -> Operation {
        let schema = named(
            &self.component("Request"),
            json!({ "description": description }),
        );
        let content = json!({ "application/json": { "schema": schema, "example": example } });
        self.set(
            "requestBody",
            json!({ "required": true, "content": content }),
        );
        self
    }
}
