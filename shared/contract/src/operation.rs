//! One operation of the document: what its route in the table lacks, and what follows from the
//! route.

mod senders;

use serde_json::{Map, Value, json};

use awo_domain::api_key::Scope;

use crate::failure::Failure;
use crate::page::{MAX_LIMIT, MAX_OFFSET};
use crate::path_id::PathId;
use crate::routes::{Access, Route, Style};
use crate::schema::{default, described, name_of, named, reference, text, whole};
pub use crate::success::{Success, plain_list};

/// Where a response names its other media types.
pub const OTHER_REPRESENTATIONS: &str = "x-other-representations";

/// Where an operation names its answers to requests for other media types.
pub const OTHER_RESPONSES: &str = "x-other-responses";

/// One operation.
#[derive(Debug)]
pub struct Operation {
    pub route: &'static Route,
    value: Map<String, Value>,
    parameters: Vec<Value>,
    responses: Map<String, Value>,
    failures: Vec<Failure>,
    path_parameters: usize,
    is_late: bool,
    is_idempotent: bool,
}

impl Operation {
    /// An operation with all that follows from its route.
    pub fn of(route: &'static Route, summary: &str, description: &str) -> Operation {
        let mut operation = Operation {
            route,
            value: Map::new(),
            parameters: Vec::new(),
            responses: Map::new(),
            failures: Vec::new(),
            path_parameters: 0,
            is_late: false,
            is_idempotent: false,
        };
        operation.set("operationId", json!(operation_id(route)));
        operation.set("summary", json!(summary));
        operation.set("tags", json!([tag(route.path)]));
        match route.access {
            Access::Key(scope) => {
                let scopes: Vec<&str> = route.scopes().map(Scope::as_str).collect();
                let plural = if scopes.len() > 1 { "scopes" } else { "scope" };
                let needs = format!("Needs the {plural} `{}`.", scopes.join("` and `"));
                operation.set("description", json!(format!("{description}\n\n{needs}")));
                operation.set("security", json!([{ "organizationKey": scopes }]));
                operation.set("x-required-scope", json!(scope.as_str()));
                operation.failures.extend([
                    Failure::InternalError,
                    Failure::BadRequest,
                    Failure::Unauthorized,
                    Failure::Forbidden,
                    Failure::RateLimited,
                ]);
            }
            Access::Sender => {
                operation.set("description", json!(description));
                operation.set("security", json!([]));
                operation.failures.extend([
                    Failure::InternalError,
                    Failure::BadRequest,
                    Failure::Unauthorized,
                    Failure::PayloadTooLarge,
                ]);
            }
            Access::AnyKey | Access::Anybody | Access::Runner | Access::Page => {
                operation.set("description", json!(description));
                operation.set("security", json!([]));
            }
        }
        operation
    }

    /// The next parameter of its path.
    ///
    /// # Panics
    /// If the path has no further parameter, or one that `T` does not name.
    #[must_use]
    pub fn path<T: PathId>(mut self) -> Operation {
        let name = names_in(self.route.path).nth(self.path_parameters);
        let name = name.filter(|name| T::NAMES.contains(name));
        let name = name.unwrap_or_else(|| panic!("{} has no {:?}", self.route.path, T::NAMES));
        self.path_parameters += 1;
        self.parameters.push(json!({
            "name": name, "in": "path", "required": true, "schema": T::schema(),
            "description": T::DESCRIPTION,
        }));
        self.failures.push(Failure::NotFound);
        self
    }

    fn set(&mut self, name: &str, value: Value) {
        self.value.insert(name.to_owned(), value);
    }

    /// A query parameter.
    pub fn query(mut self, name: &str, schema: Value, description: &str) -> Operation {
        self.parameters.push(json!({
            "name": name, "in": "query", "required": false, "schema": schema,
            "description": description,
        }));
        self
    }

    /// A query parameter that must be there.
    pub fn required_query(mut self, name: &str, schema: Value, description: &str) -> Operation {
        self.parameters.push(json!({
            "name": name, "in": "query", "required": true, "schema": schema,
            "description": description,
        }));
        self
    }

