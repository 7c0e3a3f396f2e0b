use super::*;
use crate::Forge;

fn named(api: &str) -> Hosts {
    let text = |name: &str| (name == API_VARIABLE).then(|| api.to_owned());
    Hosts::from_env(&[API_VARIABLE], text, |_| false).unwrap()
}

/// The host, and the repository's address at the API.
fn of(repository: &str, hosts: &Hosts) -> Option<[String; 2]> {
    let repository = HostedRepository::parse(repository)?;
    let api = Forge::api(&repository, None, hosts)?;
    let url = format!("{}/repos/{}", api.url, api.path.join("/"));
    Some([repository.host, url])
}

#[test]
fn each_github_has_its_api_and_a_repository_its_name_there() {
    for (repository, host, address) in [
        (
            "https://github.com/a/b",
            "github.com",
            "https://api.github.com/repos/a/b",
        ),
        (
            "https://GitHub.com/A-1/b.c.git/",
            "github.com",
            "https://api.github.com/repos/A-1/b.c",
        ),
        (
            "https://acme.ghe.com/a/b",
            "acme.ghe.com",
            "https://api.acme.ghe.com/repos/a/b",
        ),
        (
            "https://git.corp:8443/a/b_.git",
            "git.corp:8443",
            "https://git.corp:8443/api/v3/repos/a/b_",
        ),
    ] {
        let wanted = [host, address].map(str::to_owned);
        assert_eq!(of(repository, &Hosts::default()), Some(wanted));
    }
    for bad in [
        "file:///tmp/a/b",
        "https://github.com/a",
        "https://github.com/a/b/c",
        "https://github.com/a/..git",
        "https://github.com/a/%2e%2e%2f",
        "https://github.com/a/b%3fx",
        "https://github.com//b",
    ] {
        assert_eq!(of(bad, &Hosts::default()), None, "{bad}");
    }
}

#[test]
fn a_named_api_gets_the_tokens_of_its_own_host_and_of_github_only() {
    let hosts = named("https://git.corp/api/v3/");
    assert!(!hosts.plain_http());
    let api = |repository| of(repository, &hosts).unwrap()[1].clone();
    let corp = "https://git.corp/api/v3/repos/a/b";
    assert_eq!(api("https://git.corp:8443/a/b"), corp);
    assert_eq!(api("https://github.com/a/b"), corp);
    let other = "https://git.other/api/v3/repos/a/b";
    assert_eq!(api("https://git.other/a/b"), other);
}

#[test]
fn a_reviewer_is_a_user_or_a_team_by_the_way_it_is_written() {
    for (text, name, is_team) in [
        ("octocat", "octocat", false),
        ("@octocat", "octocat", false),
        ("team:core", "core", true),
        ("team:acme/core", "core", true),
        ("acme/core", "core", true),
        ("@acme/core", "core", true),
    ] {
        assert_eq!(reviewer(text), Reviewer { name, is_team }, "{text}");
    }
}

#[test]
fn a_pull_request_without_a_number_or_with_another_url_is_none() {
    let good = json!({"number": 7, "html_url": "https://github.com/a/b/pull/7"});
    assert_eq!(read(&good).unwrap().number, 7);
    for bad in [
        json!({"number": -7, "html_url": "https://github.com/a/b/pull/7"}),
        json!({"number": 7, "html_url": "javascript:alert(1)"}),
        json!({"html_url": "https://github.com/a/b/pull/7"}),
        json!([]),
    ] {
        assert!(read(&bad).is_none(), "{bad}");
    }
}

#[test]
fn a_state_names_the_merge_only_of_a_merged_one_and_the_close_only_of_a_closed_one() {
    let shown = |state: &str, merged: Value, closed: Value| {
        let shown = json!({"state": state, "merged_at": merged, "closed_at": closed,
            "merge_commit_sha": "c0de", "head": {"sha": "4ead"}});
        super::state(&shown).unwrap()
    };
    let at = json!("2026-11-20T08:00:00Z");
    let open = shown("open", Value::Null, Value::Null);
    assert_eq!(open.status, PullRequestStatus::Open);
    // The commit of an open one is that of a trial.
    assert_eq!((open.merged_commit, open.merged_at), (None, None));
    assert_eq!(open.head.as_deref(), Some("4ead"));
    let merged = shown("closed", at.clone(), at.clone());
    assert_eq!(merged.status, PullRequestStatus::Merged);
    assert_eq!(merged.merged_commit.as_deref(), Some("c0de"));
    assert!(merged.merged_at.is_some() && merged.closed_at.is_none());
    let closed = shown("closed", Value::Null, at);
    assert_eq!(closed.status, PullRequestStatus::Closed);
    assert!(closed.closed_at.is_some() && closed.merged_commit.is_none());
    assert_eq!(super::state(&json!({"state": "strange"})), None);
}
