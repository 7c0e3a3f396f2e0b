//! Layers that keep agents from the machine, from other runs and from what other phases leave; on each kind of
//! service that this machine can have.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use awo_supervisor::Layers;
use awo_tests::agents::{order, submit};
use awo_tests::local::Local;
use awo_tests::repository::Repository;
use awo_tests::service::program;
use serde_json::{Value, json};

/// Another user than root, for the service.
const SERVICES_UID: u32 = 65_534;
const MAKEFILE: &str = "test:\n\t@echo '1 passed in 0.1s'\n";
const PLACES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// False where the kernel grants no namespaces: there the threat model names what is missing.
fn can_be_tested() -> bool {
    let layers = Layers::tried_by(Path::new(&program("runner"))).unwrap();
    if let Some(why) = &layers.no_namespaces {
        println!("skipped: {why}");
    }
    layers.no_namespaces.is_none()
}

/// The users of services that can be started here: our own, and another one where we are root.
fn services() -> Vec<Option<u32>> {
    let other = is_root().then_some(Some(SERVICES_UID));
    [None].into_iter().chain(other).collect()
}

/// A folder that the service's user owns.
fn folder(user: Option<u32>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    if let Some(uid) = user {
        chown(dir.path(), Some(uid), Some(uid)).unwrap();
    }
    dir
}

/// A repository that every user can read.
fn repository() -> Repository {
    Repository::with(&[("Makefile", MAKEFILE)])
}

/// Gives a repository to a user: git reads none of another's.
fn give(repository: &Repository, user: Option<u32>) {
    let Some(uid) = user else { return };
    let url = repository.url();
    let path = Path::new(url.trim_start_matches("file://"));
    let around = path.parent().unwrap();
    let given = Command::new("chown")
        .args(["-R", &uid.to_string()])
        .arg(around)
        .status();
    assert!(given.unwrap().success());
}

async fn succeeded(local: &Local, body: &Value) -> Value {
    let made = submit(&local.client, body).await;
    let run = local.client.finished_run(&made).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    run
}

