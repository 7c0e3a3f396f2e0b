//! A GitHub App on the whole service: an operator sets it, runs get tokens that end, and nothing of them is near
//! an agent.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use awo_origins::git_host::{Access, GitHost};
use awo_origins::github_app::App;
use awo_tests::agents::{order, submit};
use awo_tests::local::Local;
use awo_tests::repository::Repository;
use awo_tests::service::program;
use serde_json::{Value, json};

const OWN: &str = "github_pat_0wn5ecret";
/// Part of every token of the App.
const CANARY: &str = "app5ecret";
/// As a pattern that does not match itself in a list of processes.
const PATTERN: &str = "app5[e]cret";
/// What an agent and a verifier do: look for a token, in whatever form it might have.
const SEARCH: &str = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -qa 'PATTERN' && echo procs >> \"$1\"; \
    git config --list --show-origin 2>/dev/null | grep -qiE 'PATTERN|extraheader' && echo config >> \"$1\"; \
    grep -rqa 'PATTERN' . ../.. ~ \"${TMPDIR:-/tmp}\" 2>/dev/null && echo files >> \"$1\"; \
    env | grep -qaiE 'PATTERN|GIT_CONFIG|app_key' && echo env >> \"$1\"; touch \"$1\"";

/// A service, a git host with an App, and a repository on it.
struct Stage {
    host: GitHost,
    local: Local,
    dir: tempfile::TempDir,
    key: String,
    url: String,
}

impl Stage {
    fn new(change: impl FnOnce(&mut App)) -> Stage {
        let host = GitHost::start(OWN, Access::All);
        let search = SEARCH.replace("PATTERN", PATTERN);
        let makefile = "test:\n\t@sh search.sh seen-by-verifier; test ! -s seen-by-verifier && \
                        grep -q right answer.txt && echo '1 passed in 0.1s'\n";
        let files = [
            ("Makefile", makefile),
            ("answer.txt", "wrong\n"),
            ("search.sh", &search),
        ];
        let url = host.add("acme/app.git", &Repository::with(&files).url());
        let (mut app, key) = App::made(7, &["acme/app"]);
        app.prefix = format!("ghs_{CANARY}");
        change(&mut app);
        host.github.change(|github| github.app = Some(app));
        let dir = tempfile::tempdir().unwrap();
        let ca = host.ca_file().display().to_string();
        let local = Local::start(dir.path(), &[("AWO_GIT_CA_FILE", &ca)]);
        Stage {
            host,
            local,
            dir,
            key,
            url,
        }
    }

    /// A command of the operator.
    fn admin(&self, args: &[&str], input: &str) -> Output {
        admin(self.dir.path(), &self.local, args, input)
    }

    fn set_app(&self) {
        let host = self.host.host();
        let set = self.admin(&["set-app", "--host", &host, "--app-id", "7"], &self.key);
        assert!(set.status.success(), "{set:?}");
    }

    async fn run(&self, agent: &str) -> (Value, Vec<Value>) {
        let profile =
            json!({ "name": "opens", "description": "", "gitOps": { "mode": "pull_request" } });
        self.local.client.post("/api/v1/profiles", &profile).await;
        let mut order = order(&self.url, agent);
        order["harness"] = json!("opens");
        let order = submit(&self.local.client, &order).await;
        let run = self.local.client.finished_run(&order).await;
        let path = format!("/v1/runs/{}/events", run["runId"].as_str().unwrap());
        let events = self.local.client.get(&path).await;
        assert!(!events.text.contains(CANARY), "{}", events.text);
        assert!(!run.to_string().contains(CANARY), "{run:#}");
        (run, events.body["events"].as_array().unwrap().clone())
    }

    fn issued(&self) -> Vec<awo_origins::github_app::IssuedToken> {
        let app = self.host.github.change(|github| github.app.clone());
        app.unwrap().issued
    }
}

