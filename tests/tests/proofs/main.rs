//! Clients of forges that others wrote, against the stand-ins and what a run of the whole service did there.
//! `make test-forges` installs them and runs this; `make test` does not.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, also in what its tests share"
)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use awo_origins::git_host::{Access, GitHost};
use awo_origins::github_app::App;
use awo_tests::agents::{order, submit};
use awo_tests::local::Local;
use awo_tests::repository::Repository;
use awo_tests::service::program;
use serde_json::json;

/// Id of the App.
const APP: u64 = 7;

fn set_app(dir: &std::path::Path, local: &Local, host: &str, key: &str) {
    let mut awo = Command::new(program("awo"))
        .args(["admin", "set-app", "--org", local.org.as_str()])
        .args(["--host", host, "--app-id", &APP.to_string()])
        .env("AWO_DATA_DIR", dir.join("data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    awo.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
    assert!(awo.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jose_takes_the_statements_of_a_run_and_octokit_the_stand_in() {
    let host = GitHost::start("unused", Access::All);
    let makefile = "test:\n\t@grep -q right answer.txt && echo '1 passed in 0.1s'\n";
    let files = [("Makefile", makefile), ("answer.txt", "wrong\n")];
    let url = host.add("acme/app.git", &Repository::with(&files).url());
    let (app, key) = App::made(APP, &["acme/app"]);
    host.github.change(|github| github.app = Some(app));
    let dir = tempfile::tempdir().unwrap();
    let ca = host.ca_file().display().to_string();
    let local = Local::start(dir.path(), &[("AWO_GIT_CA_FILE", &ca)]);
    set_app(dir.path(), &local, &host.host(), &key);
    let profile =
        json!({ "name": "opens", "description": "", "gitOps": { "mode": "pull_request" } });
    let made = local.client.post("/api/v1/profiles", &profile).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut order = order(&url, "echo right > answer.txt");
    order["harness"] = json!("opens");
    let order = submit(&local.client, &order).await;
    let run = local.client.finished_run(&order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");

    let calls = host.github.calls();
    let of_app = calls
        .iter()
        .filter(|call| call.path.ends_with("/access_tokens"));
    let statements: Vec<String> = of_app
        .map(|call| {
            let given = call.headers["authorization"].to_str().unwrap();
            given.trim_start_matches("Bearer ").to_owned()
        })
        .collect();
    let given = json!({
        "api": format!("{}/api/v3", host.base()), "appId": APP, "privateKey": key,
        "repository": "acme/app", "branch": run["branch"], "statements": statements,
    });
    let case = dir.path().join("case.json");
    std::fs::write(&case, given.to_string()).unwrap();
    let tools = PathBuf::from(std::env::var("FORGES_TOOLS").unwrap());
    let ended = Command::new("node")
        .arg(tools.join("app.mjs"))
        .arg(&case)
        .env("NODE_EXTRA_CA_CERTS", host.ca_file())
        .output()
        .unwrap();
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}
