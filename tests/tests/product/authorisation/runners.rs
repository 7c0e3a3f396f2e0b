//! The runner's own API accepts no API key, and a run's token for that run only.

use awo_domain::api_key::Scope;
use awo_http::routes::{Access, Style};
use awo_tests::client::{Answer, Client};
use awo_tests::counted_requests::CountedRequests;
use awo_tests::driven::DrivenRun;
use awo_tests::everything::{everything_at_rest, nothing_changed};
use awo_tests::rules;
use awo_tests::service::TestService;
use serde_json::json;

use super::answers::{is_error, same, what};
use super::samples::{self, Sample, Things};
use crate::http_api::{quiet_service, quiet_service_with};

fn for_runners() -> Vec<Sample> {
    let of_runners = |sample: &Sample| sample.route.access == Access::Runner;
    let samples: Vec<Sample> = samples::all().into_iter().filter(of_runners).collect();
    assert!(samples.len() >= 4, "{samples:?}");
    samples
}

/// A run of the service's organization that has its runner.
async fn running(service: &TestService) -> (Things, DrivenRun) {
    let things = Things::of(service).await;
    let order = json!({ "id": things.work_order });
    (things, DrivenRun::of(service, &order).await)
}

#[tokio::test]
async fn no_api_key_opens_the_runners_api() {
    let service = quiet_service().await;
    let (things, _run) = running(&service).await;
    let (_, stranger) = service.another_org(10).await;
    let mut callers = vec![service.client.with_key(None), stranger];
    for scope in Scope::ALL {
        callers.push(service.key(&[scope], None).await);
    }
    let tables = rules::client(&service.service.cloud);
    let before = everything_at_rest(&tables, &service.org).await;
    for sample in for_runners() {
        let mut first = None;
        for caller in &callers {
            let answer = sample.send(caller, &things).await;
            let what = what(&sample, "an API key");
            is_error(&answer, Style::Plain, 401, "UNAUTHORIZED", &what);
            let answer = same(&answer);
            assert_eq!(
                *first.get_or_insert_with(|| answer.clone()),
                answer,
                "{what}"
            );
        }
    }
    let after = everything_at_rest(&tables, &service.org).await;
    nothing_changed(&before, &after, "an API key");
}

#[tokio::test]
async fn a_runs_token_is_good_for_that_run_only() {
    // With Bedrock, for which its own runs get credentials.
    let service = quiet_service_with(&[
        ("AWO_BEDROCK_REGION", "eu-west-1"),
        (
            "AWO_BEDROCK_ROLE_ARN",
            "arn:aws:iam::000000000000:role/awo-bedrock",
        ),
    ])
    .await;
    let requests = CountedRequests::of(&service).await;
    let (own, run) = running(&service).await;
    let (sibling, _sibling_run) = running(&service).await;
    let runner = requests.for_client(run.runner());
    let nobodys = Things::of_nobody(&service);
    let strangers = Things {
        org: nobodys.org.clone(),
        ..own.clone()
    };
    let tables = rules::client(&service.service.cloud);
    for sample in for_runners() {
        let before = everything_at_rest(&tables, &service.org).await;
        let mut first: Option<(Answer, Vec<String>)> = None;
        for things in [&nobodys, &sibling, &strangers] {
            let (answer, calls) = counted(&requests, &sample, &runner, things).await;
            let what = what(&sample, "another run's token");
            // A claim is a stranger's; a report under another token is that of a lost lease.
            assert!(
                [401, 409].contains(&answer.status),
                "{what}: {}",
                answer.text
            );
            let (unknown, unknown_calls) = first.get_or_insert((answer.clone(), calls.clone()));
            assert_eq!(
                (same(&answer), &calls),
                (same(unknown), &*unknown_calls),
                "{what}"
            );
        }
        let after = everything_at_rest(&tables, &service.org).await;
        nothing_changed(&before, &after, "another run's token");
    }
    for sample in (for_runners().iter()).filter(|s| s.route.path.contains("/runs/")) {
        let (own, run) = running(&service).await;
        let answer = sample.send(run.runner(), &own).await;
        let what = what(sample, "its own run");
        assert_eq!(answer.status, 200, "{what}: {}", answer.text);
    }
}

async fn counted(
    requests: &CountedRequests,
    sample: &Sample,
    client: &Client,
    things: &Things,
) -> (Answer, Vec<String>) {
    requests.calls();
    (sample.send(client, things).await, requests.calls())
}
