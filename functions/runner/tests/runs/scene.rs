//! A complete run: a real origin, the real runner, a double of the control API.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use awo_domain::agent::{Agent, AgentType};
use awo_domain::control::{
    Children, ChildrenAnswer, Finish, IterationLog, Outcome, RunSpec, RunnerEvent, SnapshotDiff,
    StopRequest, Tariff, TurnRecord,
};
use awo_domain::plugin::Plugin;
use awo_domain::profile::Profile;
use awo_domain::run::RunErrorCode;
use awo_domain::template::Hooks;
use awo_domain::verification::{Check, PluginResult};
use awo_domain::{OrgId, RunId, TaskPrompt, Timestamp, WorkOrderId};
use base64::Engine as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::control_double::{ControlDouble, Fault};
pub use crate::waiting::{alive, until};

/// Longest that a run of these tests may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Stands for every secret of the task's environment.
pub const CANARY: &str = "canary-5ecret";
/// `nobody`, for agents where the tests run as root.
const AGENT_UID: &str = "65534";

pub struct Scene {
    pub dir: tempfile::TempDir,
    pub spec: RunSpec,
    pub fault: Fault,
    /// False: agents run as the user of the runner.
    pub other_user: bool,
    /// More of the runner's environment.
    pub env: Vec<(&'static str, String)>,
    /// A folder before all others in the PATH.
    pub programs: Option<PathBuf>,
    pub nonce: String,
}

/// A runner at work.
pub struct Running {
    pub control: ControlDouble,
    pub child: Child,
    pub run_dir: PathBuf,
}

/// A runner that ended.
pub struct EndedRunner {
    pub code: Option<i32>,
    pub events: Vec<RunnerEvent>,
    pub finish: Option<Finish>,
    pub claims: u32,
    /// With the number of events that were kept before.
    pub logs: Vec<(usize, IterationLog)>,
    pub diffs: Vec<SnapshotDiff>,
    pub turns: Vec<TurnRecord>,
    pub children: Vec<(Children, ChildrenAnswer)>,
    pub heartbeats: u64,
    pub run_dir: PathBuf,
    pub log: String,
}

/// Folder that agents may read beside their own: for what a test has them use.
pub const READABLE: &str = env!("CARGO_TARGET_TMPDIR");

impl Scene {
    /// An origin with `files`, and an agent that is the shell script `agent`.
    pub fn new(files: &[(&str, &str)], agent: &str) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let origin = dir.path().join("origin");
        fs::create_dir(&origin).unwrap();
        git(&origin, &["init", "-q", "-b", "main"]);
        commit_files(&origin, files);
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = u128::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let random = number << 32 | u128::from(std::process::id());
        let at = Timestamp::from_epoch_ms(1_790_000_000_000);
        let (org_id, run_id) = (OrgId::new(at, random), RunId::new(at, random));
        let nonce = format!("{org_id}.{run_id}.{CANARY}-nonce");
        let source = format!(r#"{{"repository":"file://{}"}}"#, origin.display());
        let spec = RunSpec {
            org_id,
            work_order_id: WorkOrderId::new(at, random),
            run_id,
            task_prompt: TaskPrompt::new("Make the test pass\n\nPlease."),
            source: serde_json::from_str(&source).unwrap(),
            hooks: Hooks::default(),
            allow_file_repositories: true,
            agent: Agent {
                kind: AgentType::Command,
                model: None,
                command: Some(vec!["sh".to_owned(), "-c".to_owned(), agent.to_owned()]),
            },
            asked_iterations: None,
            profile: Profile::default_profile(),
            plugins: Plugin::all_built_in(),
            max_duration_ms: 50_000,
            max_credits: 1_000.0,
            git_credentials: Vec::new(),
            forge: None,
            model_keys: Vec::new(),
            model_endpoints: Vec::new(),
            bedrock: None,
            tariff: Tariff::default(),
            start_commit: None,
            gate: None,
            depth: 0,
            parent_id: None,
            provider_waited_ms: 0,
            environment: None,
            resumption: None,
            thread: None,
            merge_target: false,
            result_branch: None,
        };
        Scene {
            dir,
            spec,
            fault: Fault::None,
            other_user: true,
            env: Vec::new(),
            programs: None,
            nonce,
        }
    }

