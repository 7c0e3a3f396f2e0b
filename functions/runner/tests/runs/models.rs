//! Agents that call models: through the runner's proxy, with the organization's key, within the
//! budget.

mod drivers;

use std::fs;

use awo_domain::control::{BaseUrl, ModelEndpoint, ModelKey, Provider};
use awo_domain::run::RunErrorCode as Code;
use serde_json::json;

use crate::model_double::{Manners, ModelDouble, USED};
use crate::scene::{CANARY, EndedRunner, READABLE, Scene};

const FILES: &[(&str, &str)] = &[("README.md", "x\n")];
/// Calls a model; the answer and its status are in the workspace then.
const CALL: &str = r#"call() { curl -sS -o answer -w '%{http_code}' "$ANTHROPIC_BASE_URL/v1/$1" -H "x-api-key: $ANTHROPIC_API_KEY" -H 'content-type: application/json' -H 'anthropic-version: 2023-06-01' -d "$2" > status; }
ask() { curl -sS -o answer -w '%{http_code}' "$OPENAI_BASE_URL/$1" -H "authorization: Bearer $OPENAI_API_KEY" -H 'content-type: application/json' -d "$2" > status; }
"#;

fn scene(agent: &str, models: &ModelDouble) -> Scene {
    let mut scene = Scene::new(FILES, &format!("{CALL}{agent}")).once();
    equip(&mut scene, models);
    scene
}

pub fn equip(scene: &mut Scene, models: &ModelDouble) {
    scene.spec.model_keys = Provider::KEYED.map(key).into();
    scene.spec.model_endpoints = Provider::KEYED
        .map(|provider| ModelEndpoint {
            provider,
            base_url: BaseUrl::parse(&models.url).unwrap(),
        })
        .into();
}

fn key(provider: Provider) -> ModelKey {
    ModelKey {
        provider,
        key: format!("{CANARY}-{}", provider.as_str()),
    }
}

/// (model, input, cached, output) of the whole run.
fn used(ended: &EndedRunner) -> Vec<(&str, u64, u64, u64)> {
    let usage = ended.finish.as_ref().unwrap().usage.iter();
    usage
        .map(|priced| {
            let u = &priced.usage;
            let model = u.model.as_str();
            (
                model,
                u.input_tokens,
                u.cached_input_tokens,
                u.output_tokens,
            )
        })
        .collect()
}

fn left_behind(ended: &EndedRunner, file: &str) -> String {
    fs::read_to_string(ended.run_dir.join("workspace").join(file)).unwrap()
}

#[test]
fn whatever_way_a_model_is_called_the_organizations_key_goes_out_and_what_was_used_is_counted() {
    let models = ModelDouble::start(Manners::Good);
    for stream in [false, true] {
        let body = |model: &str| json!({"model": model, "stream": stream}).to_string();
        let (a, b, c) = (body("a"), body("b"), body("c"));
        let agent = format!(
            "call messages '{a}' && grep -q hello answer || exit 1; \
             ask responses '{b}'; ask chat/completions '{c}'; env > env; \
             echo '{{\"usage\":[{{\"model\":\"reported\",\"inputTokens\":9,\"outputTokens\":9}}]}}' > \"$AWO_RESULT\""
        );
        let scene = scene(&agent, &models);
        let ended = scene.run();
        ended.succeeded();
        let (input, cached, output) = USED;
        let each = ["a", "b", "c"].map(|model| (model, input, cached, output));
        assert_eq!(used(&ended), each, "the agent's report is not added");
        assert!(!left_behind(&ended, "env").contains(CANARY));
        let calls = std::mem::take(&mut models.seen().calls);
        assert_eq!(calls.len(), 3);
        for call in calls {
            let (name, key) = match call.path {
                "/v1/messages" => ("x-api-key", format!("{CANARY}-anthropic")),
                _ => ("authorization", format!("Bearer {CANARY}-openai")),
            };
            let theirs = ["x-api-key", "authorization"];
            let keys = theirs.iter().filter_map(|name| call.headers.get(*name));
            assert_eq!(keys.count(), 1, "the run's own key stays here");
            assert_eq!(call.headers[name], key);
            let reported = call.body["stream_options"]["include_usage"] == true;
            assert_eq!(reported, stream && call.path == "/v1/chat/completions");
        }
    }
}

#[test]
fn what_an_agent_asked_for_counts_also_if_it_hangs_up() {
    for stream in [false, true] {
        let mut scene = Scene::new(FILES, "").once();
        let signals = tempfile::tempdir_in(READABLE).unwrap();
        let come = signals.path().join("come");
        let gone = scene.run_dir().join("workspace/gone");
        let models = ModelDouble::start(Manners::Waits(come.clone(), gone));
        equip(&mut scene, &models);
        let body = json!({"model": "m", "stream": stream});
        let agent = format!(
            "curl -sS \"$ANTHROPIC_BASE_URL/v1/messages\" -H \"x-api-key: $ANTHROPIC_API_KEY\" \
             -d '{body}' & until [ -e {} ]; do sleep 0.01; done; \
             kill $!; wait; touch gone",
            come.display()
        );
        scene.spec.agent.command = Some(["sh", "-c", &agent].map(str::to_owned).into());
        let ended = scene.run();
        assert_eq!(used(&ended), [("m", USED.0, USED.1, USED.2)]);
    }
}

#[test]
fn an_answer_comes_as_it_is_made() {
    let mut scene = Scene::new(FILES, "").once();
    let come = scene.dir.path().join("come");
    let go_on = scene.run_dir().join("workspace/seen");
    let models = ModelDouble::start(Manners::Waits(come, go_on));
    equip(&mut scene, &models);
    let agent = r#"curl -sSN "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" -d '{"model":"m","stream":true}' > answer &
        until grep -q message_start answer; do sleep 0.01; done; touch seen; wait; grep -q message_stop answer"#;
    scene.spec.agent.command = Some(["sh", "-c", agent].map(str::to_owned).into());
    scene.run().succeeded();
}