/// Content of a file that a run delivered.
fn written(repository: &Repository, run: &Value, file: &str) -> String {
    repository.show(run["branch"].as_str().unwrap(), file)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phase_leaves_nothing_for_the_next_one_or_for_another_run() {
    if !can_be_tested() {
        return;
    }
    for user in services() {
        let dir = folder(user);
        let local = Local::start_as(dir.path(), &[], user);
        let mark = format!("awo-leak-{}-{}", std::process::id(), user.unwrap_or(0));
        let leave = PLACES
            .map(|place| format!("echo secret > {place}/{mark}"))
            .join("; ");
        let leave = format!("{leave}; ipcmk -M 65536 -Q -S 2 >&2; true");
        let look = PLACES.map(|place| format!("ls -A {place}")).join("; ");
        let look = format!("{{ {look}; grep -c . /proc/sysvipc/shm; }} > seen; {leave}");
        let repository = repository();
        give(&repository, user);
        let template = json!({
            "id": "leaky", "name": "Leaky", "description": "Leaves files", "variables": [], "tags": [],
            "source": { "type": "git", "repository": repository.url(), "branch": "main" },
            "hooks": { "postCreate": [leave] },
        });
        let made = local.client.post("/v1/templates", &template).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let mut body = order(&repository.url(), &look);
        for source in [
            json!({ "type": "template", "templateId": "leaky" }),
            body["workspaceSource"].clone(),
        ] {
            body["workspaceSource"] = source;
            let run = succeeded(&local, &body).await;
            give(&repository, user.map(|_| 0));
            let seen = written(&repository, &run, "seen");
            give(&repository, user);
            assert_eq!(seen.trim(), "1", "as {user:?}: the list's head alone");
        }
        for place in PLACES {
            assert!(
                !Path::new(place).join(&mark).exists(),
                "as {user:?}: {place}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_changes_no_mode_and_sees_no_process_and_no_terminal_of_others() {
    if !can_be_tested() {
        return;
    }
    for user in services() {
        let dir = folder(user);
        let local = Local::start_as(dir.path(), &[], user);
        let terminal = nix::pty::openpty(None, None).unwrap();
        let name = nix::unistd::ttyname(&terminal.slave).unwrap();
        if let Some(uid) = user {
            chown(&name, Some(uid), Some(uid)).unwrap();
        }
        let data = dir.path().join("data");
        let mode = fs::metadata(&data).unwrap().mode();
        let script = format!(
            ": > seen; for f in {top} {data} {data}/workspaces {data}/workspaces/*; do \
             chmod 000 $f 2>/dev/null && echo mode of $f >> seen; done; \
             test -e {terminal} && echo terminal >> seen; kill -0 {pid} 2>/dev/null && echo service >> seen; \
             test -e /proc/{pid} && echo its files in proc >> seen; \
             python3 -c 'import resource; resource.prlimit({pid}, resource.RLIMIT_CPU, (1, 1))' 2>/dev/null && echo limit >> seen; \
             for f in /etc/shadow /etc/shadow- /etc/gshadow-; do cat $f >/dev/null 2>&1 && echo $f >> seen; done; \
             test $(id -u) = 0 && echo root >> seen; date > done",
            top = dir.path().display(),
            data = data.display(),
            terminal = name.display(),
            pid = local.pid(),
        );
        let repository = repository();
        give(&repository, user);
        let run = succeeded(&local, &order(&repository.url(), &script)).await;
        succeeded(&local, &order(&repository.url(), "date > again")).await;
        give(&repository, user.map(|_| 0));
        assert_eq!(written(&repository, &run, "seen"), "", "as {user:?}");
        assert_eq!(fs::metadata(&data).unwrap().mode(), mode, "as {user:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_run_of_a_root_service_has_a_user_of_its_own_in_all_its_phases() {
    if !is_root() || !can_be_tested() {
        println!("skipped: only root can become another user");
        return;
    }
    // Closed to others, as the home of root is.
    let dir = tempfile::tempdir().unwrap();
    let local = Local::start(dir.path(), &[("AWO_AGENT_UIDS", "600100-600199")]);
    let tools = dir.path().join("tools/bin");
    fs::create_dir_all(&tools).unwrap();
    let makefile = "test:\n\t@test \"$$(id -u)\" = \"$$(cat user)\"\n\t@echo '1 passed in 0.1s'\n";
    let repository = Repository::with(&[("Makefile", makefile)]);
    let agent = "id -u > user; test \"$(id -g)\" = \"$(id -u)\"";
    let mut users = Vec::new();
    for _ in 0..2 {
        let run = succeeded(&local, &order(&repository.url(), agent)).await;
        let user: u32 = written(&repository, &run, "user").trim().parse().unwrap();
        assert!((600_100..=600_199).contains(&user), "{user}");
        users.push(user);
        let root = dir.path().join("data/workspaces").join(local.org.as_str());
        let workspace = root.join(run["runId"].as_str().unwrap()).join("workspace");
        // A manual verification is of its run's user, too: `make test` compares.
        let body = json!({ "workDir": workspace });
        let answer = local.client.post("/api/v1/verification/run", &body).await;
        assert_eq!(
            answer.body["data"]["overallStatus"], "passed",
            "{}",
            answer.text
        );
        if workspace.exists() {
            assert_eq!(fs::metadata(&workspace).unwrap().uid(), user);
        }
    }
    assert_ne!(users[0], users[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_below_a_folder_of_root_alone_are_found_and_what_is_beside_them_is_not() {
    if !is_root() || !can_be_tested() {
        println!("skipped: only root can become another user");
        return;
    }
    let dir = tempfile::tempdir_in("/srv")
        .or_else(|_| tempfile::tempdir_in("/opt"))
        .unwrap();
    let home = dir.path().join("home");
    let bin = home.join("kit/bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(home.join("secret"), "of the operator").unwrap();
    fs::write(bin.join("kit-tool"), "#!/bin/sh\necho from the kit\n").unwrap();
    for (path, mode) in [(bin.join("kit-tool"), 0o755), (home.clone(), 0o700)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let local = Local::start(dir.path(), &[("PATH", &path)]);
    let repository = repository();
    let script = format!(
        "kit-tool > made; cat {home}/secret > seen 2>/dev/null || : > seen; touch {bin}/x 2>/dev/null && echo x > seen; true",
        home = home.display(),
        bin = bin.display()
    );
    let run = succeeded(&local, &order(&repository.url(), &script)).await;
    assert_eq!(written(&repository, &run, "made").trim(), "from the kit");
    assert_eq!(written(&repository, &run, "seen"), "");
}

/// The service's own words when it does not start.
fn refusal(dir: &Path, settings: &[(&str, &str)]) -> String {
    let mut command = Command::new(program("awo-local"));
    command
        .env("AWO_DATA_DIR", dir.join("data"))
        .env("AWO_PORT", "0");
    let output = command
        .envs(settings.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success(), "it starts with {settings:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_service_that_requires_its_layers_starts_with_all_of_them_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let wrong = refusal(dir.path(), &[("AWO_CONFINEMENT", "yes")]);
    assert!(wrong.contains("AWO_CONFINEMENT=require"), "{wrong}");
    let require = ("AWO_CONFINEMENT", "require");
    if is_root() {
        let root = refusal(dir.path(), &[("AWO_AGENT_UID", "0")]);
        assert!(root.contains("never runs as root"), "{root}");
        let shared = refusal(dir.path(), &[require, ("AWO_AGENT_UID", "10001")]);
        assert!(
            shared.contains("user 10001 for all runs") && shared.contains("awo doctor"),
            "{shared}"
        );
    }
    if can_be_tested() {
        drop(Local::start(dir.path(), &[require]));
    }
}

#[test]
fn doctor_shows_the_layers_of_the_service_and_what_they_cost_where_they_are_missing() {
    let dir = tempfile::tempdir().unwrap();
    let doctor = |arguments: &[&str]| {
        let mut command = Command::new(program("awo"));
        command
            .arg("doctor")
            .args(arguments)
            .arg("--data-dir")
            .arg(dir.path().join("data"));
        let output = command.stdin(Stdio::null()).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let layer = |text: &str, name: &str| -> Value {
        let shown: Value = serde_json::from_str(text).unwrap();
        let layers = shown["layers"].as_array().unwrap();
        layers
            .iter()
            .find(|layer| layer["layer"] == name)
            .unwrap()
            .clone()
    };
    let (_, before) = doctor(&["--json"]);
    assert_eq!(layer(&before, "filter")["present"], true, "{before}");
    let settings: &[(&str, &str)] = if is_root() {
        &[("AWO_AGENT_UID", "10001")]
    } else {
        &[]
    };
    let _local = Local::start(dir.path(), settings);
    let (code, shown) = doctor(&["--json"]);
    let user = layer(&shown, "user");
    assert_eq!(user["present"], false, "{shown}");
    assert!(
        user["missing"].is_string() && user["repair"].is_string(),
        "{shown}"
    );
    assert_eq!(
        code,
        Some(i32::from(is_root() || !can_be_tested())),
        "{shown}"
    );
    let (_, text) = doctor(&[]);
    for word in [
        "namespaces",
        "landlock",
        "filter",
        "costs",
        "repair",
        "AWO_CONFINEMENT=require",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}
