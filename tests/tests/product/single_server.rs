//! One server for a team, as `docs/single-server.md` sets it up, as far as that goes without systemd.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::house::{create, ended};
use awo_tests::agents::order;
use awo_tests::client::Client;
use awo_tests::local::Local;
use awo_tests::repository::Repository;
use awo_tests::service::program;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/single-server.md")).unwrap()
}

fn text(output: &Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8(text).unwrap()
}

fn local(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program("awo-local"));
    command.env("AWO_DATA_DIR", data).args(arguments);
    command.output().unwrap()
}

#[test]
fn the_page_shows_the_unit_that_is_installed_and_what_is_installed_runs() {
    let unit = std::fs::read_to_string(root().join("infra/single-server/awo.service")).unwrap();
    assert!(page().contains(&format!("```ini\n{unit}```")));
    let dir = tempfile::tempdir().unwrap();
    let programs = program("awo-local").parent().unwrap().to_owned();
    let installed = Command::new("make")
        .current_dir(root())
        .args(["install-programs", "PREFIX=/srv/awo"])
        .arg(format!("DESTDIR={}", dir.path().display()))
        .arg(format!("PROGRAMS={}", programs.display()))
        .output()
        .unwrap();
    assert!(installed.status.success(), "{}", text(&installed));
    let prefix = dir.path().join("srv/awo");
    let unit = std::fs::read_to_string(prefix.join("share/awo.service")).unwrap();
    let start = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    assert_eq!(start, Some("/srv/awo/bin/awo-local"));
    for name in ["awo", "awo-local"] {
        let output = Command::new(prefix.join("bin").join(name))
            .arg("--version")
            .output()
            .unwrap();
        assert!(
            text(&output).contains(env!("CARGO_PKG_VERSION")),
            "{}",
            text(&output)
        );
    }
    assert!(prefix.join("bin/runner").is_file());
}

#[tokio::test]
async fn health_needs_no_key_and_says_no_more_than_it_must() {
    let dir = tempfile::tempdir().unwrap();
    let local = Local::start(dir.path(), &[]);
    let anybody = Client::new(local.client.base_url(), None);
    let health = anybody.get("/health").await;
    assert_eq!(health.status, 200);
    assert_eq!(health.body["status"], "up");
    assert_eq!(health.body["version"], env!("CARGO_PKG_VERSION"));
    assert!(health.body["since"].as_str().unwrap().ends_with('Z'));
    assert_eq!(health.body.as_object().unwrap().len(), 3, "{}", health.body);
}

#[tokio::test]
async fn metrics_count_what_clients_and_runs_do() {
    let dir = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let port = port.to_string();
    let local = Local::start(dir.path(), &[("AWO_METRICS_PORT", &port)]);
    let repository = Repository::with(&[("Makefile", "test:\n\ttrue\n")]);
    let made = create(
        &local.client,
        "one",
        &order(&repository.url(), "echo > done"),
    )
    .await
    .unwrap();
    assert_eq!(made.status, 201, "{}", made.text);
    ended(&local.client, &made.body).await;
    let metrics = Client::new(&format!("http://127.0.0.1:{port}"), None);
    let text = metrics.get("/metrics").await.text;
    for wanted in [
        "awo_requests_total{status=\"201\"} 1",
        "awo_runs_dispatched_total 1",
        "awo_runs_settled_total{outcome=\"succeeded\"} 1",
        "awo_agent_start_seconds_count 1",
        "awo_queue_waiting 0",
        "awo_slots_taken 0",
        "# EOF",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing: {text}");
    }
    for name in metric_names(&page()) {
        assert!(text.contains(&name), "the page names {name}: {text}");
    }
}

/// The metrics of the page's table.
fn metric_names(page: &str) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with("| `awo_"));
    let names: Vec<String> = rows
        .flat_map(|row| row.split('|').nth(1).unwrap().split(','))
        .map(|name| {
            name.trim()
                .trim_matches('`')
                .split('{')
                .next()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert!(names.len() > 8, "{names:?}");
    names
}

#[tokio::test]
async fn a_backup_of_a_running_service_is_restored_with_its_keys_and_its_work() {
    let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let backup = dir.path().join("backup");
    let first = Local::start(dir.path(), &[]);
    let repository = Repository::with(&[("Makefile", "test:\n\ttrue\n")]);
    let made = create(
        &first.client,
        "one",
        &order(&repository.url(), "echo > done"),
    )
    .await
    .unwrap();
    let run = ended(&first.client, &made.body).await;
    let backup_path = backup.to_str().unwrap();
    let copied = local(&dir.path().join("data"), &["backup", backup_path]);
    assert!(copied.status.success(), "{}", text(&copied));
    let again = local(&dir.path().join("data"), &["backup", backup_path]);
    assert!(
        !again.status.success() && text(&again).contains("exists"),
        "{}",
        text(&again)
    );
    let in_use = local(&dir.path().join("data"), &["restore", backup_path]);
    assert!(!in_use.status.success(), "{}", text(&in_use));
    let credits = first.client.get("/v1/credits").await.body;
    drop(first);

    let restored = local(&elsewhere.path().join("data"), &["restore", backup_path]);
    assert!(restored.status.success(), "{}", text(&restored));
    let twice = local(&elsewhere.path().join("data"), &["restore", backup_path]);
    assert!(text(&twice).contains("holds data"), "{}", text(&twice));
    let second = Local::start(elsewhere.path(), &[]);
    let path = format!("/v1/runs/{}", run["runId"].as_str().unwrap());
    assert_eq!(second.client.get(&path).await.body["status"], run["status"]);
    assert_eq!(
        second.client.get("/v1/credits").await.body["balance"],
        credits["balance"]
    );
}
