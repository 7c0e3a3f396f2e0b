//! Bounds of the cost of a call, as its request has them: the limit of its output, its choices, searches, and
//! writes to the cache.

use std::fmt;

use awo_domain::agent::answer::Dialect;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::members::Members;
use crate::meter::{CacheWrites, WorstCase};

/// The limit of output is never lowered below it, nor below it beyond what the model may think.
const LEAST_OUTPUT: u64 = 1_024;
/// Searches of a call that names no limit.
const SEARCHES: u64 = 10;
/// Most output tokens of models, by a part of their names; the first that fits counts.
const MAX_OUTPUT: [(&str, u64); 12] = [
    ("claude-3-haiku", 4_096),
    ("claude-3-5", 8_192),
    ("opus-4-1", 32_000),
    ("opus-4-0", 32_000),
    ("opus-4-2025", 32_000),
    ("gpt-5-chat", 16_384),
    ("gpt-4o", 16_384),
    ("gpt-4.1", 32_768),
    ("gpt-4-turbo", 4_096),
    ("gpt-4", 8_192),
    ("gpt-3.5", 4_096),
    ("o1-mini", 65_536),
];
/// The same of any other.
const MAX_OUTPUT_OF_OTHERS: u64 = 128_000;
/// Tools that the provider runs, with each answer of theirs as new input. Of Anthropic's a date follows.
const SEARCH: &str = "web_search";
const FETCH: &str = "web_fetch";
const MAX_TOKENS: &str = "max_tokens";
const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

/// The bounds of a call. A field that stands twice is a fault.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Bounds {
    #[serde(default)]
    max_tokens: Option<u64>,
    #[serde(default)]
    max_completion_tokens: Option<u64>,
    #[serde(default)]
    max_output_tokens: Option<u64>,
    /// Chat completions': answers to one request.
    #[serde(default)]
    n: Option<u64>,
    #[serde(default)]
    thinking: Option<Thinking>,
    #[serde(default)]
    tools: Option<Vec<ServerTool>>,
    #[serde(default)]
    max_tool_calls: Option<u64>,
    #[serde(default)]
    mcp_servers: Option<IgnoredAny>,
    #[serde(default)]
    previous_response_id: Option<IgnoredAny>,
    #[serde(default)]
    conversation: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Thinking {
    #[serde(default)]
    budget_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct ServerTool {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    max_uses: Option<u64>,
}

impl ServerTool {
    fn is(&self, name: &str) -> bool {
        let kind = self.kind.as_deref();
        kind.is_some_and(|kind| kind.starts_with(name))
    }
}

impl Bounds {
    /// Reads a body.
    ///
    /// # Errors
    /// If it is not valid.
    pub(super) fn read(body: &[u8]) -> serde_json::Result<Bounds> {
        serde_json::from_slice(body)
    }

    /// Why nothing bounds what the call costs, if nothing does: a field.
    pub(super) fn unbounded(&self) -> Option<&'static str> {
        if self.mcp_servers.is_some() {
            return Some("mcp_servers");
        }
        let mut tools = self.tools.iter().flatten();
        let endless = |tool: &&ServerTool| tool.max_uses.is_none();
        let of_server = tools.find(|tool| (tool.is(SEARCH) || tool.is(FETCH)) && endless(tool));
        of_server.map(|_| "a search or fetch of the web without max_uses")
    }

    /// The worst case of a call with this body.
    pub(super) fn worst_case(
        &self,
        dialect: Dialect,
        (model, priced_as): (&str, &str),
        body: &[u8],
        is_operators: bool,
    ) -> WorstCase {
        let choices = self.choices(dialect);
        let each = self.limit(dialect).unwrap_or_else(|| most_output_of(model));
        let thinking = self.thinking.as_ref();
        let thinking = thinking.and_then(|thinking| thinking.budget_tokens);
        let least = LEAST_OUTPUT.saturating_add(thinking.unwrap_or(0));
        let cache_writes = match dialect {
            Dialect::Messages => cache_writes(body),
            Dialect::Responses | Dialect::Chat => CacheWrites::No,
        };
        WorstCase {
            model: priced_as.to_owned(),
            bytes: body.len(),
            output: each.saturating_mul(choices),
            least_output: least.saturating_mul(choices),
            cache_writes,
            searches: self.searches(dialect),
            goes_on: self.previous_response_id.is_some() || self.conversation.is_some(),
            is_operators,
        }
    }

    /// The body of a call that may have so many output tokens and asked for more.
    ///
    /// # Errors
    /// If it is not valid.
    pub(super) fn lowered(
        &self,
        dialect: Dialect,
        body: &[u8],
        output: u64,
    ) -> serde_json::Result<Vec<u8>> {
        let each = output / self.choices(dialect);
        let name = match dialect {
            Dialect::Messages => MAX_TOKENS,
            Dialect::Responses => "max_output_tokens",
            Dialect::Chat if self.max_tokens.is_some() => {
                if self.max_completion_tokens.is_some() {
                    let body = with(body, MAX_COMPLETION_TOKENS, each)?;
                    return with(&body, MAX_TOKENS, each);
                }
                MAX_TOKENS
            }
            Dialect::Chat => MAX_COMPLETION_TOKENS,
        };
        with(body, name, each)
    }

    fn limit(&self, dialect: Dialect) -> Option<u64> {
        match dialect {
            Dialect::Messages => self.max_tokens,
            Dialect::Responses => self.max_output_tokens,
            // Which one counts where both are there is the provider's matter.
            Dialect::Chat => self.max_completion_tokens.max(self.max_tokens),
        }
    }

    fn choices(&self, dialect: Dialect) -> u64 {
        match dialect {
            Dialect::Chat => self.n.unwrap_or(1).max(1),
            Dialect::Messages | Dialect::Responses => 1,
        }
    }

    fn searches(&self, dialect: Dialect) -> u64 {
        let tools = self.tools.iter().flatten();
        let searches = tools.filter(|tool| tool.is(SEARCH)).map(|tool| {
            let named = match dialect {
                Dialect::Messages => tool.max_uses,
                Dialect::Responses | Dialect::Chat => self.max_tool_calls,
            };
            named.unwrap_or(SEARCHES)
        });
        searches.fold(0, u64::saturating_add)
    }
}

