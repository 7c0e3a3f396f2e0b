//! Verifications that clients request happen in the environment of the run whose workspace they name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use awo_tests::client::Answer;
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use aws_sdk_ecs::types::Volume;
use serde_json::{Value, json};

use super::containers::{cloud, definition_of, image};
use super::runs::{
    AGENT_SECRET, MAKEFILE, SETUP_SECRET, VERIFY_SECRET, holding, order, ran, set_secret,
};
use super::{delete, make, put, service};
use crate::plugins::register;

const RUN: &str = "/api/v1/verification/run";
/// What looks for the secrets of other phases, and knows them only in pieces: its own processes' and
/// all other variables, and the files of home, temporary folder and workspace.
const HUNTER: &str = r#"
for which in setup:3141592653 agent:1618033988; do
  V=$(printf '%s-%s-%s' "${which%%:*}" secret "${which##*:}")
  cat /proc/[0-9]*/environ 2>/dev/null | grep -aq "$V" && echo "LEAKED ${which%%:*} by a process" && exit 2
  grep -rqs "$V" "$HOME" "$TMPDIR" . && echo "LEAKED ${which%%:*} in a file" && exit 2
done
test -e "$HOME/alive.pid" && kill -0 "$(cat "$HOME/alive.pid")" 2>/dev/null && echo LEAKED a process && exit 2
test -z "$SETUP$MINE" || exit 2
echo "printed $CHECK"; echo "$CHECK" > theirs.txt; exit 1
"#;

async fn verify(service: &TestService, dir: &Path, more: Value) -> Answer {
    let mut body = json!({ "workDir": dir });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    service.client.post(RUN, &body).await
}

async fn verified(service: &TestService, dir: &Path, more: Value) -> Value {
    let answer = verify(service, dir, more).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["data"].clone()
}

/// The message of a 400 at the path of the workspace.
fn refused(answer: &Answer, parts: &[&str]) {
    let got = (answer.status, answer.body["error"]["code"].as_str());
    assert_eq!(got, (400, Some("BAD_REQUEST")), "{}", answer.text);
    for part in [&["/workDir"], parts].concat() {
        assert!(answer.text.contains(part), "{part}: {}", answer.text);
    }
}

/// A run that has succeeded in an environment of this body; its workspace.
async fn ended(
    service: &TestService,
    environment: &Value,
    secrets: &[(&str, &str)],
    makefile: &str,
) -> (Value, PathBuf) {
    make(&service.client, environment).await;
    for (name, value) in secrets {
        set_secret(service, environment["name"].as_str().unwrap(), name, value).await;
    }
    let repository = Repository::with(&[("Makefile", makefile)]);
    let mut body = order(&repository.url(), "echo x > done");
    body["environment"] = environment["name"].clone();
    let run = ran(service, &body).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let dir = PathBuf::from(run["workDir"].as_str().unwrap());
    (run, dir)
}