fn admin(dir: &Path, local: &Local, args: &[&str], input: &str) -> Output {
    let mut awo = Command::new(program("awo"))
        .arg("admin")
        .args(args)
        .args(["--org", local.org.as_str()])
        .env("AWO_DATA_DIR", dir.join("data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(awo.stdin.take().unwrap().write_all(input.as_bytes()));
    awo.wait_with_output().unwrap()
}

/// The credentials that the run's events name, as kind and whether they end.
fn credentials(events: &[Value]) -> Vec<(String, bool)> {
    let issued = events
        .iter()
        .filter(|event| event["type"] == "credentials.issued");
    let read = |event: &Value| {
        let data = &event["data"];
        let kind = data["kind"].as_str().unwrap().to_owned();
        (kind, data["expiresAt"].is_string())
    };
    issued.map(read).collect()
}

const ANSWER: &str = "echo right > answer.txt";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_gets_a_token_of_the_app_for_its_repository_alone_and_shows_it_to_nobody() {
    let stage = Stage::new(|_| {});
    stage.set_app();
    let agent = format!("sh search.sh seen-by-agent; {ANSWER}");
    let (run, events) = stage.run(&agent).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(
        run["prUrl"], "https://github.example/acme/app/pull/1",
        "{run:#}"
    );
    assert_eq!(credentials(&events), [("app".to_owned(), true)]);
    let [token] = stage.issued().try_into().unwrap();
    assert_eq!(token.repositories, ["acme/app"]);
    let least = json!({"contents": "write", "pull_requests": "write", "metadata": "read"});
    assert_eq!(token.permissions, least);
    assert_eq!(stage.host.seen().leaks, Vec::<String>::new());
    let path = format!("/v1/runs/{}/diff", run["runId"].as_str().unwrap());
    let diff = stage.local.client.get(&path).await;
    let text = diff.body["diff"].as_str().unwrap();
    // The search ran, and it wrote nothing.
    assert!(
        text.contains("seen-by-agent") && !text.contains("seen-by-agent\n@@"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_outlives_three_tokens_is_delivered() {
    let stage = Stage::new(|app| {
        (app.stated, app.lasts) = (Duration::from_secs(3), Duration::from_secs(3))
    });
    stage.set_app();
    let (run, events) = stage.run(&format!("sleep 10; {ANSWER}")).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert!(run["prUrl"].is_string(), "{run:#}");
    let credentials = credentials(&events);
    assert!(credentials.len() >= 2, "{credentials:?}");
    assert!(
        credentials
            .iter()
            .all(|(kind, ends)| kind == "app" && *ends)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_ends_early_is_replaced_once_and_a_second_refusal_fails_delivery() {
    // It says an hour and lasts eight seconds.
    let early = |app: &mut App| app.lasts = Duration::from_secs(8);
    let stage = Stage::new(early);
    stage.set_app();
    let (run, events) = stage.run(&format!("sleep 9; {ANSWER}")).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(credentials(&events).len(), 2, "{events:#?}");
    assert_eq!(stage.issued().len(), 2);

    let stage = Stage::new(|app| {
        early(app);
        app.most_tokens = 1;
    });
    stage.set_app();
    let (run, _) = stage.run(&format!("sleep 9; {ANSWER}")).await;
    assert_eq!(run["error"]["code"], "DELIVERY_FAILED", "{run:#}");
    let message = run["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("does not accept the token of the organization's App"),
        "{message}"
    );
    assert_eq!(stage.issued().len(), 2, "asked once more, and not again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_app_is_not_installed_or_may_not_the_organizations_token_serves() {
    for change in [
        (|app: &mut App| app.repositories = vec!["acme/other".to_owned()]) as fn(&mut App),
        |app| app.permissions = json!({"contents": "read", "metadata": "read"}),
        |app| app.id = 8,
    ] {
        let stage = Stage::new(change);
        stage.set_app();
        let name = format!("git:{}", stage.host.host());
        let set = stage.admin(&["set-secret", "--name", &name], OWN);
        assert!(set.status.success(), "{set:?}");
        let (run, events) = stage.run(ANSWER).await;
        assert_eq!(run["status"], "succeeded", "{run:#}");
        assert!(run["prUrl"].is_string(), "{run:#}");
        assert_eq!(credentials(&events), [("token".to_owned(), false)]);
        assert_eq!(stage.issued().len(), 0);
    }
}

/// What git says in a folder.
fn git(dir: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
    let mut git = Command::new("git");
    git.args(identity).args(args).current_dir(dir);
    let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submodules_of_the_app_are_read_with_a_token_of_their_own_and_others_without() {
    let stage = Stage::new(|app| app.repositories.push("acme/lib".to_owned()));
    stage.set_app();
    let work = stage.dir.path().join("work");
    let app = stage.host.repository("acme/app.git");
    git(
        stage.dir.path(),
        &["clone", "-q", &app.display().to_string(), "work"],
    );
    let mut modules = String::new();
    for name in ["lib", "other"] {
        let files = Repository::with(&[("lib.txt", "lib\n")]);
        stage.host.add(&format!("acme/{name}.git"), &files.url());
        modules += &format!("[submodule \"{name}\"]\n\tpath = {name}\n\turl = ../{name}.git\n");
        let link = format!("160000,{},{name}", files.head("main"));
        git(&work, &["update-index", "--add", "--cacheinfo", &link]);
    }
    std::fs::write(work.join(".gitmodules"), modules).unwrap();
    git(&work, &["add", ".gitmodules"]);
    git(&work, &["commit", "-q", "-m", "submodules"]);
    git(&work, &["push", "-q", "origin", "HEAD:main"]);
    let agent = format!("test -e lib/lib.txt && test ! -e other/lib.txt && {ANSWER}");
    let (run, events) = stage.run(&agent).await;
    assert_eq!(run["status"], "succeeded", "{run:#} {events:#?}");
    let [own, submodules] = stage.issued().try_into().unwrap();
    assert_eq!(own.repositories, ["acme/app"]);
    assert_eq!(submodules.repositories, ["acme/lib"]);
    assert_eq!(
        submodules.permissions,
        json!({"contents": "read", "metadata": "read"})
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_workflows_fails_a_check_under_an_app_and_is_not_pushed() {
    let stage = Stage::new(|_| {});
    stage.set_app();
    let agent =
        format!("mkdir -p .github/workflows; echo 'on: push' > .github/workflows/x.yml; {ANSWER}");
    let (run, events) = stage.run(&agent).await;
    assert_eq!(run["error"]["code"], "MAX_ITERATIONS_REACHED", "{run:#}");
    let shown = json!(events).to_string();
    assert!(
        shown.contains(".github/workflows/x.yml") && shown.contains("GitHub App"),
        "{shown}"
    );
    let branches = Command::new("git")
        .args(["for-each-ref", "--format=%(refname)"])
        .current_dir(stage.host.repository("acme/app.git"))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&branches.stdout),
        "refs/heads/main\n"
    );
}
