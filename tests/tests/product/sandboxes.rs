//! An agent's view of the machine that the service runs on.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use awo_supervisor::Sandbox;
use awo_tests::agents::{order, submit};
use awo_tests::local::Local;
use awo_tests::repository::Repository;
use serde_json::json;

/// What is secret of a service, by its name in the data directory.
const SECRETS: [&str; 4] = [
    "access-key-id",
    "endpoints.json",
    "first-key.json",
    "secrets.json",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_a_hook_and_a_verifier_read_nothing_of_the_services_data() {
    if !Sandbox::is_available() {
        println!("skipped: this kernel has no Landlock");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let local = Local::start(dir.path(), &[]);
    let data = dir.path().join("data");
    let data = data.display();
    let there = SECRETS.map(|name| dir.path().join("data").join(name).exists());
    assert!(
        there.iter().filter(|there| **there).count() >= 3,
        "{there:?}"
    );
    let read = format!(
        "for f in {data} {data}/*.* {data}/access-key-id {data}/workspaces {data}/workspaces/*; do \
         if cat $f || ls $f/ || echo x >> $f; then echo $f >> seen; fi; done; : > tried"
    );
    // Its own folders are its own, and it can find its programs.
    let agent = format!("{read}; test -r $AWO_PROMPT && date > $TMPDIR/x && make --version > made");
    let makefile = format!("test:\n\t@{}\n\t@test ! -e seen\n", read.replace('$', "$$"));
    let repository = Repository::with(&[("Makefile", &makefile)]);
    let made = submit(&local.client, &order(&repository.url(), &agent)).await;
    let run = local.client.finished_run(&made).await;
    let events = format!("/v1/runs/{}/events", run["runId"].as_str().unwrap());
    let events = local.client.get(&events).await.text;
    assert_eq!(run["status"], "succeeded", "{run:#}\n{events}");
    let branch = run["branch"].as_str().unwrap();
    let files = repository.files(branch);
    assert!(files.contains(&"tried".to_owned()), "{files:?}");
    assert!(files.contains(&"made".to_owned()), "{files:?}");
    assert!(
        !files.contains(&"seen".to_owned()),
        "{}",
        repository.show(branch, "seen")
    );
    let template = json!({
        "id": "nosy", "name": "Nosy", "description": "Reads files",
        "variables": [], "tags": [],
        "source": { "type": "git", "repository": repository.url(), "branch": "main" },
        "hooks": { "postCreate": [format!("! cat {data}/first-key.json")] },
    });
    let made = local.client.post("/v1/templates", &template).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut asked = order(&repository.url(), ": > done");
    asked["workspaceSource"] = json!({ "type": "template", "templateId": "nosy" });
    let made = submit(&local.client, &asked).await;
    let run = local.client.finished_run(&made).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_service_is_roots_agents_are_another_user_if_that_one_gets_in() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        println!("skipped: only root can become another user");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.path(), open).unwrap();
    let local = Local::start(dir.path(), &[("PATH", "/usr/local/bin:/usr/bin:/bin")]);
    let data = dir.path().join("data");
    let others = |name: &str| {
        let mode = std::fs::metadata(data.join(name))
            .unwrap()
            .permissions()
            .mode();
        mode & 0o077
    };
    assert_eq!(others("first-key.json"), 0);
    assert_eq!(others("."), 0o011, "a way through, and no look around");
    let makefile = "test:\n\t@test $$(id -u) -ne 0\n";
    let repository = Repository::with(&[("Makefile", makefile)]);
    let agent = format!(
        "id -u > user; cat {data}/first-key.json || ls {data} || : > tried",
        data = data.display()
    );
    let made = submit(&local.client, &order(&repository.url(), &agent)).await;
    let run = local.client.finished_run(&made).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let branch = run["branch"].as_str().unwrap();
    let user: u32 = repository.show(branch, "user").trim().parse().unwrap();
    assert!((500_000..=524_287).contains(&user), "{user}");
    assert!(repository.files(branch).contains(&"tried".to_owned()));
    // What the service writes from now on is its own, too.
    for entry in std::fs::read_dir(&data).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(name == "workspaces" || others(&name) == 0, "{name}");
    }
}