    /// A request header.
    pub fn header(mut self, name: &str, schema: Value, description: &str) -> Operation {
        self.parameters.push(json!({
            "name": name, "in": "header", "required": false, "schema": schema,
            "description": description,
        }));
        self
    }

    /// A list that tenants and their users narrow.
    pub fn tenants(self) -> Operation {
        let text = json!({ "type": "string" });
        self.query("tenantId", text.clone(), "Those of this tenant.")
            .query("tenantUserId", text, "Those of this user of a tenant.")
    }

    /// A list in pages.
    pub fn pages(self, limit: u32) -> Operation {
        let limit = default(whole(1..=u64::from(MAX_LIMIT)), limit);
        let offset = default(whole(0..=u64::from(MAX_OFFSET)), 0);
        self.query("limit", limit, "The maximum size of a page.")
            .query("offset", offset, "The number of items to skip. For more, follow `nextCursor`.")
            .query(
                "cursor",
                json!({ "type": "string" }),
                "The `nextCursor` of the previous page; instead of `offset`, and with the same filters.",
            )
    }

    /// A JSON body.
    pub fn body(mut self, schema: Value, example: Value) -> Operation {
        self.requires_body(schema, example, true);
        self
    }

    /// A JSON body that may be left out.
    pub fn optional_body(mut self, schema: Value, example: Value) -> Operation {
        self.requires_body(schema, example, false);
        self
    }

    fn requires_body(&mut self, schema: Value, example: Value, required: bool) {
        let schema = match name_of(&schema) {
            Some(_) => schema,
            None => {
                let description = format!("The body of `{}`.", operation_id(self.route));
                named(&self.component("Request"), described(schema, &description))
            }
        };
        let content = json!({ "application/json": { "schema": schema, "example": example } });
        self.set(
            "requestBody",
            json!({ "required": required, "content": content }),
        );
        let more = [Failure::PayloadTooLarge, Failure::UnsupportedMediaType];
        self.failures.extend(more);
    }

    /// It may be repeated with an `Idempotency-Key`.
    pub fn idempotent(self) -> Operation {
        let mut operation = self.header(
            "Idempotency-Key",
            json!({ "type": "string", "pattern": "^[!-~]{1,255}$" }),
            "The same key with the same body within 24 hours gets the first answer again, with \
             `Idempotent-Replayed: true`.",
        );
        operation.failures.push(Failure::IdempotencyMismatch);
        operation.is_idempotent = true;
        operation
    }

    /// A name for a component of this operation alone.
    fn component(&self, what: &str) -> String {
        let id = operation_id(self.route);
        let (head, rest) = id.split_at(1);
        format!("{}{rest}{what}", head.to_ascii_uppercase())
    }

    /// An answer that may come after the head: see the quirks.
    pub fn late(mut self) -> Operation {
        self.is_late = true;
        self
    }

    /// More that can go wrong.
    pub fn fails(mut self, failures: &[Failure]) -> Operation {
        self.failures.extend(failures);
        self
    }

    /// Its successful response. `example` is a real answer.
    pub fn answers(mut self, success: Success) -> Operation {
        let mut response = json!({
            "description": success.description,
            "headers": self.headers(success.status),
        });
        if let Some(schema) = success.content {
            let schema = self.dressed(schema);
            response["content"] = json!({ "application/json": { "schema": schema } });
        }
        self.responses.insert(success.status.to_string(), response);
        self
    }

    /// The same answer in another media type, for clients that ask for it by `Accept`. It is no
    /// part of `content`: generators would give every caller the union of both types.
    pub fn answers_also(mut self, status: u16, media_type: &str, schema: Value) -> Operation {
        let response = &mut self.responses[&status.to_string()];
        let has_json = response.pointer("/content/application~1json").is_some();
        let of = if has_json {
            OTHER_REPRESENTATIONS
        } else {
            "content"
        };
        response[of][media_type] = json!({ "schema": schema });
        self
    }

