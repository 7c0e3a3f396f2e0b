//! The usage in a model's response, read while it passes: whole, or event by event.
//!
//! Counts have one form, input including the cache: Anthropic excludes the cache from its input,
//! OpenAI does not. A truncated response counts as far as it was received.

use serde_json::Value;
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::agent::provider_error::ProviderError;
use crate::usage::{MAX_TOKENS, ModelUsage};

/// Longest answer, and longest event of one, that is read for its usage, in bytes: the last event
/// of OpenAI's Responses holds the whole answer again.
pub const MAX_COUNTED_BYTES: usize = 16 * 1_048_576;

/// A count of tokens in JSON; what is no count is none.
#[must_use]
pub fn tokens(json: &Value, pointer: &str) -> u64 {
    let count = json.pointer(pointer).and_then(Value::as_u64);
    count.unwrap_or(0).min(MAX_TOKENS)
}

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's chat completions.
    Chat,
}

/// Tokens of one call; input with what came from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All input tokens.
    pub input: u64,
    /// The part of them that was read from the cache.
    pub cached: u64,
    /// The part of them that was written to the cache.
    pub written: u64,
    /// The part of those that is cached for an hour, which costs more than five minutes.
    pub written_for_an_hour: u64,
    /// Output tokens.
    pub output: u64,
    /// Searches of the web by the provider's own tool; each has a price.
    pub web_searches: u64,
    /// The service tier that answered, where its provider has several prices.
    pub service_tier: Option<ServiceTier>,
}

/// A service tier of OpenAI's, as its answers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum ServiceTier {
    /// Slower and cheaper.
    Flex,
    /// Faster and dearer.
    Priority,
    /// The same by another name.
    Fast,
}

impl Counts {
    /// As usage of a model.
    #[must_use]
    pub fn of(self, model: &str) -> ModelUsage {
        ModelUsage {
            model: model.to_owned(),
            input_tokens: self.input,
            output_tokens: self.output,
            cached_input_tokens: self.cached,
            cache_write_tokens: self.written,
            cost_usd: None,
        }
        .bounded()
    }

    /// Later events repeat the content of earlier ones, and add to it.
    fn or_more(self, other: Counts) -> Counts {
        Counts {
            input: self.input.max(other.input),
            cached: self.cached.max(other.cached),
            written: self.written.max(other.written),
            written_for_an_hour: self.written_for_an_hour.max(other.written_for_an_hour),
            output: self.output.max(other.output),
            web_searches: self.web_searches.max(other.web_searches),
            service_tier: other.service_tier.or(self.service_tier),
        }
    }
}

/// Reads along.
#[derive(Debug)]
pub struct Counter {
    dialect: Dialect,
    is_stream: bool,
    /// The line, or the answer, so far.
    held: Vec<u8>,
    /// True while what is held is longer than it may be.
    too_long: bool,
    counts: Option<Counts>,
    error: Option<ProviderError>,
}

