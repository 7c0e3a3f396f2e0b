//! Agents that speak Messages and are answered by Bedrock: signed calls, streams, outages, and
//! credentials that expire.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use awo_domain::Timestamp;
use awo_domain::control::bedrock::{BedrockAccess, InferenceProfiles, SessionCredentials};
use awo_domain::control::{BaseUrl, RunnerEvent as E, StopRequest};
use awo_domain::run::RunErrorCode as Code;
use awo_origins::bedrock::{Bedrock, Call, KnownCredential, REGION, Reply};
use serde_json::{Value, json};

use crate::control_double::Fault;
use crate::scene::{CANARY, EndedRunner, Scene};

const FILES: &[(&str, &str)] = &[("README.md", "x\n")];
const PROFILE: &str = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
const ARN: &str = "arn:aws:bedrock:eu-west-1:111122223333:application-inference-profile/abc123";
/// Calls a model; answer and status are in the workspace then. An answer that is not whole fails.
const CALL: &str = r#"call() { curl -sS -N -o answer -w '%{http_code}' "$ANTHROPIC_BASE_URL/v1/$1" -H "x-api-key: $ANTHROPIC_API_KEY" -H 'content-type: application/json' -H 'anthropic-version: 2023-06-01' -H 'anthropic-beta: claude-code-20250219,interleaved-thinking-2025-05-14' -d "$2" > status; }
ask() { call messages "$1" && grep -q hello answer && grep -q 'end_turn' answer; }
"#;

/// The number of credentials that a control double issues, from 1.
pub fn credentials(number: usize, seconds: i64) -> SessionCredentials {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_millis()).unwrap();
    SessionCredentials {
        access_key_id: format!("ASIA{CANARY}{number}"),
        secret_access_key: format!("{CANARY}-secret-{number}"),
        session_token: format!("{CANARY}-token-{number}"),
        expires_at: Timestamp::from_epoch_ms(now + seconds * 1_000),
    }
}

/// A Bedrock that knows all of them; those before `good` have expired there.
fn bedrock(good: usize, reply: impl Fn(usize, &Call) -> Reply + Send + Sync + 'static) -> Bedrock {
    let known = move |id: &str, token: &str| {
        let number: usize = token.rsplit('-').next()?.parse().ok()?;
        let issued = credentials(number, 3_600);
        let is_known = issued.access_key_id == id && issued.session_token == token;
        let known = KnownCredential {
            secret: issued.secret_access_key,
            expires_at: if number < good { 0 } else { i64::MAX },
        };
        is_known.then_some(known)
    };
    Bedrock::start(known, reply)
}

fn scene(agent: &str, bedrock: &Bedrock) -> Scene {
    let mut scene = Scene::new(FILES, &format!("{CALL}{agent}")).once();
    let profiles = format!("claude-sonnet-4-5={PROFILE},claude-haiku-4-5={ARN}");
    scene.spec.bedrock = Some(BedrockAccess {
        region: REGION.to_owned(),
        base_url: BaseUrl::parse(&bedrock.url).unwrap(),
        inference_profiles: InferenceProfiles::parse(&profiles).unwrap(),
    });
    scene
}

fn body(model: &str, streams: bool) -> String {
    let messages = json!([{"role": "user", "content": "hi"}]);
    json!({"model": model, "max_tokens": 9, "messages": messages, "stream": streams}).to_string()
}

