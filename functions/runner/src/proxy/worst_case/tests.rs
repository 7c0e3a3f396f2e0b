use super::*;

fn case(dialect: Dialect, body: &str) -> WorstCase {
    let bounds = Bounds::read(body.as_bytes()).unwrap();
    bounds.worst_case(dialect, ("gpt-4o", "gpt-4o"), body.as_bytes(), false)
}

fn lowered(dialect: Dialect, body: &str, output: u64) -> String {
    let bounds = Bounds::read(body.as_bytes()).unwrap();
    let lowered = bounds.lowered(dialect, body.as_bytes(), output).unwrap();
    String::from_utf8(lowered).unwrap()
}

#[test]
fn the_most_output_is_the_limit_or_the_models_for_each_choice() {
    use Dialect::{Chat, Messages, Responses};
    for (dialect, body, output) in [
        (Messages, r#"{"max_tokens":9}"#, 9),
        (
            Messages,
            r#"{"max_tokens":64000,"max_output_tokens":1}"#,
            64_000,
        ),
        (Responses, r#"{"max_output_tokens":2000}"#, 2_000),
        (Responses, r#"{"max_output_tokens":null}"#, 16_384),
        (Chat, r#"{"max_completion_tokens":7,"max_tokens":8}"#, 8),
        (Chat, r#"{"max_tokens":8,"n":5}"#, 40),
        (Chat, r#"{"n":2}"#, 32_768),
    ] {
        assert_eq!(case(dialect, body).output, output, "{body}");
    }
    let thinks = case(
        Messages,
        r#"{"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":5000}}"#,
    );
    assert_eq!(thinks.least_output, 6_024);
    assert_eq!(most_output_of("claude-opus-4-1-20250805"), 32_000);
    assert_eq!(most_output_of("a-model-of-tomorrow"), 128_000);
}

#[test]
fn a_lowered_body_is_the_same_word_for_word_but_for_its_limit() {
    use Dialect::{Chat, Messages, Responses};
    for (dialect, body, changed) in [
        (
            Messages,
            r#"{"z":1.10,"max_tokens":64000,"a":"\u00e9"}"#,
            r#"{"z":1.10,"max_tokens":2000,"a":"\u00e9"}"#,
        ),
        (
            Responses,
            r#"{"a":1}"#,
            r#"{"max_output_tokens":2000,"a":1}"#,
        ),
        (
            Chat,
            r#"{"n":2}"#,
            r#"{"max_completion_tokens":1000,"n":2}"#,
        ),
        (Chat, r#"{"max_tokens":9}"#, r#"{"max_tokens":2000}"#),
        (
            Chat,
            r#"{"max_tokens":9,"max_completion_tokens":8}"#,
            r#"{"max_tokens":2000,"max_completion_tokens":2000}"#,
        ),
    ] {
        assert_eq!(lowered(dialect, body, 2_000), changed);
    }
}

#[test]
fn writes_to_the_cache_are_found_wherever_they_stand() {
    for (body, writes) in [
        (
            r#"{"messages":[{"content":"cache_control 1h"}]}"#,
            CacheWrites::No,
        ),
        (
            r#"{"cache_control":{"type":"ephemeral"}}"#,
            CacheWrites::Minutes,
        ),
        (
            r#"{"messages":[{"content":[{"cache\u005fcontrol":{"type":"ephemeral","ttl":"1h"}}]}],"tools":[{"cache_control":null}]}"#,
            CacheWrites::Hour,
        ),
    ] {
        assert_eq!(case(Dialect::Messages, body).cache_writes, writes, "{body}");
    }
}

#[test]
fn a_tool_that_the_provider_runs_without_end_bounds_nothing() {
    for (body, is_bounded) in [
        (r#"{"tools":[{"type":"web_search_20250305"}]}"#, false),
        (
            r#"{"tools":[{"type":"web_search_20250305","max_uses":3}]}"#,
            true,
        ),
        (r#"{"tools":[{"type":"web_fetch_20250910"}]}"#, false),
        (r#"{"mcp_servers":[]}"#, false),
        (
            r#"{"tools":[{"name":"Edit"},{"type":"bash_20250124"}]}"#,
            true,
        ),
    ] {
        let bounds = Bounds::read(body.as_bytes()).unwrap();
        assert_eq!(bounds.unbounded().is_none(), is_bounded, "{body}");
    }
    let searches = r#"{"tools":[{"type":"web_search_20250305","max_uses":3}]}"#;
    assert_eq!(case(Dialect::Messages, searches).searches, 3);
    let searches = r#"{"tools":[{"type":"web_search"}]}"#;
    assert_eq!(case(Dialect::Responses, searches).searches, SEARCHES);
}
