//! Outputs by their shapes; `recorded` has the output of real programs.

use awo_domain::usage::MAX_TOKENS;

use super::*;

const CLAUDE: &str = r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"8f1c4b5e-0d3c-4f0e-9a61-0d4f5b1f2c11","tools":["Bash","Edit"],"model":"claude-sonnet-4-5","permissionMode":"bypassPermissions"}
{"type":"assistant","message":{"model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":3,"output_tokens":9}},"session_id":"8f1c4b5e-0d3c-4f0e-9a61-0d4f5b1f2c11"}
{"type":"result","subtype":"SUBTYPE","is_error":IS_ERROR,"duration_ms":2100,"num_turns":2,"result":"Fixed the test.","session_id":"8f1c4b5e-0d3c-4f0e-9a61-0d4f5b1f2c11","total_cost_usd":0.02,"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":40},"modelUsage":{"claude-haiku-4-5":{"inputTokens":900}},"model_usage_since_last_result":{"claude-haiku-4-5":{"inputTokens":5,"outputTokens":1,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":0.001},"claude-sonnet-4-5":{"inputTokens":10,"outputTokens":40,"cacheReadInputTokens":3000,"cacheCreationInputTokens":200,"costUSD":0.019}},"permission_denials":DENIALS,"terminal_reason":"completed"}
"#;

fn claude(subtype: &str, is_error: &str, denials: &str) -> AgentOutput {
    let output = CLAUDE
        .replace("SUBTYPE", subtype)
        .replace("IS_ERROR", is_error)
        .replace("DENIALS", denials);
    of(AgentType::ClaudeCode, &output)
}

const CODEX: &str = r#"{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"ls","aggregated_output":"a\n","exit_code":0,"status":"STATUS"}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Fixed the test."}}
{"type":"turn.completed","usage":{"input_tokens":24763,"cached_input_tokens":24448,"output_tokens":122,"reasoning_output_tokens":64}}
"#;

const OPENCODE: &str = r#"{"type":"step_start","timestamp":1,"sessionID":"ses_6a1b","part":{"type":"step-start"}}
{"type":"tool_use","timestamp":2,"sessionID":"ses_6a1b","part":{"type":"tool","tool":"bash","state":{"status":"error","error":"ERROR"}}}
{"type":"step_finish","timestamp":3,"sessionID":"ses_6a1b","part":{"reason":"tool-calls","cost":0.01,"tokens":{"input":100,"output":20,"reasoning":0,"cache":{"read":500,"write":50}}}}
{"type":"text","timestamp":4,"sessionID":"ses_6a1b","part":{"type":"text","text":"Fixed the test."}}
{"type":"step_finish","timestamp":5,"sessionID":"ses_6a1b","part":{"reason":"stop","cost":0.01,"tokens":{"input":10,"output":2,"reasoning":0,"cache":{"read":0,"write":0}}}}
"#;

fn of(kind: AgentType, output: &str) -> AgentOutput {
    parse(kind, b"", output.as_bytes(), "m", false).unwrap()
}

/// (model, input, output, cached)
fn counts(reported: &AgentOutput) -> Vec<(&str, u64, u64, u64)> {
    let all = reported.usage.iter();
    all.map(|u| {
        let model = u.model.as_str();
        (
            model,
            u.input_tokens,
            u.output_tokens,
            u.cached_input_tokens,
        )
    })
    .collect()
}

#[test]
fn a_result_of_claude_code_gives_summary_session_and_input_with_the_cache() {
    let reported = claude("success", "false", "[]");
    assert_eq!(reported.failure, None);
    assert_eq!(reported.summary.as_deref(), Some("Fixed the test."));
    let session = reported.session_id.as_deref();
    assert_eq!(session, Some("8f1c4b5e-0d3c-4f0e-9a61-0d4f5b1f2c11"));
    let expected = [
        ("claude-haiku-4-5", 5, 1, 0),
        ("claude-sonnet-4-5", 3_210, 40, 3_000),
    ];
    assert_eq!(counts(&reported), expected);
}

#[test]
fn claude_code_fails_by_a_denied_tool_an_error_and_its_budget_whatever_its_exit_code() {
    let denials = r#"[{"tool_name":"Bash"},{"tool_name":"Bash"}]"#;
    let why = claude("success", "false", denials).failure.unwrap();
    assert!(why.contains("Bash") && why.contains("2 times"), "{why}");
    let unauthorized = claude("success", "true", "[]").failure.unwrap();
    assert!(unauthorized.contains("Fixed the test."), "{unauthorized}");
    let over = claude("error_max_budget_usd", "true", "[]");
    assert!(over.over_budget && over.failure.is_some());
    let turns = claude("error_max_turns", "false", "[]").failure.unwrap();
    assert!(turns.contains("error_max_turns"), "{turns}");
    assert!(of(AgentType::ClaudeCode, "").failure.is_some());
}

#[test]
fn codex_counts_cached_input_in_and_names_its_thread_at_the_beginning() {
    let output = CODEX.replace("STATUS", "completed");
    let (head, tail) = output.split_once("{\"type\":\"turn.started\"}").unwrap();
    let reported = parse(
        AgentType::Codex,
        head.as_bytes(),
        tail.as_bytes(),
        "gpt-5",
        false,
    )
    .unwrap();
    assert_eq!(reported.failure, None);
    assert_eq!(counts(&reported), [("gpt-5", 24_763, 122, 24_448)]);
    let session = reported.session_id.as_deref();
    assert_eq!(session, Some("0199a213-81c0-7800-8aa1-bbab2a035a53"));
    assert_eq!(reported.summary.as_deref(), Some("Fixed the test."));
}

#[test]
fn codex_fails_by_a_failed_turn_none_at_all_and_a_declined_command() {
    let failed = r#"{"type":"error","message":"Reconnecting... 1/5"}
{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}"#;
    let why = of(AgentType::Codex, failed).failure.unwrap();
    assert!(why.contains("401"), "{why}");
    let cut = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
    let why = of(AgentType::Codex, cut).failure.unwrap();
    assert!(why.contains("Reconnecting"), "{why}");
    let declined = of(AgentType::Codex, &CODEX.replace("STATUS", "declined"));
    assert!(declined.failure.unwrap().contains("command_execution"));
    let reported = of(AgentType::Codex, &CODEX.replace("STATUS", "failed"));
    assert_eq!(
        reported.failure, None,
        "a command that fails is for the model"
    );
}

#[test]
fn opencode_sums_its_steps_with_the_cache() {
    let reported = of(AgentType::Opencode, &OPENCODE.replace("ERROR", "exit 1"));
    assert_eq!(reported.failure, None);
    assert_eq!(counts(&reported), [("m", 660, 22, 500)]);
    assert_eq!(reported.session_id.as_deref(), Some("ses_6a1b"));
    assert_eq!(reported.summary.as_deref(), Some("Fixed the test."));
}

#[test]
fn opencode_fails_by_an_error_no_step_and_a_denied_tool() {
    let error = r#"{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"invalid x-api-key"}}}"#;
    let why = of(AgentType::Opencode, error).failure.unwrap();
    assert!(why.contains("invalid x-api-key"), "{why}");
    assert!(of(AgentType::Opencode, "hello\n").failure.is_some());
    let denial = "The user rejected permission to use this specific tool call.";
    let denied = of(AgentType::Opencode, &OPENCODE.replace("ERROR", denial));
    assert!(denied.failure.unwrap().contains("bash"));
}

#[test]
fn hostile_output_is_bounded_and_never_taken_for_more_than_it_is() {
    let flood = "{\"type\":".repeat(50_000);
    let deep = "[".repeat(100_000);
    let long = "x".repeat(3 * MAX_LINE_BYTES);
    for noise in ["\0\u{fffd}", "null", "[]", "{}", &flood, &deep, &long] {
        for kind in AgentType::ALL
            .into_iter()
            .filter(|of| driver(*of).is_some())
        {
            let reported = of(kind, noise);
            assert!(
                reported.failure.is_some() && reported.usage.is_empty(),
                "{kind:?}"
            );
        }
    }
    let record = |session: &str, tokens: &str, text: &str| {
        format!(
            r#"{{"type":"thread.started","thread_id":"{session}"}}
{{"type":"item.completed","item":{{"type":"agent_message","text":"{text}"}}}}
{{"type":"turn.completed","usage":{{"input_tokens":{tokens},"cached_input_tokens":{tokens},"output_tokens":-1}}}}"#
        )
    };
    let long = "ü".repeat(MAX_RESULT_TEXT);
    let reported = of(
        AgentType::Codex,
        &record("--model=x", "18446744073709551615", &long),
    );
    assert_eq!(reported.session_id, None, "it would be an option");
    assert!(reported.summary.unwrap().len() <= MAX_RESULT_TEXT);
    assert_eq!(reported.usage[0].input_tokens, MAX_TOKENS);
    assert_eq!(reported.usage[0].output_tokens, 0);
    let spaced = of(AgentType::Codex, &record("a b", "1", "x"));
    assert_eq!(spaced.session_id, None);
}

#[test]
fn agents_that_are_no_drivers_tell_by_their_result_file_alone() {
    assert_eq!(
        parse(AgentType::Command, b"", CODEX.as_bytes(), "m", false),
        None
    );
}
