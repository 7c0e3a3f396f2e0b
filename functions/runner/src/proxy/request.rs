//! An agent's call: its destination, and the parts of its body that determine its cost.

use awo_domain::agent::answer::Dialect;
use awo_domain::control::Provider;
use awo_domain::usage::MAX_MODEL_NAME;
use http::Method;
use serde::{Deserialize, Deserializer};

use super::extras::Extras;

/// Longest query that is passed on, in bytes.
const MAX_QUERY_BYTES: usize = 1_024;

/// Counts the tokens of a call of Messages.
const COUNT_TOKENS: &str = "/v1/messages/count_tokens";

/// A path that leads somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) provider: Provider,
    pub(super) path: &'static str,
    /// Absent for calls that cost nothing.
    pub(super) dialect: Option<Dialect>,
}

/// Everything that is passed on. What is not here could cost something that is not counted.
const ROUTES: [(&str, &str, Route); 6] = [
    (
        "POST",
        "/anthropic",
        paid(Provider::Anthropic, "/v1/messages", Dialect::Messages),
    ),
    (
        "POST",
        "/anthropic",
        free(Provider::Anthropic, COUNT_TOKENS),
    ),
    ("GET", "/anthropic", free(Provider::Anthropic, "/v1/models")),
    (
        "POST",
        "/openai",
        paid(Provider::Openai, "/v1/responses", Dialect::Responses),
    ),
    (
        "POST",
        "/openai",
        paid(Provider::Openai, "/v1/chat/completions", Dialect::Chat),
    ),
    ("GET", "/openai", free(Provider::Openai, "/v1/models")),
];

const fn paid(provider: Provider, path: &'static str, dialect: Dialect) -> Route {
    Route {
        provider,
        path,
        dialect: Some(dialect),
    }
}

const fn free(provider: Provider, path: &'static str) -> Route {
    Route {
        provider,
        path,
        dialect: None,
    }
}

impl Route {
    /// The route of a path, if there is one.
    pub(super) fn of(method: &Method, path: &str) -> Option<Route> {
        let mut routes = ROUTES.iter();
        let found = routes.find(|(on, prefix, route)| {
            method.as_str() == *on && path.strip_prefix(prefix) == Some(route.path)
        });
        found.map(|(.., route)| *route)
    }

    /// True for the counting of a call's tokens.
    pub(super) fn counts_tokens(&self) -> bool {
        self.path == COUNT_TOKENS
    }

    /// Path and query at the provider.
    pub(super) fn target(&self, query: Option<&str>) -> String {
        match query.filter(|query| query.len() <= MAX_QUERY_BYTES) {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.to_owned(),
        }
    }
}

/// What decides what a call costs. A field that stands twice is a fault: the provider might read
/// the other one.
#[derive(Debug, Deserialize)]
struct PricedFields {
    model: String,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    background: Option<bool>,
    /// Absent, null, or options.
    #[serde(default, deserialize_with = "given")]
    stream_options: Option<Option<StreamOptions>>,
}

fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<StreamOptions>>, D::Error> {
    Option::deserialize(from).map(Some)
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

/// A call whose cost can be counted.
#[derive(Debug)]
pub(super) struct CountableCall {
    pub(super) model: String,
    pub(super) streams: bool,
    /// As it is passed on: word for word, but a stream of chat completions is made to report its
    /// usage.
    pub(super) body: Vec<u8>,
}

/// Reads a call.
///
/// # Errors
/// A sentence for the agent.
pub(super) fn checked(dialect: Dialect, mut body: Vec<u8>) -> Result<CountableCall, String> {
    // An array would do as well where a structure is read.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("the body is not valid: it must be a JSON object".to_owned());
    }
    let invalid = |why| format!("the body is not valid: {why}");
    let deciding: PricedFields = serde_json::from_slice(&body).map_err(invalid)?;
    let extras: Extras = serde_json::from_slice(&body).map_err(invalid)?;
    let model = deciding.model;
    let is_name = (1..=MAX_MODEL_NAME).contains(&model.len());
    if !is_name || model.chars().any(char::is_control) {
        return Err(format!("model must be 1–{MAX_MODEL_NAME} printable bytes"));
    }
    extras.check(dialect)?;
    if deciding.background == Some(true) {
        return Err("background answers are not passed on: leave background out".to_owned());
    }
    let streams = deciding.stream == Some(true);
    if dialect == Dialect::Chat && streams {
        let options = deciding.stream_options;
        match options.map(|options| options.and_then(|options| options.include_usage)) {
            Some(Some(true)) => {}
            Some(_) => {
                return Err("stream_options must have include_usage: true".to_owned());
            }
            None => tell_usage(&mut body),
        }
    }
    Ok(CountableCall {
        model,
        streams,
        body,
    })
}

/// Puts the option in front of the object's first field; there is one, `model`.
fn tell_usage(body: &mut Vec<u8>) {
    let option = *br#""stream_options":{"include_usage":true},"#;
    if let Some(start) = body.iter().position(|byte| *byte == b'{') {
        body.splice(start + 1..=start, option);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_passed_on_but_what_can_be_counted() {
        let of = |method, path| Route::of(&method, path);
        assert!(of(Method::POST, "/anthropic/v1/messages").is_some());
        assert!(of(Method::POST, "/openai/v1/responses").is_some());
        for path in [
            "/v1/messages",
            "/anthropic/v1/messages/batches",
            "/anthropic/v1/messages/",
            "/anthropic/../openai/v1/responses",
            "/openai/v1/files",
            "/openai/v1/images/generations",
            "/",
        ] {
            assert_eq!(of(Method::POST, path), None, "{path}");
        }
        assert_eq!(of(Method::GET, "/openai/v1/responses"), None);
    }

    #[test]
    fn a_body_that_could_be_read_in_two_ways_is_refused() {
        for (body, word) in [
            (r#"{"model":"cheap","model":"dear"}"#, "duplicate"),
            (
                r#"{"model":"m","tools":[],"tools":[{"type":"x"}]}"#,
                "duplicate",
            ),
            (r#"{"model":"m","background":true}"#, "background"),
            (r#"{"messages":[]}"#, "model"),
            (r#"{"model":""}"#, "model"),
            (r#"["m"]"#, "not valid"),
            ("nonsense", "not valid"),
        ] {
            let refused = checked(Dialect::Responses, body.as_bytes().to_vec());
            let why = refused.unwrap_err();
            assert!(why.contains(word), "{body}: {why}");
        }
    }

    #[test]
    fn a_body_goes_on_word_for_word_but_chat_streams_are_made_to_tell_their_usage() {
        let body = |dialect, text: &str| {
            let checked = checked(dialect, text.as_bytes().to_vec()).unwrap();
            String::from_utf8(checked.body).unwrap()
        };
        let stream = r#" {"z":1.10,"model":"m","stream":true}"#;
        assert_eq!(body(Dialect::Messages, stream), stream);
        let reported =
            r#" {"stream_options":{"include_usage":true},"z":1.10,"model":"m","stream":true}"#;
        assert_eq!(body(Dialect::Chat, stream), reported);
        assert_eq!(body(Dialect::Chat, reported), reported);
        for options in ["null", "{}", r#"{"include_usage":false}"#] {
            let silent = format!(r#"{{"model":"m","stream":true,"stream_options":{options}}}"#);
            let refused = checked(Dialect::Chat, silent.into_bytes());
            assert!(refused.is_err(), "{options}");
        }
    }
}