fn with(body: &[u8], name: &str, value: u64) -> serde_json::Result<Vec<u8>> {
    let members: Members<'_> = serde_json::from_slice(body)?;
    Ok(members.with(name, value))
}

fn most_output_of(model: &str) -> u64 {
    let mut table = MAX_OUTPUT.iter();
    table
        .find(|(part, _)| model.contains(part))
        .map_or(MAX_OUTPUT_OF_OTHERS, |(_, most)| *most)
}

/// Cache writes that a body asks for: `cache_control` may stand at many places of a call of Messages.
fn cache_writes(body: &[u8]) -> CacheWrites {
    let mut writes = CacheWrites::No;
    let mut json = serde_json::Deserializer::from_slice(body);
    // The body was read before: it is valid.
    let _ = Search {
        writes: &mut writes,
        is_control: false,
    }
    .deserialize(&mut json);
    writes
}

/// Looks for `cache_control` in a value and all below it.
struct Search<'a> {
    writes: &'a mut CacheWrites,
    /// True for what stands in a `cache_control`.
    is_control: bool,
}

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let is_control = key == "cache_control";
            if is_control {
                *self.writes = CacheWrites::Minutes.max(*self.writes);
            }
            map.next_value_seed(Search {
                writes: self.writes,
                is_control: is_control || self.is_control,
            })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq
            .next_element_seed(Search {
                writes: self.writes,
                is_control: self.is_control,
            })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        if self.is_control && text == "1h" {
            *self.writes = CacheWrites::Hour;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