    /// An answer without a body to a request for another media type. It stands beside `responses` for
    /// the same reason: with it, generators would let every caller expect no body.
    pub fn answers_nothing_also(mut self, status: u16, description: &str) -> Operation {
        let response = json!({ status.to_string(): { "description": description } });
        self.set(OTHER_RESPONSES, response);
        self
    }

    /// The operation as the document has it, with an example of each good answer.
    ///
    /// # Panics
    /// If a parameter of its path is not declared.
    pub fn into_value(mut self, example: impl Fn(&str, u16) -> Option<Value>) -> Value {
        let parameters = names_in(self.route.path).count();
        assert_eq!(self.path_parameters, parameters, "{}", self.route.path);
        for (status, response) in &mut self.responses {
            let example = status
                .parse()
                .ok()
                .and_then(|s| example(self.route.function, s));
            if let (Some(example), Some(content)) =
                (example, response.pointer_mut("/content/application~1json"))
            {
                content["example"] = example;
            }
        }
        for failure in self.failures.drain(..) {
            let response = failure.reference(self.route.style);
            self.responses
                .entry(failure.status().to_string())
                .or_insert(response);
        }
        self.responses.sort_keys();
        if !self.parameters.is_empty() {
            self.value
                .insert("parameters".to_owned(), json!(self.parameters));
        }
        self.value
            .insert("responses".to_owned(), Value::Object(self.responses));
        Value::Object(self.value)
    }

    /// The headers of a good answer.
    fn headers(&self, status: u16) -> Value {
        let mut names = vec!["X-Request-Id"];
        if matches!(self.route.access, Access::Key(_)) {
            names.extend([
                "X-RateLimit-Limit",
                "X-RateLimit-Remaining",
                "X-RateLimit-Reset",
            ]);
        }
        if self.route.created.is_some() && status == 201 {
            names.push("Location");
        }
        if self.is_idempotent {
            names.push("Idempotent-Replayed");
        }
        if self.route.access == Access::Anybody {
            names.extend(["ETag", "Cache-Control"]);
        }
        let of = |name: &&str| {
            (
                name.to_string(),
                json!({ "$ref": format!("#/components/headers/{name}") }),
            )
        };
        Value::Object(names.iter().map(of).collect())
    }

    /// The body of a good answer, as the route's style has it.
    fn dressed(&self, data: Value) -> Value {
        if self.route.style == Style::Plain {
            return match name_of(&data) {
                Some(_) => data,
                None => named(&self.component("Response"), data),
            };
        }
        let name = match name_of(&data) {
            Some(name) => format!("{name}Response"),
            None => self.component("Response"),
        };
        let envelope = json!({
            "type": "object",
            "description": "The envelope of a successful response.",
            "required": ["success", "data", "requestId"],
            "properties": {
                "success": { "const": true, "description": "True: it was done." },
                "data": described(data, "The requested data."),
                "requestId": described(text(1..=128), "As the header `X-Request-Id`."),
            },
        });
        let envelope = named(&name, envelope);
        if !self.is_late {
            envelope
        } else {
            let either = json!({
                "description": "The envelope of a response whose status may be sent before its result: check `success`.",
                "oneOf": [envelope, reference("EnvelopeError")],
            });
            named(&self.component("Response"), either)
        }
    }
}

fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// The group of a path: the part after the version.
fn tag(path: &str) -> &str {
    let path = path.strip_prefix("/api").unwrap_or(path);
    let part = path.strip_prefix("/v1/").unwrap_or("openapi");
    part.split('/').next().unwrap_or(part)
}

/// The operation's name in generated clients: that of its function, with the noun that the function's
/// name leaves out.
fn operation_id(route: &Route) -> String {
    match route.function {
        "redeliver" => "redeliverWebhookDelivery".to_owned(),
        "list-deliveries" => "listWebhookDeliveries".to_owned(),
        function => camel(function),
    }
}

fn camel(name: &str) -> String {
    let mut words = name.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, rest) = word.split_at(1);
        name + &head.to_ascii_uppercase() + rest
    })
}
