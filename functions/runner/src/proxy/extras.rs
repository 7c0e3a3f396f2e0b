//! A provider's charges beyond tokens. Hosted tools, service tiers and the like are allowed if the
//! response counts them and the price list has them, and refused otherwise: they would be charged
//! to the organization without a budget.

use awo_domain::agent::answer::Dialect;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Service tiers that may be asked for. The answer names the one that is billed.
const TIERS: [(Dialect, &[&str]); 3] = [
    (Dialect::Messages, &["auto", "standard_only"]),
    (Dialect::Responses, &["auto", "default", "flex"]),
    (Dialect::Chat, &["auto", "default", "flex"]),
];
/// Tools without a price of their own, because the agent executes them or because they cost tokens
/// alone; and searches of the web, which answers count. Of Anthropic's a date follows.
const TOOLS: [(Dialect, &[&str]); 3] = [
    (
        Dialect::Messages,
        &[
            "custom",
            "bash_",
            "computer_",
            "memory_",
            "text_editor_",
            "tool_search_tool_",
            "web_fetch_",
            "web_search_",
        ],
    ),
    (
        Dialect::Responses,
        &[
            "apply_patch",
            "custom",
            "function",
            "local_shell",
            "mcp",
            "namespace",
            "tool_search",
            "web_search",
            "web_search_preview",
        ],
    ),
    (Dialect::Chat, &["custom", "function"]),
];
/// Longest name that an error repeats, in characters.
const MAX_NAME: usize = 64;

/// Fields of a call that may cost something beside tokens. Absent and null mean the same.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Extras {
    #[serde(default)]
    service_tier: Option<String>,
    #[serde(default)]
    tools: Option<Vec<Tool>>,
    /// Anthropic's: `fast` costs a multiple.
    #[serde(default)]
    speed: Option<String>,
    /// Anthropic's: a region costs more than any.
    #[serde(default)]
    inference_geo: Option<String>,
    /// Chat completions': models that search by themselves.
    #[serde(default)]
    web_search_options: Option<Value>,
    /// Chat completions': `audio` has prices of its own.
    #[serde(default)]
    modalities: Option<Vec<String>>,
    /// Chat completions': what is predicted and not used is billed as output beyond the limit.
    #[serde(default)]
    prediction: Option<IgnoredAny>,
    /// Responses': a prompt that is stored at the provider may bring tools that are not visible here.
    #[serde(default)]
    prompt: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    #[serde(rename = "type", default)]
    kind: Option<String>,
}

impl Extras {
    /// Checks that all costs of the call are counted.
    ///
    /// # Errors
    /// A sentence for the agent that names the field.
    pub(super) fn check(&self, dialect: Dialect) -> Result<(), String> {
        let tiers = of(&TIERS, dialect);
        let tier = self.service_tier.as_deref();
        if let Some(tier) = tier.filter(|tier| !tiers.contains(tier)) {
            return Err(refusal("service_tier", tier));
        }
        for tool in self.tools.iter().flatten() {
            tool.check(dialect)?;
        }
        if let Some(speed) = self.speed.as_deref().filter(|speed| *speed != "standard") {
            return Err(refusal("speed", speed));
        }
        if let Some(geo) = self.inference_geo.as_deref().filter(|geo| *geo != "global") {
            return Err(refusal("inference_geo", geo));
        }
        if self.web_search_options.is_some() {
            return Err(
                "web_search_options are not passed on: nothing counts what they cost".into(),
            );
        }
        let mut modalities = self.modalities.iter().flatten();
        if let Some(other) = modalities.find(|modality| *modality != "text") {
            return Err(refusal("modalities", other));
        }
        if self.prediction.is_some() {
            return Err("prediction is not passed on: nothing bounds what it costs".into());
        }
        if self.prompt.is_some() {
            return Err("a stored prompt is not passed on: send input instead of prompt".into());
        }
        Ok(())
    }
}