#[test]
fn without_the_runs_key_or_after_the_agent_nobody_speaks_to_models() {
    let models = ModelDouble::start(Manners::Good);
    let agent = r#"ANTHROPIC_API_KEY=guess call messages '{"model":"m"}'; grep -q 401 status || exit 1
        env > env; call files '{}'; grep -q 404 status"#;
    let mut scene = scene(agent, &models);
    let plan = format!(
        "tests: [{{run: '. ./env 2>/dev/null; {}'}}]\n",
        "curl -sS -o /dev/null -w %{http_code} $ANTHROPIC_BASE_URL/v1/messages \
         -H \"x-api-key: $ANTHROPIC_API_KEY\" -d {} | grep -q 403"
    );
    crate::scene::commit_files(&scene.origin(), &[("verify.yaml", &plan)]);
    scene.spec.asked_iterations = Some(1);
    scene.run().succeeded();
    assert!(models.seen().calls.is_empty());
}

#[test]
fn a_provider_that_refuses_the_key_or_sends_elsewhere_shows_nothing_of_it() {
    for (manners, status) in [(Manners::RefusesKeys, "401"), (Manners::Redirects, "502")] {
        let models = ModelDouble::start(manners);
        let scene = scene("call messages '{\"model\":\"m\"}'", &models);
        let ended = scene.run();
        ended.succeeded();
        assert_eq!(left_behind(&ended, "status"), status);
        let answer = left_behind(&ended, "answer");
        assert!(
            !answer.contains(CANARY) && answer.contains("anthropic"),
            "{answer}"
        );
        assert_eq!(used(&ended), []);
    }
}

/// Twelve calls at once, of an expensive model with long answers.
const FLOOD: &str = r#"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do curl -sS -o /dev/null -w '%{http_code} ' "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" -d '{"model":"claude-opus-4-1","max_tokens":64000}' >> codes & done; wait; exit 1"#;

#[test]
fn a_refused_key_ends_the_run_after_its_attempt_and_not_before() {
    let models = ModelDouble::start(Manners::RefusesKeys);
    let agent = "call messages '{\"model\":\"m\"}'; date > x; exit 1";
    let mut scene = scene(agent, &models);
    scene.spec.asked_iterations = Some(5);
    let ended = scene.run();
    let message = ended.failed(Code::ProviderRefused);
    assert!(
        message.contains("anthropic answered 401") && message.contains("--name anthropic"),
        "{message}"
    );
    assert!(!message.contains(CANARY), "{message}");
    assert_eq!(models.seen().calls.len(), 1);
    assert!(
        ended.finish.as_ref().unwrap().executed,
        "its compute is paid"
    );
}

#[test]
fn many_calls_at_once_cost_no_more_than_the_run_may() {
    let models = ModelDouble::start(Manners::AnswersInFull);
    for (max_credits, answered) in [(1.0, 0), (100.0, 1)] {
        let mut scene = scene(FLOOD, &models);
        scene.spec.tariff.credits_per_minute = 0.0;
        scene.spec.max_credits = max_credits;
        let ended = scene.run();
        let nano: i64 = ended
            .finish
            .as_ref()
            .unwrap()
            .usage
            .iter()
            .filter_map(|used| used.cost_usd_nano)
            .sum();
        #[expect(clippy::cast_precision_loss, reason = "a few dollars")]
        let credits = nano as f64 / 1e7;
        // The double reports more input than the few bytes of these requests can be.
        assert!(credits <= max_credits * 1.05, "{credits} of {max_credits}");
        let codes = left_behind(&ended, "codes");
        assert_eq!(codes.matches("200").count(), answered, "{codes}");
        let refused = codes.matches("402").count();
        assert_eq!(
            refused + answered,
            codes.split_whitespace().count(),
            "{codes}"
        );
        assert!(refused > 0, "{codes}");
    }
    // The limit of what was answered was lowered to what the credits cover.
    let calls = models.seen().calls.clone();
    let limits: Vec<u64> = calls
        .iter()
        .filter_map(|call| call.body["max_tokens"].as_u64())
        .collect();
    assert!(matches!(limits[..], [1_024..64_000]), "{limits:?}");
}

#[test]
fn a_call_that_the_budget_does_not_cover_is_refused_and_ends_the_run() {
    let models = ModelDouble::start(Manners::Good);
    let agent = r#"i=0; while [ $i -lt 5 ]; do i=$((i+1)); call messages '{"model":"m"}'; grep -q 200 status || exit 1; done"#;
    let mut by_credits = scene(agent, &models);
    by_credits.spec.tariff.own_prices =
        json!({"m": {"inputUsdPerMillion": 100, "outputUsdPerMillion": 0}});
    by_credits.spec.tariff.credits_per_minute = 0.0;
    by_credits.spec.max_credits = 25.0;
    let mut by_tokens = scene(agent, &models);
    by_tokens.spec.profile.execution_limits.max_total_tokens = Some(3_000);
    for (mut scene, word, calls) in [(by_credits, "25", 2), (by_tokens, "maxTotalTokens", 3)] {
        scene.spec.asked_iterations = Some(9);
        let ended = scene.run();
        let message = ended.failed(Code::BudgetExceeded);
        assert!(message.contains(word), "{message}");
        assert_eq!(left_behind(&ended, "status"), "402");
        let counted = ("m", 1_000 * calls, 600 * calls, 50 * calls);
        assert_eq!(used(&ended), [counted]);
        assert_eq!(ended.finish.as_ref().unwrap().iterations, 1);
    }
}