/// An answer: 1 000 input tokens with the cache, 600 of them from it, 50 output tokens.
fn events() -> Vec<Value> {
    let usage = json!({"input_tokens": 300, "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 600, "output_tokens": 1});
    let start = json!({"type": "message", "role": "assistant", "content": [], "usage": usage});
    vec![
        json!({"type": "message_start", "message": start}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": "hello"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 50}}),
        json!({"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 300}}),
    ]
}

fn answers(_: usize, _: &Call) -> Reply {
    Reply::Message(events())
}

/// (model, input, cached, written, output) of the whole run.
fn used(ended: &EndedRunner) -> Vec<(String, [u64; 4])> {
    let usage = ended.finish.as_ref().unwrap().usage.iter();
    usage
        .map(|priced| {
            let u = priced.usage.clone();
            let counts = [
                u.input_tokens,
                u.cached_input_tokens,
                u.cache_write_tokens,
                u.output_tokens,
            ];
            (u.model, counts)
        })
        .collect()
}

fn left_behind(ended: &EndedRunner, file: &str) -> String {
    fs::read_to_string(ended.run_dir.join("workspace").join(file)).unwrap()
}

fn waits(ended: &[E]) -> Vec<&str> {
    fn reason(event: &E) -> Option<&str> {
        match event {
            E::ProviderWaiting { reason, .. } => Some(reason),
            _ => None,
        }
    }
    ended.iter().filter_map(reason).collect()
}

#[test]
fn calls_of_messages_are_signed_and_translated_and_counted_to_the_token() {
    let bedrock = bedrock(1, answers);
    let (whole, stream) = (
        body("claude-sonnet-4-5", false),
        body("claude-haiku-4-5-20251001", true),
    );
    let agent = format!(
        "ask '{whole}' || exit 1; ask '{stream}' || exit 1; env > env; mv answer stream; \
         ask '{whole}' || exit 1; cat /proc/$PPID/environ > environ 2>/dev/null; true"
    );
    let scene = scene(&agent, &bedrock);
    let ended = scene.run();
    ended.succeeded();
    assert_eq!(bedrock.refused(), Vec::<String>::new());
    let each = [1_000, 600, 100, 50];
    let twice = each.map(|count| 2 * count);
    let wanted = [
        ("claude-haiku-4-5-20251001".to_owned(), each),
        (PROFILE.to_owned(), twice),
    ];
    let mut counted = used(&ended);
    counted.sort();
    assert_eq!(counted, wanted);
    let costs = &ended.finish.as_ref().unwrap().usage;
    assert!(
        costs.iter().all(|priced| priced.cost_usd_nano.is_some()),
        "{costs:?}"
    );
    let stream = left_behind(&ended, "stream");
    let last = stream
        .split("\n\n")
        .filter(|event| !event.is_empty())
        .last()
        .unwrap();
    assert!(last.starts_with("event: message_stop\ndata: {"), "{stream}");
    for file in ["env", "environ"] {
        let text = fs::read(ended.run_dir.join("workspace").join(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(!text.contains(CANARY), "{file}");
    }
    let calls = bedrock.calls();
    let models: Vec<(&str, bool)> = calls.iter().map(|c| (&*c.model, c.streams)).collect();
    assert_eq!(models, [(PROFILE, false), (ARN, true), (PROFILE, false)]);
    for call in calls.iter() {
        let betas = json!(["interleaved-thinking-2025-05-14"]);
        assert_eq!(call.body["anthropic_beta"], betas);
        assert_eq!(
            call.token,
            credentials(1, 0).session_token,
            "one session is enough"
        );
        assert!(!call.headers.contains_key("x-api-key"));
    }
}

#[test]
fn failures_that_are_nobodys_fault_are_waited_for_and_others_are_not() {
    let ways = [
        Reply::Fails(429, "ThrottlingException:http://internal.amazon.com/", "0"),
        Reply::Fails(503, "ServiceUnavailableException", "0"),
        Reply::Fails(500, "InternalServerException", "0"),
        Reply::Fails(424, "ModelErrorException", "0"),
        Reply::Fails(408, "ModelTimeoutException", "0"),
    ];
    let names = [
        "Throttling",
        "ServiceUnavailable",
        "InternalServer",
        "ModelError",
        "ModelTimeout",
    ];
    let reply = move |number: usize, call: &Call| match ways.get(number - 1) {
        Some(way) => way.clone(),
        None => answers(number, call),
    };
    let double = bedrock(1, reply);
    let asked = format!("ask '{}'", body("claude-sonnet-4-5", true));
    let ended = scene(&asked, &double).run();
    ended.succeeded();
    assert_eq!(ended.finish.as_ref().unwrap().iterations, 1);
    let reasons = waits(&ended.events);
    assert_eq!(reasons.len(), names.len(), "{reasons:?}");
    for (reason, name) in reasons.iter().zip(names) {
        assert!(
            reason.starts_with("bedrock answered") && reason.contains(name),
            "{reason}"
        );
    }
    assert_eq!(used(&ended).len(), 1, "what failed has used nothing");
    for reply in [
        Reply::Fails(400, "ValidationException", "0"),
        Reply::Exception(events()[..2].to_vec(), "validationException"),
    ] {
        let bedrock = bedrock(1, move |_, _| reply.clone());
        let ended = scene(&asked, &bedrock).run();
        ended.failed(Code::AgentFailed);
        assert_eq!(waits(&ended.events), Vec::<&str>::new());
    }
}

#[test]
fn a_stream_that_does_not_come_to_its_end_is_an_outage_and_counts_as_far_as_it_came() {
    let begun = || events()[..2].to_vec();
    for (reply, word) in [
        (
            Reply::Exception(begun(), "throttlingException"),
            "throttlingException",
        ),
        (
            Reply::Exception(begun(), "modelStreamErrorException"),
            "modelStreamErrorException",
        ),
        (
            Reply::Exception(begun(), "internalServerException"),
            "internalServerException",
        ),
        (Reply::BreaksOff(begun()), "broke off"),
        (Reply::EndsEarly(begun()), "broke off"),
        (Reply::Garbled(begun()), "cannot be read"),
        (Reply::Huge(begun()), "cannot be read"),
    ] {
        let bedrock = bedrock(1, move |_, _| reply.clone());
        let asked = format!("ask '{}'", body("claude-sonnet-4-5", true));
        let scene = scene(&asked, &bedrock);
        let running = scene.start();
        crate::scene::until(word, || {
            let seen = running.control.seen();
            let mut events = seen.events.iter();
            events.any(|event| matches!(event.event, E::ProviderWaiting { .. }))
        });
        running.stop_request(StopRequest::Cancel);
        let ended = running.end(scene.dir.path());
        let reasons = waits(&ended.events);
        assert!(reasons[0].contains(word), "{reasons:?}");
        assert_eq!(
            used(&ended),
            [(PROFILE.to_owned(), [1_000, 600, 100, 1])],
            "{word}"
        );
        // Of a connection that is cut the last pieces may be lost on the way.
        if word.ends_with("Exception") {
            let answer = left_behind(&ended, "answer");
            let error = "event: error\ndata: {\"type\":\"error\"";
            assert!(
                answer.contains("hello") && answer.contains(error),
                "{answer}"
            );
        }
    }
}

/// The session tokens of its calls, in their order.
fn tokens(bedrock: &Bedrock) -> Vec<String> {
    let calls = bedrock.calls();
    calls.iter().map(|call| call.token.clone()).collect()
}

#[test]
fn credentials_are_renewed_before_they_expire_and_when_they_have() {
    let asked = format!("ask '{}' || exit 1;", body("claude-sonnet-4-5", true));
    let thrice = asked.repeat(3);
    // Good for a minute, and for an hour: only those that end soon are replaced.
    let fresh = bedrock(1, answers);
    let mut soon = scene(&thrice, &fresh);
    soon.fault = Fault::CredentialsLast(&[60, 60, 3_600]);
    soon.run().succeeded();
    assert_eq!(
        tokens(&fresh),
        [1, 2, 3].map(|number| credentials(number, 0).session_token)
    );
    // Refused as expired, though they should be good: the call is made with others.
    let expired = bedrock(2, answers);
    scene(&thrice, &expired).run().succeeded();
    assert_eq!(
        tokens(&expired),
        [2, 2, 2].map(|number| credentials(number, 0).session_token)
    );
    assert_eq!(expired.refused().len(), 1, "{:?}", expired.refused());
    assert!(expired.refused()[0].contains("ExpiredTokenException"));
}

#[test]
fn without_credentials_the_run_waits_and_bedrock_is_not_called() {
    let bedrock = bedrock(1, answers);
    let asked = format!("ask '{}'", body("claude-sonnet-4-5", true));
    let mut scene = scene(&asked, &bedrock);
    scene.fault = Fault::CredentialsLast(&[]);
    let running = scene.start();
    crate::scene::until("the run waits", || {
        let seen = running.control.seen();
        let mut events = seen.events.iter();
        events.any(|event| matches!(event.event, E::ProviderWaiting { .. }))
    });
    running.stop_request(StopRequest::Cancel);
    running.end(scene.dir.path());
    assert_eq!((bedrock.calls().len(), bedrock.refused().len()), (0, 0));
}

#[test]
fn what_bedrock_cannot_do_is_refused_without_a_call() {
    let bedrock = bedrock(1, answers);
    for (path, asked, word) in [
        (
            "messages",
            body("claude-of-tomorrow", false),
            "BedrockInferenceProfiles",
        ),
        ("messages", body(ARN, false), "BedrockInferenceProfiles"),
        (
            "messages/count_tokens",
            body("claude-haiku-4-5", false),
            "does not name the model",
        ),
    ] {
        let agent = format!("call {path} '{asked}'; grep -q 404 status");
        let scene = scene(&agent, &bedrock);
        let ended = scene.run();
        ended.succeeded();
        let answer = left_behind(&ended, "answer");
        assert!(
            answer.contains(word) && answer.contains("not_found_error"),
            "{answer}"
        );
        assert_eq!(used(&ended), []);
    }
    assert_eq!(bedrock.calls().len(), 0);
}

#[test]
fn tokens_are_counted_by_the_model_that_a_profile_names_and_cost_nothing() {
    let bedrock = bedrock(1, |_, call| match call {
        Call { counts: true, .. } => Reply::Count(4_711),
        _ => Reply::Message(events()),
    });
    let asked = json!({"model": "claude-sonnet-4-5-20250929",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "t", "input_schema": {"type": "object"}}],
        "thinking": {"type": "enabled", "budget_tokens": 1_024}});
    let agent = format!(
        "call messages/count_tokens '{asked}' && grep -q 200 status && mv answer counted; \
         curl -sS -o listed -w '%{{http_code}}' \"$ANTHROPIC_BASE_URL/v1/models\" -H \"x-api-key: \
         $ANTHROPIC_API_KEY\" > listing; ask '{}'",
        body("claude-sonnet-4-5", true)
    );
    let scene = scene(&agent, &bedrock);
    let ended = scene.run();
    ended.succeeded();
    assert_eq!(bedrock.refused(), Vec::<String>::new());
    assert_eq!(left_behind(&ended, "counted"), r#"{"input_tokens":4711}"#);
    let calls = bedrock.calls();
    let counted = &calls[0];
    assert!(counted.counts && PROFILE.ends_with(&format!(".{}", counted.model)));
    for member in ["messages", "tools", "thinking"] {
        assert_eq!(counted.body[member], asked[member]);
    }
    assert_eq!(counted.body.get("model"), None);
    assert_eq!(left_behind(&ended, "listing"), "404");
    let listed = left_behind(&ended, "listed");
    assert!(
        listed.contains("/v1/messages/count_tokens alone"),
        "{listed}"
    );
    assert_eq!(used(&ended), [(PROFILE.to_owned(), [1_000, 600, 100, 50])]);
}

#[test]
fn a_role_that_may_not_call_a_model_shows_nothing_of_the_account() {
    let denied = |_: usize, _: &Call| Reply::Fails(403, "AccessDeniedException", "");
    let bedrock = bedrock(1, denied);
    let agent = format!(
        "call messages '{}'; grep -q 403 status",
        body("claude-haiku-4-5", true)
    );
    let scene = scene(&agent, &bedrock);
    let ended = scene.run();
    ended.succeeded();
    let answer = left_behind(&ended, "answer");
    assert!(answer.contains("permission_error"), "{answer}");
    assert!(!answer.contains("111122223333"), "{answer}");
}
