//! A reader who types what the documents say: with a home, a repository in it, and a local service.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use awo_tests::local::Local;
use awo_tests::service::program;
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

/// Longest that a command may take.
const LIMIT: Duration = Duration::from_secs(120);

pub struct Reader {
    local: Option<Local>,
    dir: TempDir,
}

/// What a command showed.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl CommandOutput {
    pub fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

/// A command that runs beside others, until it is dropped.
pub struct Background {
    child: Child,
    log: PathBuf,
}

impl Background {
    pub fn shows(&self, text: &str) {
        let begun = Instant::now();
        loop {
            let shown = std::fs::read_to_string(&self.log).unwrap();
            if shown.contains(text) {
                return;
            }
            assert!(begun.elapsed() < LIMIT, "{text:?} is not in\n{shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let ended = Command::new("kill").args(["--", &group]).status();
        drop(ended);
        drop(self.child.wait());
    }
}

/// A port that is free now.
pub fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// The first id or key in a text that begins so.
pub fn found(text: &str, prefix: &str) -> String {
    let id = Regex::new(&format!("{prefix}[0-9A-Za-z]{{12,}}")).unwrap();
    let found = id
        .find(text)
        .unwrap_or_else(|| panic!("{prefix} in {text}"));
    found.as_str().to_owned()
}

impl Reader {
    /// One whose repository `~/my-project` has these files.
    pub fn new(files: &[(&str, &str)]) -> Reader {
        let reader = Reader {
            local: None,
            dir: tempfile::tempdir().unwrap(),
        };
        for folder in ["home/my-project", "bin", "service"] {
            std::fs::create_dir_all(reader.dir.path().join(folder)).unwrap();
        }
        for (name, content) in files {
            write(&reader.project().join(name), content);
        }
        reader.ran("git init --quiet --initial-branch main && git add --all && git commit --quiet --allow-empty --message base");
        reader
    }

    /// The same with a service that was started as `make run` does.
    pub fn started(files: &[(&str, &str)], settings: &[(&str, &str)]) -> Reader {
        let mut reader = Reader::new(files);
        reader.start(settings);
        reader
    }

    pub fn start(&mut self, settings: &[(&str, &str)]) {
        let (home, path, port) = (self.home(), self.path(), free_port());
        let config = home.join(".config/awo").display().to_string();
        let home = home.display().to_string();
        let own = [
            ("HOME", home.as_str()),
            ("AWO_CONFIG_DIR", &config),
            ("PATH", &path),
            ("AWO_PORT", &port),
        ];
        let settings = [&own[..], settings].concat();
        self.local = Some(Local::start(&self.dir.path().join("service"), &settings));
    }

    pub fn stop(&mut self) {
        self.local = None;
    }

    pub fn local(&self) -> &Local {
        self.local.as_ref().expect("a service")
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.home().join("my-project")
    }

    /// The service's data directory.
    pub fn data(&self) -> String {
        self.dir.path().join("service/data").display().to_string()
    }

    pub fn scratch(&self) -> &Path {
        self.dir.path()
    }

    fn path(&self) -> String {
        let programs = program("awo").parent().unwrap().to_owned();
        let own = self.dir.path().join("bin");
        let rest = std::env::var("PATH").unwrap();
        format!("{}:{}:{rest}", own.display(), programs.display())
    }

    /// A program in the reader's `PATH`.
    pub fn program(&self, name: &str, script: &str) {
        write(&self.dir.path().join("bin").join(name), script);
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("timeout");
        let seconds = LIMIT.as_secs().to_string();
        command
            .args([&seconds, "bash", "-euo", "pipefail", "-c", script])
            .current_dir(self.project())
            .env_clear()
            .env("PATH", self.path())
            .env("HOME", self.home())
            .env("LANG", "C.UTF-8")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null());
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Reader");
            command.env(format!("GIT_{who}_EMAIL"), "reader@example.com");
        }
        command
    }

    pub fn shell(&self, script: &str) -> CommandOutput {
        shown(&mut self.command(script))
    }

    /// What a script prints that has to succeed.
    pub fn ran(&self, script: &str) -> String {
        succeeded(script, &self.shell(script))
    }

    /// The same, in an operator's environment: it names the service's tables.
    pub fn operator_ran(&self, script: &str) -> String {
        let mut command = self.command(script);
        command.env("AWO_DATA_DIR", self.data());
        succeeded(script, &shown(&mut command))
    }

    /// The JSON that a command prints.
    pub fn json(&self, script: &str) -> Value {
        let shown = self.shell(script);
        assert_eq!(shown.code, Some(0), "{script}\n{shown:?}");
        serde_json::from_str(&shown.out).unwrap_or_else(|error| panic!("{error}: {shown:?}"))
    }

    pub fn begin(&self, script: &str) -> Background {
        let log = self.dir.path().join(free_port());
        let file = std::fs::File::create(&log).unwrap();
        let mut command = self.command(script);
        command.stdout(file.try_clone().unwrap()).stderr(file);
        let child = command.process_group(0).spawn().unwrap();
        Background { child, log }
    }

    /// The newest run, from the API.
    pub async fn newest_run(&self) -> Value {
        let list = self.local().client.get("/v1/runs?limit=1").await;
        let id = list.body["runs"][0]["runId"].as_str().unwrap().to_owned();
        let run = format!("/v1/runs/{id}");
        self.local()
            .client
            .until(&run, LIMIT, |run| run.get("computeStoppedAt").is_some())
            .await
    }

    /// A file of the branch that a run delivered.
    pub fn delivered(&self, run: &Value, file: &str) -> String {
        assert_eq!(run["status"], "succeeded", "{run:#}");
        let branch = run["branch"].as_str().unwrap();
        self.ran(&format!("git show '{branch}:{file}'"))
    }
}

fn shown(command: &mut Command) -> CommandOutput {
    let output = command.output().unwrap();
    CommandOutput {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn succeeded(script: &str, shown: &CommandOutput) -> String {
    assert_eq!(shown.code, Some(0), "{script}\n{}", shown.all());
    shown.all()
}

/// Writes a file; one that begins with `#!` can be run.
fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
    if content.starts_with("#!") {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}
