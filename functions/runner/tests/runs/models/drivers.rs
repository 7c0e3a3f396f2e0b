//! Drivers, with programs that write and call models as the real ones do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use awo_domain::agent::AgentType;
use awo_domain::control::{Provider, RunnerEvent as E};
use awo_domain::profile::StrategyType;
use awo_domain::run::RunErrorCode as Code;

use super::{key, left_behind, scene, used};
use crate::model_double::{Manners, ModelDouble, USED};
use crate::scene::Scene;

/// A program of that name, before all others in the PATH.
fn install(scene: &mut Scene, name: &str, script: &str) {
    let bin = scene.dir.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join(name);
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    scene.programs = Some(bin);
}

/// Writes a call and then the records of a whole attempt, as Claude Code does.
const CLAUDE: &str = r#"echo "$@" >> args
prompt=$(cat)
curl -sS "$ANTHROPIC_BASE_URL/v1/messages?beta=true" -H "x-api-key: $ANTHROPIC_API_KEY" -d '{"model":"claude-sonnet-4-5","stream":true}' > /dev/null || exit 1
echo '{"type":"system","subtype":"init","session_id":"s-'$AWO_ITERATION'"}'
case "$prompt" in *"denied a tool"*) denials='[]';; *) denials='[{"tool_name":"Bash"}]';; esac
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s-'$AWO_ITERATION'","modelUsage":{"claude-sonnet-4-5":{"inputTokens":1,"outputTokens":1}},"permission_denials":'$denials'}'"#;

#[test]
fn a_driver_is_judged_by_its_records_counted_at_the_proxy_and_resumed() {
    let models = ModelDouble::start(Manners::Good);
    let mut scene = scene("", &models);
    scene.spec.asked_iterations = Some(2);
    scene.spec.agent.kind = AgentType::ClaudeCode;
    scene.spec.agent.command = None;
    scene.spec.agent.model = Some("claude-sonnet-4-5".to_owned());
    install(&mut scene, "claude", CLAUDE);
    let ended = scene.run();
    ended.succeeded();
    assert!(ended.agent_reason().contains("denied a tool"));
    let (input, cached, output) = USED;
    let sum = ("claude-sonnet-4-5", 2 * input, 2 * cached, 2 * output);
    assert_eq!(used(&ended), [sum]);
    let args = left_behind(&ended, "args");
    let lines: Vec<&str> = args.lines().collect();
    assert!(
        lines[0].starts_with("-p --output-format stream-json"),
        "{args}"
    );
    assert!(lines[0].contains("--max-budget-usd 9.") && !lines[0].contains("--resume"));
    assert!(lines[1].ends_with("--resume s-1"), "{args}");
    let summary = ended.events.iter().any(|event| {
        matches!(event, E::AgentFinished { summary: Some(summary), .. } if summary == "Done.")
    });
    assert!(summary);
}

#[test]
fn a_driver_without_its_key_says_so_before_anything_is_cloned() {
    let models = ModelDouble::start(Manners::Good);
    let mut scene = scene("", &models);
    scene.spec.agent.kind = AgentType::Codex;
    scene.spec.model_keys = vec![key(Provider::Anthropic)];
    install(&mut scene, "codex", "exit 1");
    let ended = scene.run();
    let message = ended.failed(Code::AgentNotConfigured);
    assert!(message.contains("set-secret --name openai"), "{message}");
    assert_eq!(ended.events, []);
}

/// Speaks to the base URL of its command line, as Codex does, and says what came of it.
const CODEX: &str = r#"cat > /dev/null
for arg; do case "$arg" in model_providers.awo.base_url=*) base=$(echo "$arg" | cut -d'"' -f2);; esac; done
echo '{"type":"thread.started","thread_id":"t-1"}'
status=$(curl -sS -o answer -w '%{http_code}' "$base/responses" -H "authorization: Bearer $OPENAI_API_KEY" -d '{"model":"gpt-5","stream":true}')
[ "$status" != 200 ] || exec sleep 4321
printf '{"type":"turn.failed","error":{"message":"%s %s"}}\n' "$status" "$(tr -d '"{}' < answer)"
exit 1"#;

fn codex(models: &ModelDouble) -> Scene {
    let mut scene = scene("", models);
    scene.spec.agent.kind = AgentType::Codex;
    scene.spec.agent.command = None;
    scene.spec.agent.model = Some("gpt-5".to_owned());
    install(&mut scene, "codex", CODEX);
    scene
}

#[test]
fn a_driver_whose_key_is_refused_fails_with_that_reason() {
    let models = ModelDouble::start(Manners::RefusesKeys);
    let ended = codex(&models).run();
    let message = ended.failed(Code::ProviderRefused);
    let why = "openai answered 401: it did not accept the organization's key";
    assert!(message.contains(why), "{message}");
    assert!(ended.agent_reason().contains("401"));
}

#[test]
fn a_driver_that_hangs_is_out_of_time_and_what_it_used_counts() {
    let models = ModelDouble::start(Manners::Good);
    let mut scene = codex(&models);
    scene.spec.profile.execution_limits.max_iteration_ms = 4_000;
    let ended = scene.run();
    ended.failed(Code::Timeout);
    assert_eq!(used(&ended), [("gpt-5", USED.0, USED.1, USED.2)]);
    let run = scene.spec.run_id.as_str();
    assert_eq!(crate::scene::alive(run), Vec::<String>::new());
}

#[test]
fn a_driver_that_has_used_up_its_own_budget_ends_the_run() {
    let models = ModelDouble::start(Manners::Good);
    let mut scene = scene("", &models);
    scene.spec.asked_iterations = Some(5);
    scene.spec.agent.kind = AgentType::ClaudeCode;
    scene.spec.agent.command = None;
    let over = r#"echo '{"type":"result","subtype":"error_max_budget_usd","is_error":true,"session_id":"s"}'; exit 1"#;
    install(&mut scene, "claude", over);
    let ended = scene.run();
    let message = ended.failed(Code::BudgetExceeded);
    assert!(message.contains("limits.maxCredits"), "{message}");
    assert_eq!(ended.finish.as_ref().unwrap().iterations, 1);
}

#[test]
fn a_driver_says_that_it_is_done_in_words_and_not_in_records() {
    let models = ModelDouble::start(Manners::Good);
    let mut scene = scene("", &models);
    scene.spec.asked_iterations = Some(3);
    let strategy = &mut scene.spec.profile.loop_strategy;
    strategy.kind = StrategyType::Ralph;
    strategy.min_iterations = 3;
    strategy.completion_signals = vec!["ALL DONE".to_owned()];
    scene.spec.agent.kind = AgentType::Codex;
    scene.spec.agent.command = None;
    let done = r#"cat > /dev/null; echo '{"type":"thread.started","thread_id":"t-1"}'
        printf '%s\n' '{"type":"item.completed","item":{"type":"agent_message","text":"It works.\nALL DONE"}}'
        echo '{"type":"turn.completed","usage":{}}'"#;
    install(&mut scene, "codex", done);
    let ended = scene.run();
    ended.succeeded();
    assert_eq!(ended.finish.as_ref().unwrap().iterations, 1);
}
