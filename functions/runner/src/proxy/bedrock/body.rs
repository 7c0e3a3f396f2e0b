//! The body of a call of Messages as Bedrock takes it: word for word, but that its model and its
//! way of answering are part of the path, and that headers are members.

use crate::proxy::members::Members;

/// The version of Messages that Bedrock speaks.
const VERSION: &str = "bedrock-2023-05-31";
/// Members that stand in the path or are set here.
const TAKEN_OUT: [&str; 3] = ["model", "stream", "anthropic_version"];
/// Member with the beta features that a call uses.
const BETAS: &str = "anthropic_beta";
/// Beta features that Bedrock knows: it refuses calls with any other. Not `context-1m-2025-08-07`,
/// since the price list has no price for such calls.
const KNOWN_BETAS: [&str; 10] = [
    "computer-use-2024-10-22",
    "computer-use-2025-01-24",
    "context-management-2025-06-27",
    "dev-full-thinking-2025-05-14",
    "effort-2025-11-24",
    "interleaved-thinking-2025-05-14",
    "output-128k-2025-02-19",
    "token-efficient-tools-2025-02-19",
    "tool-examples-2025-10-29",
    "tool-search-tool-2025-10-19",
];

/// The body for Bedrock; `betas` is the value of the header `anthropic-beta`.
///
/// # Errors
/// A sentence for the agent.
pub(in crate::proxy) fn translated(body: &[u8], betas: &str) -> Result<Vec<u8>, String> {
    let invalid = |why| format!("the body is not valid: {why}");
    let Members(members) = serde_json::from_slice(body).map_err(invalid)?;
    if members.iter().any(|(name, _)| name == BETAS) {
        return Err(format!(
            "{BETAS} is not a member of Messages: use the header anthropic-beta"
        ));
    }
    let betas = betas.split(',').map(str::trim);
    let betas: Vec<&str> = betas.filter(|beta| KNOWN_BETAS.contains(beta)).collect();
    let mut out = format!(r#"{{"anthropic_version":"{VERSION}""#);
    if !betas.is_empty() {
        let betas = serde_json::to_string(&betas).map_err(invalid)?;
        out.push_str(&format!(r#","{BETAS}":{betas}"#));
    }
    let rest = members.into_iter();
    for (name, value) in rest.filter(|(name, _)| !TAKEN_OUT.contains(&name.as_str())) {
        let name = serde_json::to_string(&name).map_err(invalid)?;
        out.push_str(&format!(",{name}:{}", value.get()));
    }
    out.push('}');
    Ok(out.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str, betas: &str) -> String {
        String::from_utf8(translated(text.as_bytes(), betas).unwrap()).unwrap()
    }

    #[test]
    fn a_body_goes_on_word_for_word_without_what_the_path_says() {
        let asked = r#" {"z":1.10, "model":"m","tools":[{"b":1,"a":12345678901234567890123}],
            "stream":true,"max_tokens":5,"anthropic_version":"2023-06-01","q\"":"\u00e9"}"#;
        let wanted = r#"{"anthropic_version":"bedrock-2023-05-31","z":1.10,"tools":[{"b":1,"a":12345678901234567890123}],"max_tokens":5,"q\"":"\u00e9"}"#;
        assert_eq!(body(asked, ""), wanted);
        assert_eq!(
            body(r#"{"model":"m"}"#, ""),
            r#"{"anthropic_version":"bedrock-2023-05-31"}"#
        );
    }

    #[test]
    fn beta_features_that_bedrock_knows_become_a_member() {
        let betas = "claude-code-20250219, interleaved-thinking-2025-05-14,effort-2025-11-24,context-1m-2025-08-07";
        let translated = body(r#"{"model":"m","x":1}"#, betas);
        assert_eq!(
            translated,
            r#"{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["interleaved-thinking-2025-05-14","effort-2025-11-24"],"x":1}"#
        );
    }

    #[test]
    fn what_is_no_object_or_says_its_betas_itself_is_refused() {
        for (bad, word) in [
            (r#"["m"]"#, "not valid"),
            (r#"{"model":"m"} {}"#, "not valid"),
            (r#"{"model":"m","anthropic_beta":["x"]}"#, "header"),
        ] {
            let why = translated(bad.as_bytes(), "").unwrap_err();
            assert!(why.contains(word), "{bad}: {why}");
        }
    }
}
