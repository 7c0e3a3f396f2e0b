//! A service whose runners have the real programs, a model server, and work orders.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use awo_origins::bedrock::{Bedrock, KnownCredential, REGION, Reply};
use awo_tests::local::Local;
use awo_tests::processes::Watch;
use awo_tests::repository::Repository;
use awo_tests::role_sessions;
use awo_tests::service::program;
use serde_json::{Value, json};

use crate::models::{FAILURE, Manners, Models};

/// Stands in the organization's keys.
pub const CANARY: &str = "organizations-own";
/// What Bedrock is called for Claude Code's model, and with which role.
pub const PROFILE: &str = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
const ROLE: &str = "arn:aws:iam::000000000000:role/awo-bedrock";
/// `nobody`, where the tests run as root: Claude Code would refuse.
const AGENT_UID: &str = "65534";
/// How long a run may take on a busy machine.
const RUN_LIMIT: Duration = Duration::from_secs(120);
/// How long after a run something of it may be alive.
const DEATH_LIMIT: Duration = Duration::from_secs(5);

/// An agent type, its model, and the provider of that.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    pub agent: &'static str,
    pub model: &'static str,
    pub provider: &'static str,
}

pub const CLAUDE_CODE: Program = Program {
    agent: "claude-code",
    model: "claude-sonnet-4-5",
    provider: "anthropic",
};
pub const CODEX: Program = Program {
    agent: "codex",
    model: "gpt-5",
    provider: "openai",
};
pub const OPENCODE: Program = Program {
    agent: "opencode",
    model: "anthropic/claude-sonnet-4-5",
    provider: "anthropic",
};
pub const OPENCODE_OF_OPENAI: Program = Program {
    agent: "opencode",
    model: "openai/gpt-5",
    provider: "openai",
};
pub const ALL: [Program; 3] = [CLAUDE_CODE, CODEX, OPENCODE];

pub struct Scene {
    pub local: Local,
    pub models: Models,
    /// Everything that the service keeps.
    dir: tempfile::TempDir,
}

impl Scene {
    /// `first` is what every command of the models does first.
    pub async fn start(manners: Manners, first: &'static str) -> Scene {
        let models = Models::start(manners, first).await;
        let urls = [
            ("AWO_ANTHROPIC_BASE_URL", models.url.clone()),
            ("AWO_OPENAI_BASE_URL", models.url.clone()),
        ];
        let scene = Scene::of(models, &urls);
        for provider in ["anthropic", "openai"] {
            set_key(&scene.local, scene.dir.path(), provider);
        }
        scene
    }

    /// The same without a key: Bedrock answers Messages.
    pub async fn start_with_bedrock(first: &'static str) -> (Scene, Bedrock) {
        let models = Models::start(Manners::Good, first).await;
        let local_key: Arc<OnceLock<String>> = Arc::default();
        let known_key = Arc::clone(&local_key);
        let known = move |id: &str, token: &str| {
            let (secret, expires_at) = role_sessions::secret_of(&known_key, id, token)?;
            Some(KnownCredential { secret, expires_at })
        };
        let answering = models.clone();
        let bedrock = Bedrock::start(known, move |_, call| {
            let number = answering.take_of_bedrock(&call.token, &call.body);
            Reply::Message(answering.message(number, &json!(call.model), &call.body))
        });
        let settings = [
            ("AWO_BEDROCK_REGION", REGION.to_owned()),
            ("AWO_BEDROCK_ROLE_ARN", ROLE.to_owned()),
            ("AWO_BEDROCK_BASE_URL", bedrock.url.clone()),
            (
                "AWO_BEDROCK_INFERENCE_PROFILES",
                format!("{}={PROFILE}", CLAUDE_CODE.model),
            ),
        ];
        let scene = Scene::of(models, &settings);
        let key = std::fs::read_to_string(scene.data_dir().join("access-key-id")).unwrap();
        local_key.set(key.trim().to_owned()).unwrap();
        (scene, bedrock)
    }

    fn of(models: Models, more: &[(&str, String)]) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        // The agents' user has to get to its workspaces.
        let workspaces = dir.path().join("workspaces");
        std::fs::create_dir(&workspaces).unwrap();
        for place in [dir.path(), &workspaces] {
            std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut settings = vec![("AWO_WORKSPACE_ROOT", workspaces.to_str().unwrap())];
        settings.extend(more.iter().map(|(name, value)| (*name, value.as_str())));
        if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
            settings.push(("AWO_AGENT_UID", AGENT_UID));
        }
        let local = Local::start(dir.path(), &settings);
        Scene { local, models, dir }
    }

    /// Where the service stores everything.
    pub fn data_dir(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    /// Submits a work order for a program; `more` goes over it.
    pub async fn submit(&self, repository: &Repository, program: Program, more: Value) -> Value {
        let mut order = json!({
            "taskPrompt": "Make the answer right.",
            "workspaceSource": { "type": "git", "repository": repository.url(), "branch": "main" },
            "agent": { "type": program.agent, "model": program.model },
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            order[name] = value.clone();
        }
        let made = self.local.client.post("/v1/work-orders", &order).await;
        assert_eq!(made.status, 201, "{}", made.text);
        made.body
    }

    /// Waits until the models were called so often.
    pub async fn until_calls(&self, count: usize) {
        let began = Instant::now();
        while self.models.calls().len() < count {
            assert!(began.elapsed() < RUN_LIMIT, "{:?}", self.models.calls());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The run of a work order at its end, when nothing of it is alive any more.
    pub async fn ended(&self, order: &Value) -> Value {
        let id = order["runId"].as_str().unwrap();
        let over = |run: &Value| run.get("computeStoppedAt").is_some();
        let path = format!("/v1/runs/{id}");
        let run = self.local.client.until(&path, RUN_LIMIT, over).await;
        Watch::of(id).until_none(DEATH_LIMIT).await;
        run
    }

    /// The events of a run's timeline, of one type.
    pub async fn events(&self, run: &Value, kind: &str) -> Vec<Value> {
        let path = format!("/v1/runs/{}/events", run["runId"].as_str().unwrap());
        let events = self.local.client.get(&path).await.body["events"].clone();
        let events = events.as_array().unwrap().iter();
        events.filter(|e| e["type"] == kind).cloned().collect()
    }
}

/// As an operator sets it.
fn set_key(local: &Local, dir: &std::path::Path, provider: &str) {
    let mut admin = Command::new(program("awo"))
        .args(["admin", "--local", "set-secret", "--org"])
        .args([local.org.as_str(), "--name", provider])
        .env("AWO_DATA_DIR", dir.join("data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = admin.stdin.take().unwrap();
    write!(stdin, "{CANARY}-{provider}").unwrap();
    drop(stdin);
    assert!(admin.wait().unwrap().success());
}

/// A repository whose verification fails until the answer is right.
pub fn repository(more: &[(&str, &str)]) -> Repository {
    let makefile =
        format!("test:\n\t@grep -q right answer.txt || {{ echo '{FAILURE}'; exit 1; }}\n");
    let files = [("Makefile", makefile.as_str()), ("answer.txt", "none\n")];
    Repository::with(&[&files[..], more].concat())
}