impl Tool {
    fn check(&self, dialect: Dialect) -> Result<(), String> {
        let Some(kind) = self.kind.as_deref() else {
            return Ok(());
        };
        let known = |name: &&str| match name.strip_suffix('_') {
            Some(_) => kind.starts_with(name),
            None => kind == *name || is_dated(kind, name),
        };
        if of(&TOOLS, dialect).iter().any(known) {
            Ok(())
        } else {
            Err(refusal("a tool of type", kind))
        }
    }
}

/// True for a name with a date at its end, as `web_search_2025_08_26`.
fn is_dated(kind: &str, name: &str) -> bool {
    let date = kind
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('_'));
    date.is_some_and(|date| date.bytes().all(|b| b.is_ascii_digit() || b == b'_'))
}

fn of(
    table: &[(Dialect, &'static [&'static str]); 3],
    dialect: Dialect,
) -> &'static [&'static str] {
    let found = table.iter().find(|(of, _)| *of == dialect);
    found.map_or(&[], |(_, names)| names)
}

fn refusal(field: &str, value: &str) -> String {
    let value: String = value.chars().take(MAX_NAME).collect();
    format!("{field} {value:?} is not passed on: nothing counts what it costs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, body: &str) -> Result<(), String> {
        serde_json::from_str::<Extras>(body).unwrap().check(dialect)
    }

    #[test]
    fn what_is_billed_and_not_counted_is_refused() {
        use Dialect::{Chat, Messages, Responses};
        for (dialect, body, word) in [
            (
                Messages,
                r#"{"tools":[{"type":"code_execution_20250825"}]}"#,
                "code_execution",
            ),
            (Messages, r#"{"service_tier":"priority"}"#, "service_tier"),
            (Messages, r#"{"speed":"fast"}"#, "speed"),
            (Messages, r#"{"inference_geo":"us"}"#, "inference_geo"),
            (
                Responses,
                r#"{"tools":[{"type":"function"},{"type":"code_interpreter"}]}"#,
                "code_interpreter",
            ),
            (
                Responses,
                r#"{"tools":[{"type":"image_generation"}]}"#,
                "image_generation",
            ),
            (
                Responses,
                r#"{"tools":[{"type":"file_search"}]}"#,
                "file_search",
            ),
            (Responses, r#"{"service_tier":"priority"}"#, "priority"),
            (Responses, r#"{"prompt":{"id":"pmpt_1"}}"#, "prompt"),
            (Chat, r#"{"web_search_options":{}}"#, "web_search_options"),
            (Chat, r#"{"modalities":["text","audio"]}"#, "audio"),
            (
                Chat,
                r#"{"prediction":{"type":"content","content":"x"}}"#,
                "prediction",
            ),
            (Chat, r#"{"tools":[{"type":"web_search"}]}"#, "web_search"),
        ] {
            let why = check(dialect, body).unwrap_err();
            assert!(why.contains(word), "{body}: {why}");
        }
    }

    #[test]
    fn what_agents_execute_themselves_and_what_answers_count_is_passed_on() {
        use Dialect::{Chat, Messages, Responses};
        for (dialect, body) in [
            (
                Messages,
                r#"{"tools":[{"name":"Edit"},{"type":"custom"},{"type":"bash_20250124"}]}"#,
            ),
            (
                Messages,
                r#"{"tools":[{"type":"web_search_20250305"}],"service_tier":"auto"}"#,
            ),
            (
                Messages,
                r#"{"speed":null,"inference_geo":null,"tools":null}"#,
            ),
            (
                Responses,
                r#"{"tools":[{"type":"function"},{"type":"custom"},{"type":"local_shell"}]}"#,
            ),
            (
                Responses,
                r#"{"tools":[{"type":"web_search"},{"type":"web_search_preview_2025_03_11"}]}"#,
            ),
            (Responses, r#"{"service_tier":"flex","prompt":null}"#),
            (
                Chat,
                r#"{"tools":[{"type":"function"}],"modalities":["text"]}"#,
            ),
        ] {
            assert_eq!(check(dialect, body), Ok(()), "{body}");
        }
    }
}