    pub fn origin(&self) -> PathBuf {
        self.dir.path().join("origin")
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("workspaces")
    }

    fn path(&self) -> OsString {
        let all = std::env::var_os("PATH").unwrap();
        let own = self.programs.iter().cloned();
        std::env::join_paths(own.chain(std::env::split_paths(&all))).unwrap()
    }

    pub fn run_dir(&self) -> PathBuf {
        let org = self.root().join(self.spec.org_id.as_str());
        org.join(self.spec.run_id.as_str())
    }

    /// One iteration and no more.
    pub fn once(mut self) -> Scene {
        self.spec.asked_iterations = Some(1);
        self
    }

    pub fn start(&self) -> Running {
        let control =
            ControlDouble::start(self.spec.clone(), self.nonce.clone(), self.fault.clone());
        let root = self.root();
        let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
        command
            .env_clear()
            .env("PATH", self.path())
            .env("AWO_AGENT_PATHS", READABLE)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env("AWO_CONTROL_URL", &control.url)
            .env("AWO_NONCE", &self.nonce)
            .env("AWO_WORKSPACE_ROOT", &root)
            .env("AWS_SECRET_ACCESS_KEY", format!("{CANARY}-aws"))
            .env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/canary")
            .env("HTTP_PROXY", "http://127.0.0.1:1")
            .stdin(Stdio::null())
            .stderr(fs::File::create(self.dir.path().join("log")).unwrap());
        if self.other_user && nix::unistd::geteuid().is_root() {
            command.env("AWO_AGENT_UID", AGENT_UID);
        }
        Running {
            control,
            child: command.spawn().unwrap(),
            run_dir: self.run_dir(),
        }
    }

    pub fn run(&self) -> EndedRunner {
        self.start().end(self.dir.path())
    }
}

impl Running {
    /// Makes the runner read the stop request.
    pub fn send_sigterm(&self) {
        let runner = Pid::from_raw(self.child.id().cast_signed());
        kill(runner, Signal::SIGTERM).unwrap();
    }

    /// The supervisor of the one command that runs. A command in a namespace does not know its number.
    pub fn supervisor(&self) -> Pid {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let children = threads
            .flatten()
            .map(|thread| fs::read_to_string(thread.path().join("children")).unwrap());
        let children: String = children.collect::<Vec<String>>().join(" ");
        let is_supervisor = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("\0supervise\0")
        };
        let pids = children.split_whitespace().map(|pid| pid.parse().unwrap());
        let supervisors: Vec<i32> = pids.filter(is_supervisor).collect();
        assert_eq!(supervisors.len(), 1, "{supervisors:?}");
        Pid::from_raw(supervisors[0])
    }

    /// What a client's stop request amounts to: it is written down, and then SIGTERM is sent.
    pub fn stop_request(&self, stop_request: StopRequest) {
        self.control.seen().stop_request = Some(stop_request);
        self.send_sigterm();
    }

    pub fn workspace(&self) -> PathBuf {
        self.run_dir.join("workspace")
    }

    /// Waits for a file in the workspace.
    pub fn until_there_is(&self, file: &str) {
        let path = self.run_dir.join("workspace").join(file);
        until(file, || path.exists());
    }

    /// Waits for the runner's end; the rules of the protocol must have held.
    pub fn end(mut self, dir: &Path) -> EndedRunner {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                self.child.kill().unwrap();
                let log = fs::read_to_string(dir.join("log")).unwrap();
                panic!("the runner did not end: {log}");
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let seen = self.control.seen();
        assert_eq!(seen.violations, Vec::<String>::new());
        let log = fs::read_to_string(dir.join("log")).unwrap();
        let token = seen.token.as_deref().unwrap_or(CANARY);
        let texts = seen
            .logs
            .iter()
            .map(|(_, log)| String::from_utf8(output(log)).unwrap());
        for text in texts.chain([log.clone()]) {
            let clean = !text.contains(CANARY) && !text.contains(token);
            assert!(clean, "a secret is in the log: {text}");
        }
        EndedRunner {
            code: status.code(),
            events: seen.events.iter().map(|e| e.event.clone()).collect(),
            finish: seen.finish.clone(),
            claims: seen.claims,
            logs: seen.logs.clone(),
            diffs: seen.diffs.clone(),
            turns: seen.turns.clone(),
            children: seen.children.clone(),
            heartbeats: seen.heartbeats,
            run_dir: self.run_dir.clone(),
            log,
        }
    }
}

