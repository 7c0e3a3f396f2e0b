//! Pull requests at GitLab and Gitea, with doubles of their APIs, for repositories on a real git host.

use awo_domain::control::{GitCredential, Outcome, RunnerEvent as E};
use awo_domain::forge::{ForgeKind, ForgeSetting, GitHostName};
use awo_domain::profile::GitMode;
use awo_domain::run::RunErrorCode as Code;
use awo_origins::forge_double::Turn;
use awo_origins::git_host::{Access, GitHost};
use serde_json::{Value, json};

use crate::scene::{CANARY, EndedRunner, Scene, git};

struct Stage {
    host: GitHost,
    scene: Scene,
}

impl Stage {
    /// A run whose profile wants a draft with labels and reviewers, on a host of this kind.
    fn new(kind: ForgeKind, path: &str) -> Stage {
        let token = format!("{CANARY}-git");
        let host = GitHost::start(&token, Access::All);
        let mut scene = Scene::new(&[("README.md", "x\n")], "date > x").once();
        let url = host.add(path, &scene.origin().display().to_string());
        scene.spec.source = serde_json::from_value(json!({ "repository": url })).unwrap();
        let git_ops = &mut scene.spec.profile.git_ops;
        git_ops.mode = GitMode::PullRequest;
        git_ops.draft = true;
        git_ops.labels = vec!["agent".to_owned(), "needs review".to_owned()];
        git_ops.reviewers = vec!["octocat".to_owned()];
        scene.spec.forge = Some(ForgeSetting {
            host: GitHostName::parse(&host.host()).unwrap(),
            kind,
            api_url: None,
        });
        scene.spec.git_credentials = vec![GitCredential::of_token(host.host(), token)];
        let ca = host.ca_file().display().to_string();
        scene.env.push(("AWO_GIT_CA_FILE", ca));
        Stage { host, scene }
    }

    fn branch(&self) -> String {
        format!("awo/{}", self.scene.spec.run_id)
    }
}

fn url(ended: &EndedRunner) -> Option<&str> {
    let Outcome::Succeeded { pr_url, .. } = ended.outcome() else {
        panic!("{:?} {}", ended.outcome(), ended.log);
    };
    pr_url.as_ref().map(|url| url.as_str())
}

fn notes(ended: &EndedRunner) -> Vec<&str> {
    let notes = ended.events.iter().filter_map(|event| match event {
        E::DeliverySkipped { reason } => Some(reason.as_str()),
        _ => None,
    });
    notes.collect()
}

fn names(list: &Value, name: &str) -> Vec<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|one| one[name].to_string()).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn gitlab_gets_a_draft_merge_request_with_labels_and_reviewers() {
    let stage = Stage::new(ForgeKind::Gitlab, "acme/sub/app.git");
    let ended = stage.scene.run();
    let ours = "https://gitlab.example/acme/sub/app/-/merge_requests/1";
    assert_eq!(url(&ended), Some(ours));
    assert_eq!(notes(&ended), NONE);
    let made = &stage.host.gitlab.pulls()[0];
    assert_eq!(made["title"], "Draft: Make the test pass");
    assert_eq!(made["source_branch"], stage.branch());
    assert_eq!(made["target_branch"], "main");
    assert_eq!(made["labels"], json!(["agent", "needs review"]));
    assert_eq!(names(&made["reviewers"], "username"), ["\"octocat\""]);
    for call in stage.host.gitlab.calls() {
        let sent = &call.body;
        assert!(sent.get("squash").is_none() && sent.get("remove_source_branch").is_none());
    }
    let reported = serde_json::to_string(&(&ended.events, ended.outcome())).unwrap();
    assert!(!reported.contains(CANARY), "{reported}");
}

#[test]
fn gitea_gets_a_draft_pull_request_with_labels_and_reviewers() {
    let stage = Stage::new(ForgeKind::Gitea, "acme/app.git");
    let ended = stage.scene.run();
    assert_eq!(url(&ended), Some("https://gitea.example/acme/app/pulls/1"));
    assert_eq!(notes(&ended), NONE);
    let made = &stage.host.gitea.pulls()[0];
    assert_eq!(made["title"], "WIP: Make the test pass");
    assert_eq!(made["head"]["ref"], stage.branch());
    // One label is the repository's, the other its organization's.
    assert_eq!(names(&made["labels"], "id"), ["1", "2"]);
    assert_eq!(
        names(&made["requested_reviewers"], "login"),
        ["\"octocat\""]
    );
}