/// The only task of a verification.
fn task(service: &TestService) -> Value {
    let started_by = format!("{}/ver_", service.org);
    service.service.ecs.described(&started_by).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manual_verification_has_variables_secrets_setup_and_size_of_its_run() {
    let service = service().await;
    let secret = |name: &str, phase: &str| json!({ "name": name, "phases": [phase] });
    let setup = "echo printed $SETUP; echo $SETUP > kept.txt; echo $SETUP > \"$HOME/.npmrc\"; \
                 echo $SETUP > \"$TMPDIR/x\"; setsid sleep 600 & echo $! > \"$HOME/alive.pid\"; \
                 test -z \"$MINE$CHECK\" && test -n \"$AWO_RUN_ID\" && pwd > where.txt";
    let environment = json!({
        "name": "e", "variables": { "MODE": "test-mode" }, "size": "large",
        "secrets": [secret("SETUP", "setup"), secret("CHECK", "verify"), secret("MINE", "agent")],
        "setup": [{ "name": "deps", "run": setup }],
    });
    let makefile = "test:\n\t@test \"$$CHECK\" = \"$$(printf 'verify-%s' secret-2718281828)\" && \
                    test -z \"$$MINE$$SETUP\" && test \"$$MODE\" = test-mode && test -e kept.txt && echo '1 passed in 0.1s'\n";
    let secrets = [
        ("SETUP", SETUP_SECRET),
        ("CHECK", VERIFY_SECRET),
        ("MINE", AGENT_SECRET),
    ];
    let (_, dir) = ended(&service, &environment, &secrets, makefile).await;
    std::fs::remove_file(dir.join("kept.txt")).unwrap();
    let result = verified(&service, &dir, json!({})).await;
    assert_eq!(result["overallStatus"], "passed", "{result:#}");
    assert!(dir.join("kept.txt").exists(), "it happens in place");
    let set_up = std::fs::read_to_string(dir.join("where.txt")).unwrap();
    assert_eq!(Path::new(set_up.trim()), dir);
    let task = task(&service);
    assert_eq!(
        (&task["cpu"], &task["memory"]),
        (&json!("2048"), &json!("8192")),
        "{task}"
    );

    // What it prints and leaves is masked, and secrets of other phases are nowhere.
    let plugin = json!({ "id": "custom:hunter", "command": ["sh", "-c", HUNTER] });
    register(&service.client, &plugin).await;
    let answer = verify(&service, &dir, json!({ "pluginIds": ["custom:hunter"] })).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.body["data"]["overallStatus"], "failed");
    assert!(answer.text.contains("exit code 1 "), "{}", answer.text);
    assert!(answer.text.contains("printed ***"), "{}", answer.text);
    assert!(dir.join("theirs.txt").exists());
    for value in [SETUP_SECRET, VERIFY_SECRET, AGENT_SECRET] {
        assert!(!answer.text.contains(value), "{}", answer.text);
        let org_dir = dir.ancestors().nth(2).unwrap();
        assert_eq!(holding(org_dir, value), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_environment_that_fails_has_a_clear_outcome() {
    let service = service().await;
    let client = &service.client;
    let environment = json!({ "name": "e", "variables": { "V": "old" } });
    let makefile = "test:\n\t@test \"$$V\" = old && echo '1 passed in 0.1s'\n";
    let (_, dir) = ended(&service, &environment, &[], makefile).await;
    let check = |result: &Value| {
        assert_eq!(result["overallStatus"], "error", "{result:#}");
        let checks = &result["results"][0]["checks"];
        assert_eq!(checks[0]["name"], "environment", "{result:#}");
        checks[0]["message"].as_str().unwrap().to_owned()
    };
    // As it is now, as for a run that would be claimed now.
    let steps =
        |run: &str| json!([{ "name": "first", "run": "true" }, { "name": "deps", "run": run }]);
    let new = json!({ "setup": steps("echo so it goes; exit 3") });
    assert_eq!(put(client, "/v1/environments/e", &new).await.status, 200);
    let message = check(&verified(&service, &dir, json!({})).await);
    for part in ["\"deps\"", "environment e", "exit code 3", "so it goes"] {
        assert!(message.contains(part), "{message}");
    }
    // The setup is part of the verification's time.
    let new = json!({ "setup": steps("sleep 60") });
    assert_eq!(put(client, "/v1/environments/e", &new).await.status, 200);
    let result = verified(&service, &dir, json!({ "timeoutMs": 1_000 })).await;
    assert!(check(&result).contains("time of 1000 ms"), "{result:#}");
    // A secret that is gone, and one that is there again.
    let new = json!({
        "variables": { "V": "old" }, "secrets": [{ "name": "T", "phases": ["verify"] }],
    });
    assert_eq!(put(client, "/v1/environments/e", &new).await.status, 200);
    let answer = verify(&service, &dir, json!({})).await;
    refused(&answer, &["environment e", "set-secret --name env:e:T"]);
    set_secret(&service, "e", "T", VERIFY_SECRET).await;
    let result = verified(&service, &dir, json!({})).await;
    assert_eq!(result["overallStatus"], "passed", "{result:#}");
    // One that is deleted is what it was when the work order's newest run was made.
    assert_eq!(delete(client, "/v1/environments/e").await.status, 204);
    let result = verified(&service, &dir, json!({})).await;
    assert_eq!(result["overallStatus"], "passed", "{result:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_decides_the_environment_and_leads_nowhere_else() {
    let service = service().await;
    let environment = json!({ "name": "e", "variables": { "V": "mine" } });
    let (_, dir) = ended(&service, &environment, &[], MAKEFILE).await;
    std::fs::create_dir(dir.join("part")).unwrap();
    let plan = "tests: [{name: v, run: 'test \"$V\" = mine'}]\n";
    std::fs::write(dir.join("part/verify.yaml"), plan).unwrap();
    let result = verified(&service, &dir.join("part"), json!({})).await;
    assert_eq!(result["overallStatus"], "passed", "{result:#}");

    let repository = Repository::with(&[("Makefile", MAKEFILE)]);
    let other = ran(&service, &order(&repository.url(), "echo x > done")).await;
    let other = PathBuf::from(other["workDir"].as_str().unwrap());
    std::os::unix::fs::symlink(&other, dir.join("out")).unwrap();
    for path in [
        dir.join("out"),
        dir.join("../..")
            .join(other.strip_prefix(dir.ancestors().nth(2).unwrap()).unwrap()),
    ] {
        refused(
            &verify(&service, &path, json!({})).await,
            &["the run that it names"],
        );
    }
    // That run has none, and its workspace is verified without one.
    let result = verified(&service, &other, json!({})).await;
    assert_eq!(result["overallStatus"], "passed", "{result:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_workspace_of_a_run_that_has_not_ended_sees_nothing_of_its_environment() {
    let service = service().await;
    make(&service.client, &json!({ "name": "e" })).await;
    let repository = Repository::with(&[("Makefile", MAKEFILE)]);
    let gate = service.dir.path().join("gate");
    let script = format!(
        "while ! test -e {}; do sleep 0.05; done; echo x > done",
        gate.display()
    );
    let mut body = order(&repository.url(), &script);
    body["environment"] = json!("e");
    let made = service.client.post("/v1/work-orders", &body).await;
    let path = format!("/v1/runs/{}", made.body["runId"].as_str().unwrap());
    let is_at_work = |run: &Value| run["phase"] == "agent" && run.get("workDir").is_some();
    let run = service
        .client
        .until(&path, Duration::from_secs(30), is_at_work)
        .await;
    let dir = PathBuf::from(run["workDir"].as_str().unwrap());
    refused(&verify(&service, &dir, json!({})).await, &["has not ended"]);
    let canceled = service
        .client
        .post(&format!("{path}/cancel"), &json!({}))
        .await;
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    let has_stopped = |run: &Value| run.get("computeStoppedAt").is_some();
    service
        .client
        .until(&path, Duration::from_secs(30), has_stopped)
        .await;
    let result = verified(&service, &dir, json!({})).await;
    assert_eq!(result["overallStatus"], "passed", "{result:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_workspace_of_a_run_with_own_containers_is_refused_with_the_reason() {
    let service = cloud().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let services = json!([{
        "name": "db", "image": "postgres:17", "port": listener.local_addr().unwrap().port(),
    }]);
    for environment in [
        json!({ "name": "pg", "services": services }),
        json!({ "name": "own", "image": image("node"), "size": "large" }),
    ] {
        let (run, dir) = ended(&service, &environment, &[], MAKEFILE).await;
        refused(
            &verify(&service, &dir, json!({})).await,
            &["an image or services", "not archived"],
        );
        let of_run = definition_of(&service, &run).await;
        assert_eq!(of_run.task_role_arn(), None);
        let shared = |one: &Volume| one.efs_volume_configuration().is_some();
        assert!(!of_run.volumes().iter().any(shared));
    }
}