impl EndedRunner {
    pub fn outcome(&self) -> &Outcome {
        let finish = self.finish.as_ref();
        &finish
            .unwrap_or_else(|| panic!("no finish: {}", self.log))
            .outcome
    }

    /// The commit of a run that succeeded.
    pub fn succeeded(&self) -> (Option<&str>, Option<&str>) {
        match self.outcome() {
            Outcome::Succeeded { commit, branch, .. } => (commit.as_deref(), branch.as_deref()),
            other => panic!("{other:?} {:#?}", self.events),
        }
    }

    /// The message of a run that failed with `code`.
    pub fn failed(&self, code: RunErrorCode) -> &str {
        match self.outcome() {
            Outcome::Failed {
                code: is, message, ..
            } if *is == code => message,
            other => panic!("{other:?} {:#?}", self.events),
        }
    }

    /// Whether a run that was stopped as requested had to be forced, and its last commit. That the
    /// end is reported and nothing is left alive goes with it.
    pub fn stopped(&self, scene: &Scene) -> (bool, Option<&str>) {
        assert_eq!(alive(scene.spec.run_id.as_str()), Vec::<String>::new());
        assert_eq!(self.code, Some(0), "{}", self.log);
        match self.outcome() {
            Outcome::Stopped { forced, commit } => (*forced, commit.as_deref()),
            other => panic!("{other:?} {:#?}", self.events),
        }
    }

    /// The input tokens of the whole run.
    pub fn input_tokens(&self) -> u64 {
        let usage = &self.finish.as_ref().unwrap().usage;
        usage.iter().map(|model| model.usage.input_tokens).sum()
    }

    pub fn results(&self) -> Vec<&PluginResult> {
        let last = self.events.iter().rev().find_map(|event| match event {
            RunnerEvent::VerificationFinished { results, .. } => Some(results),
            _ => None,
        });
        last.unwrap_or_else(|| panic!("no verification: {:#?}", self.events))
            .iter()
            .collect()
    }

    /// The check of that name in the last verification.
    pub fn check(&self, name: &str) -> &Check {
        let results = self.results();
        let mut checks = results.iter().flat_map(|result| &result.checks);
        checks
            .find(|check| check.name == name)
            .unwrap_or_else(|| panic!("no check {name}: {results:#?}"))
    }

    /// Why the last attempt of the agent failed.
    pub fn agent_reason(&self) -> &str {
        let last = self.events.iter().rev().find_map(|event| match event {
            RunnerEvent::AgentFinished { reason, .. } => reason.as_deref(),
            _ => None,
        });
        last.unwrap_or_else(|| panic!("no agent failed: {:#?}", self.events))
    }
}

/// What stands in a log.
pub fn output(log: &IterationLog) -> Vec<u8> {
    let gzip = base64::engine::general_purpose::STANDARD.decode(&log.output);
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(gzip.unwrap().as_slice())
        .read_to_end(&mut text)
        .unwrap();
    text
}

/// Adds a commit with `files`; those that end in `.sh` are executable.
pub fn commit_files(origin: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = origin.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if name.ends_with(".sh") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    git(origin, &["add", "--all"]);
    git(origin, &["commit", "-q", "--allow-empty", "-m", "base"]);
}

/// Runs git in a folder, with nobody's configuration.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = try_git(dir, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub fn try_git(dir: &Path, args: &[&str]) -> Output {
    Command::new("git")
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(["-c", "user.name=Test", "-c", "user.email=test@localhost"])
        .args(args)
        .output()
        .unwrap()
}