#[test]
fn an_open_one_is_updated_and_stays_the_draft_or_no_draft_that_it_is() {
    for (title, kept) in [
        ("Draft: old", "Draft: Make the test pass"),
        ("old", "Make the test pass"),
    ] {
        let stage = Stage::new(ForgeKind::Gitlab, "acme/app.git");
        let gitlab = &stage.host.gitlab;
        let fork = gitlab.add(&stage.branch(), "main", "of a fork");
        gitlab.set(fork, "source_project_id", json!(4));
        let number = gitlab.add(&stage.branch(), "main", title);
        gitlab.set(number, "reviewers", json!([{"id": 8, "username": "hubot"}]));
        assert!(url(&stage.scene.run()).unwrap().ends_with("/2"));
        let all = gitlab.pulls();
        assert_eq!((all.len(), &all[1]["title"]), (2, &json!(kept)));
        assert_eq!(all[0]["title"], "of a fork");
        let reviewers = names(&all[1]["reviewers"], "username");
        assert_eq!(reviewers, ["\"octocat\"", "\"hubot\""]);
    }
    for (title, kept) in [
        ("[WIP] old", "WIP: Make the test pass"),
        ("old", "Make the test pass"),
    ] {
        let stage = Stage::new(ForgeKind::Gitea, "acme/app.git");
        let gitea = &stage.host.gitea;
        let fork = gitea.add(&stage.branch(), "main", "of a fork");
        gitea.set(fork, "/head/repo_id", json!(4));
        let number = gitea.add(&stage.branch(), "main", title);
        // It is not on the first page.
        for other in ["a", "b", "c", "d"] {
            gitea.add(other, "main", other);
        }
        let ended = stage.scene.run();
        assert!(url(&ended).unwrap().ends_with(&format!("/{number}")));
        let all = gitea.pulls();
        assert_eq!((all.len(), &all[1]["title"]), (6, &json!(kept)));
    }
}

#[test]
fn at_each_forge_a_create_whose_answer_is_lost_is_found_again() {
    let stage = Stage::new(ForgeKind::Gitlab, "acme/app.git");
    let gitlab = &stage.host.gitlab;
    gitlab.next("POST", "/merge_requests", Turn::Lost);
    // It is made and not listed yet: the next create is a conflict.
    let empty = || Turn::Answer(200, None, "[]".to_owned());
    gitlab.next("GET", "/merge_requests", empty());
    gitlab.next("GET", "/merge_requests", empty());
    assert!(url(&stage.scene.run()).is_some());
    assert_eq!(gitlab.pulls().len(), 1);

    let stage = Stage::new(ForgeKind::Gitea, "acme/app.git");
    let gitea = &stage.host.gitea;
    gitea.next("POST", "/pulls", Turn::Lost);
    gitea.next("GET", "/pulls", empty());
    gitea.next("GET", "/pulls", empty());
    assert!(url(&stage.scene.run()).is_some());
    assert_eq!(gitea.pulls().len(), 1);
}

#[test]
fn a_refusal_of_another_forge_fails_the_delivery_with_its_message() {
    let stage = Stage::new(ForgeKind::Gitlab, "acme/app.git");
    let scope = r#"{"error":"insufficient_scope","error_description":"needs higher privileges"}"#;
    let turn = Turn::Answer(403, None, scope.to_owned());
    stage.host.gitlab.next("POST", "/merge_requests", turn);
    let ended = stage.scene.run();
    let message = ended.failed(Code::DeliveryFailed);
    assert!(message.contains("higher privileges"), "{message}");
    assert!(message.contains("it needs the scopes api"), "{message}");
    let repository = stage.host.repository("acme/app.git");
    git(&repository, &["rev-parse", "--verify", &stage.branch()]);

    let stage = Stage::new(ForgeKind::Gitea, "acme/app.git");
    let missing = r#"{"message":"base branch does not exist","url":"x"}"#.to_owned();
    stage
        .host
        .gitea
        .next("POST", "/pulls", Turn::Answer(404, None, missing));
    let message = stage.scene.run().failed(Code::DeliveryFailed).to_owned();
    assert!(message.contains("base branch does not exist"), "{message}");
}

#[test]
fn labels_and_reviewers_that_another_forge_lacks_are_reported_and_the_rest_is_set() {
    let mut stage = Stage::new(ForgeKind::Gitlab, "acme/app.git");
    let git_ops = &mut stage.scene.spec.profile.git_ops;
    git_ops.reviewers = vec!["nobody".to_owned(), "@hubot".to_owned()];
    let ended = stage.scene.run();
    assert!(
        notes(&ended)[0].contains("no user nobody"),
        "{:?}",
        notes(&ended)
    );
    let made = &stage.host.gitlab.pulls()[0];
    assert_eq!(names(&made["reviewers"], "username"), ["\"hubot\""]);

    let mut stage = Stage::new(ForgeKind::Gitea, "acme/app.git");
    let git_ops = &mut stage.scene.spec.profile.git_ops;
    git_ops.labels = vec!["late".to_owned(), "unknown".to_owned()];
    git_ops.reviewers = vec!["stranger".to_owned()];
    let ended = stage.scene.run();
    let [labels, reviewers] = notes(&ended)[..] else {
        panic!("{:#?}", ended.events);
    };
    assert!(labels.contains("has the label unknown"), "{labels}");
    assert!(reviewers.contains("name: stranger"), "{reviewers}");
    assert_eq!(names(&stage.host.gitea.pulls()[0]["labels"], "id"), ["9"]);
}

#[test]
fn an_unknown_host_that_is_no_github_is_reported_with_the_command_that_names_its_forge() {
    let mut stage = Stage::new(ForgeKind::Gitlab, "acme/sub/app.git");
    stage.scene.spec.forge = None;
    let ended = stage.scene.run();
    assert_eq!(url(&ended), None);
    let command = format!("awo admin set-forge --host {}", stage.host.host());
    assert!(notes(&ended)[0].contains(&command), "{:?}", notes(&ended));
}
