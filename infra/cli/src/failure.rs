//! The reason why a command failed, for users.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;

use crate::options;
use crate::paint::{clean, clean_line};

/// Longest wait that a service may ask for and get.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// The API refused.
    Api(Box<ApiFailure>),
    /// The stores refused.
    Refused(String),
    /// Nothing answers.
    Unreachable {
        /// The fault.
        what: String,
        /// How that showed.
        why: String,
        /// The next step.
        advice: String,
    },
    /// The awaited outcome did not occur; that has been reported.
    NotDone,
    /// Interrupted; the consequence has been reported.
    Interrupted,
    /// The reader of the output has gone.
    ReaderGone,
    /// Something else is wrong.
    Broken(String),
}

/// An answer of the API that is an error.
#[derive(Debug)]
pub struct ApiFailure {
    /// HTTP status; that of the code where the error came after the status line.
    pub status: u16,
    /// The API's code.
    pub code: String,
    /// Its message.
    pub message: String,
    /// The fault of the request.
    pub faults: Vec<Fault>,
    /// By which the service knows the request.
    pub request_id: Option<String>,
    /// How long the service asks to wait.
    pub retry_after: Option<Duration>,
    /// The body as it came.
    pub body: String,
    /// The file that the request's body came from.
    pub file: Option<String>,
}

/// One thing that is wrong with a request.
#[derive(Debug, Deserialize)]
pub struct Fault {
    /// Where the fault is.
    pub path: String,
    /// The fault.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ErrorBody {
    error: ErrorPart,
    #[serde(default)]
    request_id: Option<String>,
}

#[derive(Deserialize)]
struct ErrorPart {
    code: String,
    message: String,
    #[serde(default)]
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    errors: Vec<Fault>,
}

impl ApiFailure {
    /// Reads an error, in whichever style it comes; any other response is reported by its
    /// status.
    pub fn read(
        status: u16,
        request_id: Option<String>,
        retry_after: Option<&str>,
        body: String,
    ) -> ApiFailure {
        let retry_after = retry_after
            .and_then(|seconds| seconds.trim().parse().ok())
            .map(|seconds| Duration::from_secs(seconds).min(MAX_WAIT));
        let (code, message, faults, inner_id) = match serde_json::from_str::<ErrorBody>(&body) {
            Ok(read) => {
                let ErrorPart {
                    code,
                    message,
                    details,
                } = read.error;
                (code, message, details.errors, read.request_id)
            }
            Err(_) => (
                format!("HTTP {status}"),
                "the response is not from the service: is the address correct?".to_owned(),
                Vec::new(),
                None,
            ),
        };
        let status = match status {
            200..300 => status_of(&code),
            code => code,
        };
        ApiFailure {
            status,
            code,
            message,
            faults,
            request_id: request_id.or(inner_id),
            retry_after,
            body,
            file: None,
        }
    }

    fn advice(&self) -> Option<String> {
        let wait = self.retry_after.map_or_else(
            || "wait a moment".to_owned(),
            |wait| format!("wait {} s", wait.as_secs()),
        );
        Some(match (self.status, self.code.as_str()) {
            (401, _) => {
                "check the key (AWO_API_KEY, --api-key-file or `awo context show`); an operator \
                         creates a new one with `awo admin create-key`"
                    .to_owned()
            }
            (402, _) => "lower --max-credits, or ask an operator to add credits with `awo admin \
                         grant`"
                .to_owned(),
            (403, _) => "use a key with that scope; an operator creates one with `awo admin \
                         create-key --scopes …`"
                .to_owned(),
            (404, "WORK_ORDER_NOT_FOUND") => {
                "`awo list` shows the work orders of this key".to_owned()
            }
            (404, "RUN_NOT_FOUND") => "`awo runs` shows the runs of this key".to_owned(),
            (404, "WEBHOOK_NOT_FOUND") => {
                "`awo webhooks list` shows the webhooks of this key".to_owned()
            }
            (404, "NOT_FOUND") => {
                "`awo list` shows the work orders of this key; if it is one of them, the service \
                 and awo may have different versions"
                    .to_owned()
            }
            (404 | 405, _) => {
                "check the address, and that the service and awo are the same version".to_owned()
            }
            (409, _) if self.message.contains("webhook") || self.message.contains("delivery") => {
                "`awo webhooks` shows the current state".to_owned()
            }
            (409, _) => "`awo get` with its id shows the current state".to_owned(),
            (422, "IDEMPOTENCY_MISMATCH") => {
                "use a different --idempotency-key for a different request".to_owned()
            }
            (429, _) => format!("{wait}, then try again"),
            (503, "QUEUE_FULL") => format!("{wait}, then submit again"),
            (500.., _) => {
                "try again; if the error persists, give the operator the request id".to_owned()
            }
            // The fault has been reported, and that is the one to correct.
            _ => return None,
        })
    }

