//! One operation of the document: what its route in the table lacks, and what follows from the
//! route.

use awo_http::page::{MAX_LIMIT, MAX_OFFSET};
use awo_http::routes::{Access, Route, Style};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::errors::Failure;
use super::schema::{Schemas, default, described, reference, text, whole};

/// One operation.
#[derive(Debug)]
pub struct Operation {
    pub route: &'static Route,
    value: Map<String, Value>,
    parameters: Vec<Value>,
    responses: Map<String, Value>,
    failures: Vec<Failure>,
    is_late: bool,
}

/// What an operation answers when all is well.
pub struct Success {
    status: u16,
    description: &'static str,
    content: Option<Value>,
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

    /// No body, since the client has it.
    pub fn not_modified(description: &'static str) -> Success {
        Success {
            status: 304,
            ..Success::nothing(description)
        }
    }
}

/// The body of a plain list.
pub fn plain_list(plural: &str, item: &Value) -> Value {
    let count = json!({ "type": "integer", "minimum": 0 });
    json!({
        "type": "object",
        "required": [plural, "total", "limit", "offset"],
        "properties": {
            plural: { "type": "array", "items": item },
            "total": described(count.clone(), "How many there are in all, exactly."),
            "limit": described(count.clone(), "How many a page holds at most."),
            "offset": described(count, "How many were skipped."),
            "nextCursor": {
                "type": "string",
                "description": "The next page's `cursor`; absent on the last page.",
            },
        },
    })
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
            is_late: false,
        };
        operation.say("operationId", json!(camel(route.function)));
        operation.say("summary", json!(summary));
        operation.say("tags", json!([tag(route.path)]));
        match route.access {
            Access::Key(scope) => {
                let needs = format!("Needs the scope `{}`.", scope.as_str());
                operation.say("description", json!(format!("{description}\n\n{needs}")));
                operation.say("security", json!([{ "organizationKey": [scope.as_str()] }]));
                operation.say("x-required-scope", json!(scope.as_str()));
                operation.failures.extend([
                    Failure::InternalError,
                    Failure::BadRequest,
                    Failure::Unauthorized,
                    Failure::Forbidden,
                    Failure::RateLimited,
                ]);
            }
            Access::Anybody | Access::Runner => {
                operation.say("description", json!(description));
                operation.say("security", json!([]));
            }
        }
        for name in names_in(route.path) {
            operation.parameters.push(json!({
                "name": name, "in": "path", "required": true, "schema": { "type": "string" },
                "description": path_parameter(route.path, name),
            }));
            operation.failures.push(Failure::NotFound);
        }
        operation
    }

    fn say(&mut self, name: &str, value: Value) {
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
        self.query("limit", limit, "How many a page holds at most.")
            .query("offset", offset, "How many to skip. For more, follow `nextCursor`.")
            .query(
                "cursor",
                json!({ "type": "string" }),
                "The `nextCursor` of the page before; instead of `offset`, and with the same filters.",
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
        let content = json!({ "application/json": { "schema": schema, "example": example } });
        self.say(
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
        operation
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

    /// What it answers when all is well. `example` is a real answer.
    pub fn answers(mut self, success: Success) -> Operation {
        let mut response = json!({
            "description": success.description,
            "headers": headers(self.route),
        });
        if let Some(schema) = success.content {
            let schema = dressed(self.route.style, schema, self.is_late);
            response["content"] = json!({ "application/json": { "schema": schema } });
        }
        self.responses.insert(success.status.to_string(), response);
        self
    }

    /// The same answer in another media type.
    pub fn answers_also(mut self, status: u16, media_type: &str, schema: Value) -> Operation {
        let response = &mut self.responses[&status.to_string()];
        response["content"][media_type] = json!({ "schema": schema });
        self
    }

    /// The operation as the document has it, with an example of each good answer.
    pub fn into_value(mut self, example: impl Fn(&str, u16) -> Option<Value>) -> Value {
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
}

/// The headers of a good answer.
fn headers(route: &Route) -> Value {
    let mut names = vec!["X-Request-Id"];
    if matches!(route.access, Access::Key(_)) {
        names.extend([
            "X-RateLimit-Limit",
            "X-RateLimit-Remaining",
            "X-RateLimit-Reset",
        ]);
    }
    let of = |name: &&str| {
        (
            name.to_string(),
            json!({ "$ref": format!("#/components/headers/{name}") }),
        )
    };
    Value::Object(names.iter().map(of).collect())
}

fn dressed(style: Style, data: Value, is_late: bool) -> Value {
    let envelope = json!({
        "type": "object",
        "required": ["success", "data", "requestId"],
        "properties": {
            "success": { "const": true },
            "data": data,
            "requestId": described(text(1..=128), "As the header `X-Request-Id`."),
        },
    });
    match (style, is_late) {
        (Style::Plain, _) => data,
        (Style::Envelope, false) => envelope,
        (Style::Envelope, true) => json!({ "oneOf": [envelope, reference("EnvelopeError")] }),
    }
}

fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(path: &str, name: &str) -> &'static str {
    match path {
        _ if name == "deliveryId" => "The id of a delivery of this webhook.",
        path if path.contains("/webhooks/") => "The id of a webhook.",
        path if path.contains("/work-orders/") || path.contains("/position/") => {
            "The id of a work order."
        }
        path if path.contains("/runs/") => "The id of a run.",
        path if path.contains("/templates/") => "The id of a template.",
        path if path.contains("/plugins/") => "The id of a verification plugin.",
        path if path.contains("/profiles/") => "The name of a harness profile.",
        _ => "An id.",
    }
}

/// The group of a path: the part after the version.
fn tag(path: &str) -> &str {
    let path = path.strip_prefix("/api").unwrap_or(path);
    let part = path.strip_prefix("/v1/").unwrap_or("openapi");
    part.split('/').next().unwrap_or(part)
}

fn camel(name: &str) -> String {
    let mut words = name.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, rest) = word.split_at(1);
        name + &head.to_ascii_uppercase() + rest
    })
}
