//! Successful responses.

use awo_domain::Error;
use awo_store::engine::idempotency::{RequestOutcome, StoredResponse};
use serde::Serialize;
use serde_json::{Value, json};

use awo_contract::routes::Style;

/// What a handler answers.
#[derive(Debug, Clone)]
pub struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Body,
    pub(crate) headers: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// To be dressed by the route's style.
    Data(Value),
    /// JSON, sent as it is.
    Raw(String),
    /// A table, sent as it is.
    Csv(String),
    /// A file, with its media type.
    File(&'static str, String),
    /// A page for print, sent as it is.
    Html(String),
}

impl Answer {
    /// 200.
    ///
    /// # Errors
    /// Internal, if the data does not serialise.
    pub fn ok(data: impl Serialize) -> Result<Answer, Error> {
        Answer::with(200, data)
    }

    /// 201.
    ///
    /// # Errors
    /// Internal, if the data does not serialise.
    pub fn created(data: impl Serialize) -> Result<Answer, Error> {
        Answer::with(201, data)
    }

    /// 204, without a body.
    #[must_use]
    pub fn no_content() -> Answer {
        Answer {
            status: 204,
            body: Body::Raw(String::new()),
            headers: Vec::new(),
        }
    }

    /// 202, without a body.
    #[must_use]
    pub fn accepted() -> Answer {
        Answer {
            status: 202,
            ..Answer::no_content()
        }
    }

    /// Any status and a whole JSON document, in either style.
    #[must_use]
    pub fn json_with(status: u16, text: String) -> Answer {
        Answer {
            status,
            ..Answer::json(text)
        }
    }

    /// 200 and a whole JSON document, in either style.
    #[must_use]
    pub fn json(text: String) -> Answer {
        Answer {
            status: 200,
            body: Body::Raw(text),
            headers: Vec::new(),
        }
    }

    /// 304, without a body: the client has it as it is.
    #[must_use]
    pub fn not_modified() -> Answer {
        Answer {
            status: 304,
            ..Answer::no_content()
        }
    }

    /// The same with a header more.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: String) -> Answer {
        self.headers.push((name, value));
        self
    }

    /// 204 with the methods that a path has.
    #[must_use]
    pub fn options(methods: &[&str]) -> Answer {
        Answer {
            headers: vec![("allow", methods.join(", "))],
            ..Answer::no_content()
        }
    }

    /// Any status.
    ///
    /// # Errors
    /// Internal, if the data does not serialise.
    pub fn with(status: u16, data: impl Serialize) -> Result<Answer, Error> {
        let data = serde_json::to_value(data).map_err(Error::internal)?;
        Ok(Answer {
            status,
            body: Body::Data(data),
            headers: Vec::new(),
        })
    }

    /// The response to an earlier request with the same idempotency key, byte for byte. A route has
    /// one status for what it stores.
    #[must_use]
    pub fn replayed(status: u16, first: StoredResponse) -> Answer {
        Answer {
            status,
            body: Body::Raw(first.body),
            headers: vec![("idempotent-replayed", "true".to_owned())],
        }
    }

    /// This answer, or the response to an earlier request with the same idempotency key.
    #[must_use]
    pub fn unless_replayed(self, outcome: RequestOutcome) -> Answer {
        match outcome {
            RequestOutcome::New(()) => self,
            RequestOutcome::Replayed(first) => Answer::replayed(self.status, first),
        }
    }

    /// 200 and a table, in either style.
    #[must_use]
    pub fn csv(text: String) -> Answer {
        Answer {
            status: 200,
            body: Body::Csv(text),
            headers: vec![("vary", "accept".to_owned())],
        }
    }

    /// 200 and a file, in either style.
    #[must_use]
    pub fn file(content_type: &'static str, text: impl Into<String>) -> Answer {
        Answer {
            status: 200,
            body: Body::File(content_type, text.into()),
            headers: Vec::new(),
        }
    }

    /// 200 and a page for print, in either style: it loads nothing and runs nothing.
    #[must_use]
    pub fn html(text: String) -> Answer {
        let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
        Answer {
            status: 200,
            body: Body::Html(text),
            headers: vec![
                ("vary", "accept".to_owned()),
                ("content-security-policy", policy.to_owned()),
            ],
        }
    }

    /// 308, without a body: what was asked for is there.
    #[must_use]
    pub fn moved(location: &str) -> Answer {
        Answer {
            status: 308,
            ..Answer::no_content()
        }
        .header("location", location.to_owned())
    }

    /// What the body is.
    pub(crate) fn content_type(&self) -> &'static str {
        match self.body {
            Body::Data(_) | Body::Raw(_) => "application/json",
            Body::Csv(_) => "text/csv; charset=utf-8; header=present",
            Body::File(content_type, _) => content_type,
            Body::Html(_) => "text/html; charset=utf-8",
        }
    }

    /// The body as it will be sent.
    #[must_use]
    pub fn rendered(&self, style: Style, request_id: &str) -> String {
        match (&self.body, style) {
            (Body::Raw(body) | Body::Csv(body) | Body::Html(body) | Body::File(_, body), _) => {
                body.clone()
            }
            (Body::Data(data), Style::Plain) => data.to_string(),
            (Body::Data(data), Style::Envelope) => {
                json!({ "success": true, "data": data, "requestId": request_id }).to_string()
            }
        }
    }
}