    fn text(&self) -> String {
        let mut text = clean_line(&self.code);
        if self.faults.is_empty() {
            let message = clean(&self.message);
            let _ = write!(text, ": {}", options::instead_of_fields(&message));
        } else {
            text.push_str(": the request is not valid");
        }
        for fault in &self.faults {
            let (place, why) = (self.place(&fault.path), clean_line(&fault.message));
            let unit = options::unit(&fault.path, &why);
            let _ = write!(
                text,
                "\n  {place} {}{unit}",
                options::instead_of_fields(&why)
            );
        }
        if let Some(advice) = self.advice() {
            let _ = write!(text, "\n  what to do: {advice}");
        }
        if let Some(id) = &self.request_id {
            let _ = write!(text, "\n  request id: {}", clean_line(id));
        }
        text
    }

    /// Where a fault is, in the words of the person: an option, or a place in a file.
    fn place(&self, path: &str) -> String {
        let path = clean_line(path);
        match (&self.file, options::of(&path)) {
            (Some(file), _) if path.is_empty() => clean_line(file),
            (Some(file), _) => format!("{}: {path}", clean_line(file)),
            (None, Some(option)) => option,
            (None, None) if path.is_empty() => "the request".to_owned(),
            (None, None) => path,
        }
    }
}

/// The status that belongs to a code of the API.
fn status_of(code: &str) -> u16 {
    match code {
        "BAD_REQUEST" => 400,
        "UNAUTHORIZED" => 401,
        "FORBIDDEN" => 403,
        "NOT_FOUND" => 404,
        "CONFLICT" => 409,
        "RATE_LIMITED" => 429,
        _ => 500,
    }
}

impl Failure {
    /// The same, where the body of the request came from a file.
    pub fn of_file(self, file: &str) -> Failure {
        match self {
            Failure::Api(mut refusal) => {
                refusal.file = Some(match file {
                    "-" => "standard input".to_owned(),
                    file => file.to_owned(),
                });
                Failure::Api(refusal)
            }
            other => other,
        }
    }

    /// The exit code for scripts.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::ReaderGone => 0,
            Failure::NotDone => 1,
            Failure::Usage(_) => 2,
            Failure::Api(_) | Failure::Refused(_) | Failure::Broken(_) => 3,
            Failure::Unreachable { .. } => 4,
            Failure::Interrupted => 130,
        }
    }

    /// The text for people; none where everything has been reported.
    pub fn text(&self) -> Option<String> {
        match self {
            Failure::Usage(why) | Failure::Refused(why) | Failure::Broken(why) => Some(clean(why)),
            Failure::Api(failure) => Some(failure.text()),
            Failure::Unreachable { what, why, advice } => Some(format!(
                "cannot reach {}: {}\n  what to do: {advice}",
                clean_line(what),
                clean(why)
            )),
            Failure::NotDone | Failure::Interrupted | Failure::ReaderGone => None,
        }
    }

    /// True for what may be gone when the same is tried again.
    pub fn may_pass(&self) -> bool {
        match self {
            Failure::Unreachable { .. } => true,
            Failure::Api(failure) => {
                failure.status == 429 || (failure.status >= 500 && failure.code != "QUEUE_FULL")
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_shown_as_its_option() {
        let body = r#"{"error":{"code":"BAD_REQUEST","message":"m","details":{"errors":[
            {"path":"/workspaceSource/repository","message":"must be https"},
            {"path":"/metadata/a~1b","message":"is too long"}]}}}"#;
        let failure = ApiFailure::read(400, Some("req-1".to_owned()), None, body.to_owned());
        let text = Failure::Api(Box::new(failure)).text().unwrap();
        for part in [
            "BAD_REQUEST",
            "--repo must be https",
            "--metadata a/b is too long",
            "request id: req-1",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn both_styles_read_and_anything_else_is_reported_by_its_status() {
        let envelope =
            r#"{"success":false,"error":{"code":"CONFLICT","message":"m"},"requestId":"r"}"#;
        let read = ApiFailure::read(409, None, None, envelope.to_owned());
        assert_eq!(
            (read.code.as_str(), read.request_id.as_deref()),
            ("CONFLICT", Some("r"))
        );
        let late = ApiFailure::read(200, None, None, envelope.to_owned());
        assert_eq!(
            late.status, 409,
            "the status line of a stream comes too early to know"
        );
        let read = ApiFailure::read(502, None, Some("9999"), "<html>\u{1b}[2J".to_owned());
        assert_eq!(read.code, "HTTP 502");
        assert_eq!(read.retry_after, Some(MAX_WAIT));
    }
}
