//! Two iterations of each program: the first fails its verification, the second gets the feedback.

use serde_json::{Value, json};

use crate::models::{FAILURE, Manners};
use crate::scene::{
    self, CANARY, CLAUDE_CODE, CODEX, OPENCODE, OPENCODE_OF_OPENAI, Program, Scene,
};

/// What an agent finds of the organization's keys: in the environment and the command lines of all
/// processes that it may look at, and in its files. (The pattern does not find itself.) The pause
/// shows whether its output comes while it works.
const LOOK: &str = "sleep 2; { env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; \
    grep -rh organization ~ . ..; } 2>/dev/null | grep -ac 'organizations-[o]wn' > keys.txt";

/// US dollars that two calls to each of two iterations cost, by the public prices.
fn usd(program: Program) -> f64 {
    match program.provider {
        // 100 fresh at 3, 200 written at 3.75, 300 read at 0.3, 20 out at 15 a million.
        "anthropic" => 4.0 * 0.00144,
        // 300 fresh at 1.25, 300 read at 0.125, 20 out at 10 a million.
        _ => 4.0 * 0.000_612_5,
    }
}

async fn learns(program: Program) {
    let scene = Scene::start(Manners::Good, LOOK).await;
    learns_in(&scene, program, json!({})).await;
}

async fn learns_in(scene: &Scene, program: Program, more: Value) {
    let repository = scene::repository(&[]);
    let order = scene.submit(&repository, program, more).await;
    let run = scene.ended(&order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(run["iteration"], 2, "{run:#}");
    let branch = run["branch"].as_str().unwrap();
    assert_eq!(repository.show(branch, "answer.txt"), "right");
    assert_eq!(repository.show(branch, "keys.txt"), "0");
    counted(&run, program);
    speaks_in_one_session(scene, program);
    tells_what_it_does(scene, &run, program).await;
}

fn counted(run: &Value, program: Program) {
    let usage = &run["usage"];
    let model = program.model.rsplit('/').next().unwrap();
    assert_eq!(usage["byModel"].as_object().unwrap().len(), 1, "{usage:#}");
    let used = &usage["byModel"][model];
    assert_eq!(used["inputTokens"], 2_400, "{usage:#}");
    assert_eq!(used["cachedInputTokens"], 1_200, "{usage:#}");
    assert_eq!(used["outputTokens"], 80, "{usage:#}");
    let cost = used["costUsd"].as_f64().unwrap();
    assert!((cost - usd(program)).abs() < 1e-9, "{usage:#}");
}

fn speaks_in_one_session(scene: &Scene, program: Program) {
    let calls = scene.models.calls();
    assert_eq!(calls.len(), 4, "two to an iteration, and none beside");
    for call in calls.iter() {
        let key = format!("{CANARY}-{}", program.provider);
        assert_eq!(call.key.trim_start_matches("Bearer "), key);
    }
    let reported: Vec<String> = calls.iter().map(|call| call.body.to_string()).collect();
    assert!(!reported[0].contains(FAILURE) && reported[2].contains(FAILURE));
    let before = "echo wrong > answer.txt";
    assert!(
        reported[2].contains(before),
        "the session goes on: {}",
        reported[2]
    );
}

async fn tells_what_it_does(scene: &Scene, run: &Value, program: Program) {
    let finished = scene.events(run, "agent.finished").await;
    let summaries: Vec<&Value> = finished.iter().map(|e| &e["data"]["summary"]).collect();
    assert_eq!(summaries, ["Done.", "Done."]);
    // opencode reports a call when it is over, and may end before the report.
    if program.agent != "opencode" {
        let live = scene.events(run, "agent.output").await;
        let texts = live.iter().filter_map(|e| e["data"]["text"].as_str());
        let text: String = texts.collect();
        for answer in ["wrong", "right"] {
            let call = format!("echo {answer} > answer.txt");
            assert!(text.contains(&call), "{text}");
        }
        assert!(
            text.contains("Done.") && !text.contains("\"type\""),
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claude_code_learns_from_feedback_and_is_counted() {
    learns(CLAUDE_CODE).await;
}

/// The pattern does not find itself, nor the words of this test.
const LOOK_FOR_SESSIONS: &str = "{ env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; } \
    2>/dev/null | tr '\\0' '\\n' | grep -acE 'ASI[A][0-9A-F]{16}|^AW[S]_' > keys.txt";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claude_code_is_answered_by_bedrock_without_a_key_and_is_counted() {
    let (scene, bedrock) = Scene::start_with_bedrock(LOOK_FOR_SESSIONS).await;
    let repository = scene::repository(&[]);
    let order = scene.submit(&repository, CLAUDE_CODE, json!({})).await;
    let run = scene.ended(&order).await;
    assert_eq!(
        run["status"],
        "succeeded",
        "{run:#} {:?}",
        bedrock.refused()
    );
    assert_eq!(run["iteration"], 2, "{run:#}");
    assert_eq!(bedrock.refused(), Vec::<String>::new());
    let branch = run["branch"].as_str().unwrap();
    assert_eq!(repository.show(branch, "answer.txt"), "right");
    assert_eq!(repository.show(branch, "keys.txt"), "0");
    let used = &run["usage"]["byModel"][scene::PROFILE];
    assert_eq!(used["inputTokens"], 2_400, "{run:#}");
    assert_eq!(used["cachedInputTokens"], 1_200, "{run:#}");
    assert_eq!(used["outputTokens"], 80, "{run:#}");
    // A tenth more than at Anthropic: the profile is a region's.
    let cost = used["costUsd"].as_f64().unwrap();
    assert!((cost - 1.1 * usd(CLAUDE_CODE)).abs() < 1e-9, "{run:#}");
    let calls = bedrock.calls();
    assert_eq!(calls.len(), 4, "two to an iteration, and none beside");
    for call in calls.iter() {
        assert_eq!((&*call.model, call.streams), (scene::PROFILE, true));
    }
    let before = "echo wrong > answer.txt";
    let third = calls[2].body.to_string();
    assert!(third.contains(FAILURE) && third.contains(before), "{third}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_learns_from_feedback_and_is_counted() {
    learns(CODEX).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opencode_learns_from_feedback_and_is_counted_with_either_provider() {
    learns(OPENCODE).await;
    learns(OPENCODE_OF_OPENAI).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_program_works_where_it_reaches_its_models_and_no_host() {
    for program in [CLAUDE_CODE, CODEX, OPENCODE] {
        let scene = Scene::start(Manners::Good, LOOK).await;
        let narrow = json!({ "name": "narrow", "egress": ["localhost"] });
        let made = scene.local.client.post("/v1/environments", &narrow).await;
        assert_eq!(made.status, 201, "{}", made.text);
        learns_in(&scene, program, json!({ "environment": "narrow" })).await;
    }
}

/// A turn that fails, and a follow-up in another workspace, with another home.
async fn remembers(program: Program) {
    let scene = Scene::start(Manners::Good, "true").await;
    let repository = scene::repository(&[]);
    let once = json!({ "maxIterations": 1 });
    let order = scene.submit(&repository, program, once).await;
    let red = scene.ended(&order).await;
    assert_eq!(red["status"], "failed", "{red:#}");

    let path = format!(
        "/v1/work-orders/{}/follow-ups",
        order["id"].as_str().unwrap()
    );
    let follow_up = json!({ "taskPrompt": "Try once more.", "maxIterations": 1 });
    let made = scene.local.client.post(&path, &follow_up).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let run = scene.ended(&made.body).await;
    assert_eq!(run["status"], "succeeded", "{} {run:#}", program.agent);
    let ready = scene.events(&run, "followup.ready").await;
    assert_eq!(ready[0]["data"]["context"], "session", "{ready:#?}");
    let calls = scene.models.calls();
    assert_eq!(calls.len(), 4, "two to a turn, and none beside");
    let third = calls[2].body.to_string();
    for part in ["echo wrong > answer.txt", FAILURE, "Try once more."] {
        assert!(third.contains(part), "{}: {part}: {third}", program.agent);
    }
    assert!(!third.contains("had this task"), "{third}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_program_goes_on_in_its_session_in_the_next_turn() {
    for program in [CLAUDE_CODE, CODEX, OPENCODE] {
        remembers(program).await;
    }
}