impl Counter {
    /// For an answer that is a stream of events, or one document.
    #[must_use]
    pub fn new(dialect: Dialect, is_stream: bool) -> Counter {
        Counter {
            dialect,
            is_stream,
            held: Vec::new(),
            too_long: false,
            counts: None,
            error: None,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.is_stream {
            return self.hold(bytes);
        }
        let mut lines = bytes.split(|byte| *byte == b'\n');
        // The first piece goes on with what is held; each further one begins a line.
        if let Some(first) = lines.next() {
            self.hold(first);
        }
        for line in lines {
            self.line();
            self.hold(line);
        }
    }

    /// The usage, once the answer is complete; none if it did not report any.
    #[must_use]
    pub fn end(mut self) -> Option<Counts> {
        if self.is_stream {
            self.line();
        } else if let Ok(answer) = serde_json::from_slice(&self.held) {
            self.take(&answer);
        }
        self.counts
    }

    /// The error that a stream has reported within it.
    #[must_use]
    pub fn error(&self) -> Option<&ProviderError> {
        self.error.as_ref()
    }

    fn hold(&mut self, bytes: &[u8]) {
        self.too_long |= self.held.len() + bytes.len() > MAX_COUNTED_BYTES;
        if self.too_long {
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    /// Each event of the three dialects has one line of data.
    fn line(&mut self) {
        let line = std::mem::take(&mut self.held);
        self.too_long = false;
        let event = line
            .strip_prefix(b"data:")
            .and_then(|data| serde_json::from_slice::<Value>(data).ok());
        if let Some(event) = event {
            self.take(&event);
        }
    }

    fn take(&mut self, event: &Value) {
        if self.is_stream
            && let Some(error) = ProviderError::of(event)
        {
            self.error = Some(error);
        }
        let with_usage = |answer: &&Value| answer.get("usage").is_some_and(Value::is_object);
        let within = |name: &str| event.get(name).filter(with_usage);
        let whole = Some(event).filter(with_usage);
        let found = match self.dialect {
            Dialect::Messages => within("message").or(whole).map(messages),
            Dialect::Responses => within("response").or(whole).map(responses),
            Dialect::Chat => whole.map(chat),
        };
        if let Some(found) = found {
            self.counts = Some(self.counts.unwrap_or_default().or_more(found));
        }
    }
}

fn messages(answer: &Value) -> Counts {
    let count = |name: &str| tokens(answer, &format!("/usage/{name}"));
    let cached = count("cache_read_input_tokens");
    let written = count("cache_creation_input_tokens");
    Counts {
        input: count("input_tokens") + written + cached,
        cached,
        written,
        written_for_an_hour: count("cache_creation/ephemeral_1h_input_tokens").min(written),
        output: count("output_tokens"),
        web_searches: count("server_tool_use/web_search_requests"),
        service_tier: None,
    }
}

fn responses(answer: &Value) -> Counts {
    let count = |name: &str| tokens(answer, &format!("/usage/{name}"));
    let items = answer.get("output").and_then(Value::as_array);
    let searches = items.into_iter().flatten().filter(|item| is_search(item));
    Counts {
        input: count("input_tokens"),
        cached: count("input_tokens_details/cached_tokens"),
        written: count("input_tokens_details/cache_write_tokens"),
        written_for_an_hour: 0,
        output: count("output_tokens"),
        web_searches: searches.count() as u64,
        service_tier: service_tier(answer),
    }
}

/// A call of the web search tool that searches; to open a page that was found costs nothing.
fn is_search(item: &Value) -> bool {
    let action = item.pointer("/action/type").and_then(Value::as_str);
    item.get("type").and_then(Value::as_str) == Some("web_search_call")
        && action.is_none_or(|action| action == "search")
}

fn chat(answer: &Value) -> Counts {
    let count = |name: &str| tokens(answer, &format!("/usage/{name}"));
    Counts {
        input: count("prompt_tokens"),
        cached: count("prompt_tokens_details/cached_tokens"),
        written: count("prompt_tokens_details/cache_write_tokens"),
        written_for_an_hour: 0,
        output: count("completion_tokens"),
        web_searches: 0,
        service_tier: service_tier(answer),
    }
}

fn service_tier(answer: &Value) -> Option<ServiceTier> {
    ServiceTier::parse(answer.get("service_tier")?.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = "event: message_start\n\
        data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":300,\"output_tokens\":1}}}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"hi\"}}\n\n\
        event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":42}}\n\n\
        event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    const RESPONSES: &str = "event: response.created\r\n\
        data: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\r\n\r\n\
        data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":330,\"input_tokens_details\":{\"cached_tokens\":300,\"cache_write_tokens\":20},\"output_tokens\":42}}}\r\n\r\n";
    const CHAT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":330,\"completion_tokens\":42,\"prompt_tokens_details\":{\"cached_tokens\":300,\"cache_write_tokens\":20}}}\n\n\
        data: [DONE]\n\n";
    const USED: Counts = Counts {
        input: 330,
        cached: 300,
        written: 20,
        written_for_an_hour: 0,
        output: 42,
        web_searches: 0,
        service_tier: None,
    };

    #[test]
    fn a_stream_says_the_same_however_it_is_cut() {
        for (dialect, text) in [
            (Dialect::Messages, MESSAGES),
            (Dialect::Responses, RESPONSES),
            (Dialect::Chat, CHAT),
        ] {
            for size in [1, 7, 10_000] {
                let mut counter = Counter::new(dialect, true);
                text.as_bytes().chunks(size).for_each(|c| counter.push(c));
                assert_eq!(counter.end(), Some(USED), "{dialect:?} by {size}");
            }
        }
    }

    #[test]
    fn a_whole_answer_says_what_it_used() {
        for (dialect, text) in [
            (
                Dialect::Messages,
                r#"{"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":42}}"#,
            ),
            (
                Dialect::Responses,
                r#"{"usage":{"input_tokens":330,"input_tokens_details":{"cached_tokens":300,"cache_write_tokens":20},"output_tokens":42}}"#,
            ),
            (
                Dialect::Chat,
                r#"{"usage":{"prompt_tokens":330,"prompt_tokens_details":{"cached_tokens":300,"cache_write_tokens":20},"completion_tokens":42}}"#,
            ),
        ] {
            let mut counter = Counter::new(dialect, false);
            counter.push(text.as_bytes());
            assert_eq!(counter.end(), Some(USED), "{dialect:?}");
        }
    }

    #[test]
    fn a_stream_that_breaks_off_counts_as_far_as_it_was_received() {
        let mut counter = Counter::new(Dialect::Messages, true);
        counter.push(
            MESSAGES
                .split("event: message_delta")
                .next()
                .unwrap()
                .as_bytes(),
        );
        let usage = counter.end().unwrap();
        assert_eq!((usage.input, usage.output), (330, 1));
    }

    #[test]
    fn a_line_without_end_is_not_stored_and_what_follows_it_counts() {
        let mut counter = Counter::new(Dialect::Messages, true);
        let piece = vec![b'x'; 1_048_576];
        for _ in 0..20 {
            counter.push(&piece);
        }
        assert!(counter.held.len() <= MAX_COUNTED_BYTES);
        counter.push(b"\n");
        counter.push(MESSAGES.as_bytes());
        assert_eq!(counter.end(), Some(USED));
    }

    #[test]
    fn what_has_a_price_of_its_own_is_counted() {
        let end = |dialect, text: &str| {
            let mut counter = Counter::new(dialect, false);
            counter.push(text.as_bytes());
            counter.end().unwrap()
        };
        let claude = end(
            Dialect::Messages,
            r#"{"usage":{"input_tokens":1,"cache_creation_input_tokens":20,"output_tokens":1,
                "cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":15},
                "server_tool_use":{"web_search_requests":3}}}"#,
        );
        assert_eq!((claude.written, claude.written_for_an_hour), (20, 15));
        assert_eq!(claude.web_searches, 3);
        let gpt = end(
            Dialect::Responses,
            r#"{"service_tier":"priority","usage":{"input_tokens":1,"output_tokens":1},"output":[
                {"type":"web_search_call","action":{"type":"search"}},
                {"type":"web_search_call","action":{"type":"open_page"}},{"type":"message"}]}"#,
        );
        assert_eq!(gpt.web_searches, 1);
        assert_eq!(gpt.service_tier, Some(ServiceTier::Priority));
        let ordinary = r#"{"service_tier":"default","usage":{"prompt_tokens":1}}"#;
        assert_eq!(end(Dialect::Chat, ordinary).service_tier, None);
    }
}
