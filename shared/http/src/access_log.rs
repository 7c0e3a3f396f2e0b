//! The last steps of every response: its style, its headers, and its log line.

use std::time::Instant;

use awo_domain::Error;
use awo_store::organizations::keys::Caller;
use lambda_http::http::response::Builder;
use lambda_http::request::RequestContext;
use lambda_http::{Request, RequestExt, Response};
use serde_json::Value;

use crate::answer::Answer;
use crate::authentication::Rate;
use crate::cors::Headers;
use crate::failure::Failure;
use awo_contract::routes::{CreatedResource, Route, Style};

/// What errors are.
const JSON: &str = "application/json";
/// The status of an answer that names a new resource.
const CREATED: u16 = 201;
/// The status of every answer that comes in pieces.
const STREAMING: u16 = 200;

/// A request on its way to its answer: its log fields, and its answer's headers.
#[derive(Debug)]
pub struct AccessLog {
    began: Instant,
    request_id: String,
    method: String,
    path: String,
    style: Style,
    caller: Option<String>,
    rate: Option<Rate>,
    more: Headers,
    created: Option<CreatedResource>,
}

impl AccessLog {
    /// A request to a route; `more` are headers that its answer has besides.
    pub(crate) fn of(request: &Request, route: &Route, more: Headers) -> AccessLog {
        let line = AccessLog::at(request, route.path, route.style).with(more);
        AccessLog {
            created: route.created,
            ..line
        }
    }

    /// The same with more headers of the answer.
    pub(crate) fn with(mut self, more: Headers) -> AccessLog {
        self.more.extend(more);
        self
    }

    /// A request to a path in a style.
    pub(crate) fn at(request: &Request, path: &str, style: Style) -> AccessLog {
        let request_id = match request.request_context_ref() {
            Some(RequestContext::ApiGatewayV1(context)) => context.request_id.clone(),
            _ => None,
        };
        AccessLog {
            began: Instant::now(),
            request_id: request_id.unwrap_or_else(|| "unknown".to_owned()),
            method: request.method().to_string(),
            path: path.to_owned(),
            style,
            caller: None,
            rate: None,
            more: Vec::new(),
            created: None,
        }
    }

    /// The same for an authenticated caller.
    pub(crate) fn by(self, caller: &Caller, rate: Rate) -> AccessLog {
        AccessLog {
            caller: Some(format!("{}/{}", caller.org_id, caller.key_id)),
            rate: Some(rate),
            ..self
        }
    }

    pub(crate) fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The whole response, and its line in the log.
    pub(crate) fn whole(
        &self,
        answer: Result<Answer, Error>,
    ) -> Result<Response<String>, lambda_http::Error> {
        let (status, body, headers) = self.dressed(&answer);
        self.write(status, answer.as_ref().err());
        let location = self.location(status, &body);
        let content_type = answer.as_ref().map_or(JSON, Answer::content_type);
        // An answer to HEAD is that to GET without its body.
        let body = if self.method == "HEAD" {
            String::new()
        } else {
            body
        };
        let mut response = self.head(status, content_type);
        if let Some(location) = location {
            response = response.header("location", location);
        }
        for (name, value) in headers {
            response = response.header(name, value);
        }
        Ok(response.body(body)?)
    }

    /// Where a new resource is. A replayed answer is read like the first one.
    fn location(&self, status: u16, body: &str) -> Option<String> {
        let CreatedResource { collection, id } = self.created.filter(|_| status == CREATED)?;
        let body: Value = serde_json::from_str(body).ok()?;
        let data = match self.style {
            Style::Plain => &body,
            Style::Envelope => &body["data"],
        };
        let id = data.pointer(id)?.as_str()?;
        Some(format!("{collection}/{id}"))
    }

    /// The body alone, where the head was sent before; the log has the status that there would
    /// have been.
    pub(crate) fn body(&self, answer: Result<Answer, Error>) -> String {
        let (status, body, _) = self.dressed(&answer);
        self.write(status, answer.as_ref().err());
        body
    }

    /// The head of a response whose body follows in pieces.
    pub(crate) fn streaming(&self, content_type: &str) -> Builder {
        self.head(STREAMING, content_type)
            .header("cache-control", "no-store")
    }

    /// The line in the log of a response that has begun.
    pub(crate) fn begun(&self) {
        self.write(STREAMING, None);
    }

    fn dressed(
        &self,
        answer: &Result<Answer, Error>,
    ) -> (u16, String, Vec<(&'static str, String)>) {
        match answer {
            Ok(answer) => {
                let body = answer.rendered(self.style, &self.request_id);
                (answer.status, body, answer.headers.clone())
            }
            Err(error) => {
                let failure = Failure::of(error, self.style);
                let body = failure.body(self.style, &self.request_id).to_string();
                (failure.status, body, failure.headers)
            }
        }
    }

    fn head(&self, status: u16, content_type: &str) -> Builder {
        let response = Response::builder()
            .status(status)
            .header("content-type", content_type)
            .header("x-request-id", &self.request_id);
        let more = self.more.iter();
        let response = more.fold(response, |response, (name, value)| {
            response.header(*name, value)
        });
        match self.rate {
            None => response,
            Some(rate) => response
                .header("x-ratelimit-limit", rate.limit)
                .header("x-ratelimit-remaining", rate.remaining)
                .header("x-ratelimit-reset", rate.reset.epoch_seconds()),
        }
    }

    fn write(&self, status: u16, error: Option<&Error>) {
        let AccessLog {
            request_id,
            method,
            path,
            caller,
            ..
        } = self;
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        match error {
            Some(Error::Internal { cause }) => {
                tracing::error!(
                    event = "request_failed",
                    request_id,
                    method,
                    path,
                    caller,
                    status,
                    ms,
                    cause,
                    "request failed"
                );
            }
            _ => tracing::info!(
                event = "request",
                request_id,
                method,
                path,
                caller,
                status,
                ms,
                "request"
            ),
        }
    }
}
