//! Budgets that are exhausted while an agent, a hook or a verifier is running.

use std::time::Instant;

use awo_domain::control::Outcome;
use awo_domain::run::RunErrorCode as Code;
use serde_json::json;

use crate::model_double::{Manners, ModelDouble};
use crate::models::equip;
use crate::scene::{EndedRunner, Scene, alive, git};

const FILES: &[(&str, &str)] = &[("README.md", "x\n")];
/// Asks a model for as long as it lives, whatever the answers are.
const STUBBORN: &str = r#"date > x; trap '' INT; while :; do curl -sS -o answer "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" -d '{"model":"m"}'; sleep 0.05; done"#;

/// Runs until it is stopped, which must not take all of the time that there is.
fn stopped(scene: &Scene) -> EndedRunner {
    let began = Instant::now();
    let ended = scene.run();
    assert!(
        began.elapsed().as_millis() < u128::from(scene.spec.max_duration_ms),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
    assert_eq!(ended.finish.as_ref().unwrap().iterations, 1);
    ended
}

/// The commit of a run that ended because its budget was used up, and its message.
fn over_budget(ended: &EndedRunner) -> (&str, &str) {
    let message = ended.failed(Code::BudgetExceeded);
    match ended.outcome() {
        Outcome::Failed { commit, .. } => (commit.as_deref().unwrap_or_default(), message),
        other => panic!("{other:?}"),
    }
}

fn paid_by_tokens(scene: &mut Scene) {
    scene.spec.tariff.own_prices =
        json!({"m": {"inputUsdPerMillion": 100, "outputUsdPerMillion": 0}});
    scene.spec.tariff.credits_per_minute = 0.0;
    scene.spec.max_credits = 25.0;
}

#[test]
fn an_agent_that_goes_on_after_its_calls_are_refused_is_stopped() {
    let models = ModelDouble::start(Manners::Good);
    let mut by_credits = Scene::new(FILES, STUBBORN);
    paid_by_tokens(&mut by_credits);
    let mut by_tokens = Scene::new(FILES, STUBBORN);
    by_tokens.spec.profile.execution_limits.max_total_tokens = Some(3_000);
    for (mut scene, word, used) in [
        // A third call would have as much input as the second.
        (by_credits, "it may cost 25", 2_000),
        (by_tokens, "maxTotalTokens is 3000", 3_000),
    ] {
        equip(&mut scene, &models);
        let ended = stopped(&scene);
        let (commit, message) = over_budget(&ended);
        assert!(message.contains("budget"), "{message}");
        assert!(
            ended.agent_reason().contains(word),
            "{}",
            ended.agent_reason()
        );
        let stored = ended.run_dir.join("repo.git");
        let files = git(&stored, &["ls-tree", "--name-only", commit]);
        assert!(files.contains('x'), "what was done is kept: {files}");
        assert_eq!(ended.input_tokens(), used, "the usage is reported");
    }
}

#[test]
fn an_agent_without_models_is_stopped_when_its_compute_has_eaten_the_credits() {
    // It is asked first, so that it can report its usage.
    let agent = r#"date > x; trap 'echo "{\"usage\":[{\"model\":\"m\",\"inputTokens\":7,\"outputTokens\":0}]}" > "$AWO_RESULT"; exit 0' TERM; while :; do sleep 0.01; done"#;
    let mut scene = Scene::new(FILES, agent);
    scene.spec.tariff.credits_per_minute = 60.0;
    scene.spec.max_credits = 6.0;
    let ended = stopped(&scene);
    let (commit, message) = over_budget(&ended);
    assert!(message.contains("its compute included"), "{message}");
    assert!(!commit.is_empty(), "what was done is stored");
    assert_eq!(ended.input_tokens(), 7);
}

#[test]
fn compute_of_hooks_and_verifiers_ends_a_run_as_well() {
    let plan = "tests: [{name: unit, run: 'sleep 300'}]\n";
    let mut verified = Scene::new(&[("verify.yaml", plan)], "date > x");
    let mut hooked = Scene::new(FILES, "date > x");
    hooked.spec.hooks.post_create = vec!["sleep 300".to_owned()];
    for scene in [&mut verified, &mut hooked] {
        scene.spec.tariff.credits_per_minute = 60.0;
        scene.spec.max_credits = 3.0;
        let ended = scene.run();
        ended.failed(Code::BudgetExceeded);
        assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
    }
}

#[test]
fn an_agent_that_tells_its_usage_as_it_goes_is_held_to_it() {
    let agent = r#"i=0; while :; do i=$((i+1)); printf '{"usage":[{"model":"m","inputTokens":%d,"outputTokens":0}]}' ${i}000 > r; mv r "$AWO_RESULT"; sleep 0.1; done"#;
    let mut scene = Scene::new(FILES, agent);
    scene.spec.profile.execution_limits.max_total_tokens = Some(5_000);
    let ended = stopped(&scene);
    over_budget(&ended);
    let used = ended.input_tokens();
    assert!((5_000..60_000).contains(&used), "{used}");
}

#[test]
fn the_time_of_an_iteration_ends_the_agent_and_not_the_run() {
    let agent = "date > x; [ $AWO_ITERATION = 2 ] || sleep 4321";
    let mut scene = Scene::new(FILES, agent);
    scene.spec.profile.execution_limits.max_iteration_ms = 1_000;
    let ended = scene.run();
    ended.succeeded();
    assert_eq!(ended.finish.unwrap().iterations, 2);
}
