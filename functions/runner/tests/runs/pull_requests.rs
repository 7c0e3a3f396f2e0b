//! Pull requests, with a double of GitHub's API, for repositories on a real git host.

use std::time::{Duration, Instant};

use awo_domain::control::{GitCredential, Outcome, RunnerEvent as E};
use awo_domain::profile::GitMode;
use awo_domain::run::RunErrorCode as Code;
use awo_origins::git_host::{Access, GitHost};
use awo_origins::github::{Call, STRANGER, Turn, refusal};
use serde_json::json;

use crate::scene::{CANARY, EndedRunner, Scene, git};

/// A run on a git host with GitHub's API.
pub struct Stage {
    pub host: GitHost,
    pub scene: Scene,
}

impl Stage {
    /// A run whose profile wants a pull request, on a host that has GitHub's API below `/api/v3`.
    pub fn new() -> Stage {
        Stage::on(Access::All)
    }

    fn on(access: Access) -> Stage {
        let token = format!("{CANARY}-git");
        let host = GitHost::start(&token, access);
        let mut scene = Scene::new(&[("README.md", "x\n")], "date > x").once();
        let url = host.add("acme/app.git", &scene.origin().display().to_string());
        let source = format!(r#"{{"repository":"{url}"}}"#);
        scene.spec.source = serde_json::from_str(&source).unwrap();
        scene.spec.profile.git_ops.mode = GitMode::PullRequest;
        scene.spec.git_credentials = vec![GitCredential::of_token(host.host(), token)];
        let ca = host.ca_file().display().to_string();
        scene.env.push(("AWO_GIT_CA_FILE", ca));
        Stage { host, scene }
    }

    pub fn next(&self, method: &'static str, path_end: &'static str, turn: Turn) {
        self.host.github.next(method, path_end, turn);
    }

    pub fn answers(&self, method: &'static str, path_end: &'static str, status: u16, reply: &str) {
        let body = refusal(reply, status).to_string();
        self.next(method, path_end, Turn::Answer(status, None, body));
    }

    fn branch(&self) -> String {
        format!("awo/{}", self.scene.spec.run_id)
    }

    /// The branch is on the origin, whatever became of its pull request.
    pub fn is_pushed(&self) {
        let repository = self.host.repository("acme/app.git");
        git(&repository, &["rev-parse", "--verify", &self.branch()]);
    }

    fn calls(&self, method: &str) -> Vec<Call> {
        let mut calls = self.host.github.calls();
        calls.retain(|call| call.method == method);
        calls
    }
}

/// Where the pull request of a run that succeeded is; its event says the same.
pub fn url(ended: &EndedRunner) -> Option<&str> {
    let Outcome::Succeeded { pr_url, .. } = ended.outcome() else {
        panic!("{:?} {}", ended.outcome(), ended.log);
    };
    let reported = ended.events.iter().find_map(|event| match event {
        E::Delivered { pr_url, .. } => Some(pr_url),
        _ => None,
    });
    assert_eq!(reported, Some(pr_url), "{:#?}", ended.events);
    pr_url.as_ref().map(|url| url.as_str())
}

fn notes(ended: &EndedRunner) -> Vec<&str> {
    let note = |event: &'_ E| matches!(event, E::DeliverySkipped { .. });
    let notes = ended.events.iter().filter(|event| note(event));
    notes
        .map(|event| match event {
            E::DeliverySkipped { reason } => reason.as_str(),
            _ => "",
        })
        .collect()
}

fn no_secret(ended: &EndedRunner) {
    let reported = serde_json::to_string(&(&ended.events, ended.outcome())).unwrap();
    assert!(!reported.contains(CANARY), "{reported}");
}

const OURS: &str = "https://github.example/acme/app/pull/1";

#[test]
fn a_pull_request_is_opened_with_what_the_profile_says() {
    let mut stage = Stage::new();
    let git_ops = &mut stage.scene.spec.profile.git_ops;
    git_ops.draft = true;
    git_ops.labels = vec!["agent".to_owned(), "needs review".to_owned()];
    git_ops.reviewers = vec!["octocat".to_owned(), "acme/core".to_owned()];
    let ended = stage.scene.run();
    assert_eq!(url(&ended), Some(OURS));
    assert_eq!(notes(&ended), Vec::<&str>::new());
    let pulls = stage.host.github.pulls();
    let [pull] = pulls.as_slice() else {
        panic!("{pulls:#?}");
    };
    assert_eq!(pull["title"], "Make the test pass");
    assert_eq!(pull["draft"], true);
    assert_eq!(
        (&pull["head"]["ref"], &pull["base"]["ref"]),
        (&json!(stage.branch()), &json!("main"))
    );
    assert_eq!(pull["labels"][1]["name"], "needs review");
    assert_eq!(pull["requested_reviewers"][0]["login"], "octocat");
    assert_eq!(pull["requested_teams"], json!([{"slug": "core"}]));
    let body = pull["body"].as_str().unwrap();
    let run = stage.scene.spec.run_id.as_str();
    assert!(body.starts_with("An agent made these changes."), "{body}");
    assert!(body.contains(run), "{body}");
    assert!(
        body.contains("```text\nMake the test pass\n\nPlease.\n```\n"),
        "{body}"
    );
    for call in stage.host.github.calls() {
        assert_eq!(call.headers["accept"], "application/vnd.github+json");
        assert_eq!(call.headers["x-github-api-version"], "2022-11-28");
        assert!(call.headers.contains_key("user-agent"));
    }
    stage.is_pushed();
    no_secret(&ended);
}

#[test]
fn one_that_is_open_is_brought_up_to_date_and_not_doubled() {
    let mut stage = Stage::new();
    let target = serde_json::from_str(r#""release""#).unwrap();
    stage.scene.spec.profile.git_ops.target_branch = Some(target);
    let github = &stage.host.github;
    github.add("acme/app", &stage.branch(), "main", "old");
    github.add("acme/app", "another", "main", "not ours");
    let ended = stage.scene.run();
    assert_eq!(url(&ended), Some(OURS));
    let pulls = github.pulls();
    assert_eq!(pulls.len(), 2);
    assert_eq!(pulls[0]["title"], "Make the test pass");
    assert_eq!(pulls[0]["base"]["ref"], "release");
    assert_eq!(pulls[1]["title"], "not ours");
    assert_eq!(stage.calls("POST").len(), 0);
}

#[test]
fn a_create_whose_answer_is_lost_is_found_again() {
    let stage = Stage::new();
    stage.next("POST", "/pulls", Turn::Lost);
    let ended = stage.scene.run();
    assert_eq!(url(&ended), Some(OURS));
    assert_eq!(stage.host.github.pulls().len(), 1);
    assert_eq!(stage.calls("POST").len(), 1);
}

#[test]
fn a_create_that_is_there_and_not_listed_yet_is_looked_for_again() {
    let stage = Stage::new();
    stage
        .host
        .github
        .add("acme/app", &stage.branch(), "main", "made by a lost call");
    stage.next("GET", "/pulls", Turn::Answer(200, None, "[]".to_owned()));
    let ended = stage.scene.run();
    assert_eq!(url(&ended), Some(OURS));
    assert_eq!(stage.calls("PATCH").len(), 1);
}

#[test]
fn what_fails_for_a_moment_is_tried_again_and_a_limit_is_waited_for_as_github_says() {
    let stage = Stage::new();
    stage.answers("GET", "/pulls", 503, "Service unavailable");
    let secondary = refusal("You have exceeded a secondary rate limit.", 403).to_string();
    let wait = Some(("retry-after", "2".to_owned()));
    stage.next("POST", "/pulls", Turn::Answer(403, wait, secondary));
    let began = Instant::now();
    let ended = stage.scene.run();
    assert_eq!(url(&ended), Some(OURS));
    assert!(began.elapsed() >= Duration::from_secs(3));
    assert_eq!(stage.calls("GET").len(), 3);
}

#[test]
fn a_pull_request_that_is_refused_fails_the_delivery_and_the_branch_stays() {
    let later = Some(("retry-after", "86400".to_owned()));
    let limit = refusal("API rate limit exceeded", 403).to_string();
    let elsewhere = Some((
        "location",
        "http://127.0.0.1:1/repositories/1/pulls".to_owned(),
    ));
    let wrong = r#"{"number":1,"html_url":"http://evil.example"}"#.to_owned();
    let quoted = refusal(&format!("{CANARY}-git is bad"), 401).to_string();
    let invalid = json!({"message": "Validation Failed", "status": "422", "errors": [
        {"resource": "PullRequest", "field": "base", "code": "invalid"}]});
    for (method, turn, says) in [
        (
            "GET",
            Turn::Answer(401, None, quoted),
            "does not accept the organization's token",
        ),
        (
            "GET",
            Turn::Answer(404, None, refusal("Not Found", 404).to_string()),
            "it needs contents",
        ),
        (
            "POST",
            Turn::Answer(
                403,
                None,
                refusal("Resource not accessible", 403).to_string(),
            ),
            "it needs contents and pull requests",
        ),
        (
            "POST",
            Turn::Answer(422, None, invalid.to_string()),
            "base invalid",
        ),
        (
            "POST",
            Turn::Answer(403, later, limit),
            "GitHub's rate limit is reached for 86400 s",
        ),
        (
            "GET",
            Turn::Answer(301, elsewhere, "{}".to_owned()),
            "current URL",
        ),
        (
            "GET",
            Turn::Answer(200, None, "x".repeat(3 << 20)),
            "larger than",
        ),
        (
            "POST",
            Turn::Answer(201, None, wrong),
            "not a pull request with a number",
        ),
    ] {
        let stage = Stage::new();
        stage.next(method, "/pulls", turn);
        let ended = stage.scene.run();
        let message = ended.failed(Code::DeliveryFailed);
        assert!(message.contains(says), "{message}");
        assert!(message.contains(&stage.branch()), "{message}");
        stage.is_pushed();
        no_secret(&ended);
        assert_eq!(ended.diffs.len(), 1, "the diff is kept");
    }
}

#[test]
fn labels_and_reviewers_that_are_refused_leave_the_pull_request_as_it_is() {
    let mut stage = Stage::new();
    let git_ops = &mut stage.scene.spec.profile.git_ops;
    git_ops.labels = vec!["agent".to_owned()];
    git_ops.reviewers = vec![STRANGER.to_owned()];
    stage.answers(
        "POST",
        "/labels",
        403,
        "Resource not accessible by integration",
    );
    let ended = stage.scene.run();
    assert_eq!(url(&ended), Some(OURS));
    let [labels, reviewers] = notes(&ended)[..] else {
        panic!("{:#?}", ended.events);
    };
    assert!(labels.contains("not accessible"), "{labels}");
    assert!(reviewers.contains("not a collaborator"), "{reviewers}");
}

#[test]
fn where_there_are_no_drafts_it_is_none_and_an_event_says_so() {
    let mut stage = Stage::new();
    stage.scene.spec.profile.git_ops.draft = true;
    let reply = "Draft pull requests are not supported in this repository.";
    stage.answers("POST", "/pulls", 422, reply);
    let ended = stage.scene.run();
    assert_eq!(url(&ended), Some(OURS));
    assert_eq!(stage.host.github.pulls()[0]["draft"], false);
    assert!(
        notes(&ended)[0].contains("is not a draft"),
        "{:?}",
        notes(&ended)
    );
}

/// The only note of a run that succeeded without a pull request.
fn why_none(ended: &EndedRunner) -> &str {
    assert_eq!(url(ended), None);
    let [why] = notes(ended)[..] else {
        panic!("{:#?}", ended.events);
    };
    assert!(why.starts_with("no pull request was opened"), "{why}");
    why
}

#[test]
fn where_nobody_can_open_one_the_run_succeeds_and_an_event_says_why() {
    let foreign = Stage::new();
    foreign.next("GET", "/pulls", Turn::Foreign(404));
    let ended = foreign.scene.run();
    assert!(why_none(&ended).contains("is not a GitHub host"));
    foreign.is_pushed();

    let mut unknown = Stage::on(Access::Public);
    unknown.scene.spec.git_credentials.clear();
    let ended = unknown.scene.run();
    let wanted = format!("the secret git:{}", unknown.host.host());
    assert!(why_none(&ended).contains(&wanted), "{}", why_none(&ended));
    unknown.is_pushed();

    let mut file = Scene::new(&[("README.md", "x\n")], "date > x").once();
    file.spec.profile.git_ops.mode = GitMode::PullRequest;
    let ended = file.run();
    assert!(why_none(&ended).contains("not a repository on a GitHub host"));
}

#[test]
fn an_api_that_the_environment_names_is_asked_instead() {
    let mut stage = Stage::new();
    let (api, _served) = stage.host.github.start();
    let address = api.trim_start_matches("http://").to_owned();
    stage.scene.env.push(("AWO_GITHUB_API_URL", api));
    let ended = stage.scene.run();
    assert_eq!(url(&ended), Some(OURS));
    for call in stage.host.github.calls() {
        assert_eq!(call.headers["host"], address);
    }
}

#[test]
fn an_agent_that_changes_nothing_gets_no_pull_request() {
    let mut stage = Stage::new();
    stage.scene.spec.agent.command = Some(vec!["true".to_owned()]);
    let ended = stage.scene.run();
    assert_eq!(ended.succeeded(), (None, None));
    assert_eq!(notes(&ended), ["nothing to deliver: nothing was changed"]);
    assert_eq!(stage.host.github.calls().len(), 0);
}

#[test]
fn a_run_that_is_stopped_does_not_wait_for_github() {
    let stage = Stage::new();
    stage.next("GET", "/pulls", Turn::Hang);
    let running = stage.scene.start();
    let github = &stage.host.github;
    crate::scene::until("GitHub is asked", || !github.calls().is_empty());
    running.stop_request(awo_domain::control::StopRequest::Cancel);
    let ended = running.end(stage.scene.dir.path());
    let (forced, commit) = ended.stopped(&stage.scene);
    assert!(!forced && commit.is_some());
    stage.is_pushed();
}

#[test]
fn what_an_agents_child_did_is_left_to_its_parents_pull_request() {
    let mut stage = Stage::new();
    let head = git(&stage.scene.origin(), &["rev-parse", "HEAD"]);
    stage.scene.spec.start_commit = Some(head.trim().to_owned());
    let ended = stage.scene.run();
    assert_eq!(url(&ended), None);
    stage.is_pushed();
    assert_eq!(stage.host.github.calls().len(), 0);
}
