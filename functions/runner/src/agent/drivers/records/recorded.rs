//! Recorded output of the real programs (`make test-agents` runs them), without the parts that no
//! reader uses: Claude Code 2.1.329, Codex 0.169.0 and opencode 1.18.33, against a fake model
//! server whose every response used 600 input tokens, 300 of them from the cache and, of
//! Anthropic's, 200 written to it, and 20 output tokens.

use super::*;

const CLAUDE_FIRST: &str = include_str!("recorded/claude_code_first.jsonl");
const CLAUDE_RESUMED: &str = include_str!("recorded/claude_code_resumed.jsonl");
const CLAUDE_DENIED: &str = include_str!("recorded/claude_code_denied.jsonl");
const CLAUDE_OVER_BUDGET: &str = include_str!("recorded/claude_code_over_budget.jsonl");
const CLAUDE_UNAUTHORIZED: &str = include_str!("recorded/claude_code_unauthorized.jsonl");
const CODEX_FIRST: &str = include_str!("recorded/codex_first.jsonl");
const CODEX_RESUMED: &str = include_str!("recorded/codex_resumed.jsonl");
const CODEX_UNAUTHORIZED: &str = include_str!("recorded/codex_unauthorized.jsonl");
const OPENCODE_ANTHROPIC: &str = include_str!("recorded/opencode_anthropic.jsonl");
const OPENCODE_OPENAI: &str = include_str!("recorded/opencode_openai.jsonl");
const OPENCODE_UNAUTHORIZED: &str = include_str!("recorded/opencode_unauthorized.jsonl");

fn of(kind: AgentType, output: &str, resumed: bool) -> AgentOutput {
    parse(kind, b"", output.as_bytes(), "m", resumed).unwrap()
}

/// (input, from the cache, to the cache, output) of the one model.
fn counts(reported: &AgentOutput) -> (u64, u64, u64, u64) {
    let [used] = reported.usage.as_slice() else {
        panic!("{reported:?}");
    };
    let cache = (used.cached_input_tokens, used.cache_write_tokens);
    (used.input_tokens, cache.0, cache.1, used.output_tokens)
}

#[test]
fn two_calls_of_each_program_are_counted_as_two_also_in_a_resumed_session() {
    let anthropic = (1_200, 600, 400, 40);
    let openai = (1_200, 600, 0, 40);
    for (kind, output, resumed, expected) in [
        (AgentType::ClaudeCode, CLAUDE_FIRST, false, anthropic),
        (AgentType::ClaudeCode, CLAUDE_RESUMED, true, anthropic),
        (AgentType::Codex, CODEX_FIRST, false, openai),
        (AgentType::Opencode, OPENCODE_ANTHROPIC, false, anthropic),
        (AgentType::Opencode, OPENCODE_OPENAI, true, openai),
    ] {
        let reported = of(kind, output, resumed);
        assert_eq!(reported.failure, None, "{kind:?}");
        assert_eq!(reported.summary.as_deref(), Some("Done."), "{kind:?}");
        assert!(reported.session_id.is_some(), "{kind:?}");
        assert_eq!(counts(&reported), expected, "{kind:?}, resumed: {resumed}");
    }
    let resumed = of(AgentType::Codex, CODEX_RESUMED, true);
    assert_eq!((resumed.failure, resumed.usage), (None, Vec::new()));
}

#[test]
fn a_refused_key_a_denied_tool_and_a_spent_budget_fail_the_attempt() {
    let denied = "denied a tool 1 times: Bash";
    for (kind, output, why) in [
        (AgentType::ClaudeCode, CLAUDE_UNAUTHORIZED, "401 bad key"),
        (AgentType::ClaudeCode, CLAUDE_DENIED, denied),
        (AgentType::ClaudeCode, CLAUDE_OVER_BUDGET, "up its budget"),
        (AgentType::Codex, CODEX_UNAUTHORIZED, "401 Unauthorized"),
        (AgentType::Opencode, OPENCODE_UNAUTHORIZED, "bad key"),
    ] {
        let reported = of(kind, output, false);
        let failure = reported.failure.unwrap();
        assert!(failure.contains(why), "{kind:?}: {failure}");
        assert_eq!(
            reported.over_budget,
            output == CLAUDE_OVER_BUDGET,
            "{kind:?}"
        );
    }
}

#[test]
fn viewers_get_words_and_tools_and_no_records() {
    let all = |kind, output: &str| {
        let lines = output.lines();
        let reply = lines.filter_map(|line| viewer_text(kind, line.as_bytes()));
        reply.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        all(AgentType::ClaudeCode, CLAUDE_FIRST),
        "[Bash] echo wrong > answer.txt\nDone."
    );
    let denied = all(AgentType::ClaudeCode, CLAUDE_DENIED);
    assert!(
        denied.contains("[failed] Permission to use Bash"),
        "{denied}"
    );
    let codex = all(AgentType::Codex, CODEX_RESUMED);
    let call = "[command_execution] /usr/bin/bash -lc 'echo right > answer.txt'\nDone.";
    assert!(codex.ends_with(call), "{codex}");
    assert_eq!(
        all(AgentType::Opencode, OPENCODE_OPENAI),
        "[bash] echo right > answer.txt\nDone."
    );
    assert!(all(AgentType::Opencode, OPENCODE_UNAUTHORIZED).starts_with("[failed] bad key"));
    for kind in [AgentType::Command, AgentType::Codex] {
        assert_eq!(
            viewer_text(kind, b"warning: \xff").unwrap(),
            "warning: \u{fffd}"
        );
    }
    assert_eq!(
        viewer_text(AgentType::Command, b"{}").as_deref(),
        Some("{}")
    );
}
