//! The program `awo-local` as a separate process, which can be killed and restarted with its data.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use awo_cloud::{Cloud, Environment};
use awo_domain::OrgId;
use serde_json::Value;

use crate::client::Client;
use crate::service::program;

/// Longest wait for the service to serve.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Longest wait for the service to end when it is asked to; it stops its tasks first.
const END_LIMIT: Duration = Duration::from_secs(60);

/// A service that runs on a directory. Dropping it asks it to end, and waits.
pub struct Local {
    /// A client with the key of its organization.
    pub client: Client,
    /// Its organization.
    pub org: OrgId,
    /// From the start of the program until it served.
    pub ready_after: Duration,
    child: Child,
    data: PathBuf,
}

impl Local {
    /// Starts the service on what the directory holds.
    ///
    /// # Panics
    /// When it does not serve in time.
    #[must_use]
    pub fn start(dir: &Path, settings: &[(&str, &str)]) -> Local {
        Local::start_as(dir, settings, None)
    }

    /// The same as another user, to whom the directory belongs; our own where absent.
    ///
    /// # Panics
    /// When it does not serve in time.
    #[must_use]
    pub fn start_as(dir: &Path, settings: &[(&str, &str)], user: Option<u32>) -> Local {
        let (data, ready) = (dir.join("data"), dir.join("ready.json"));
        drop(std::fs::remove_file(&ready));
        let began = Instant::now();
        let mut command = Command::new(program("awo-local"));
        if let Some(uid) = user {
            command.uid(uid).gid(uid);
            // The home of another user cannot be entered, nor can what PATH has there.
            command
                .env("HOME", dir)
                .env("PATH", "/usr/local/bin:/usr/bin:/bin");
        }
        let mut child = command
            .env("AWO_DATA_DIR", &data)
            .env("AWO_PORT", "0")
            .env("AWO_READY_FILE", &ready)
            .env("AWO_REQUESTS_PER_MINUTE", "1000000")
            .env("AWO_LOG", "warn")
            .envs(settings.iter().copied())
            // Of the bench, not of the service.
            .env_remove("AWO_BENCH_TABLE")
            .stdout(Stdio::null())
            .spawn()
            .expect("awo-local starts");
        while !ready.exists() {
            let ended = child.try_wait().expect("a child");
            assert!(ended.is_none(), "awo-local ended: {ended:?}");
            assert!(began.elapsed() < START_LIMIT, "the service does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        let ready_after = began.elapsed();
        let reported: Value =
            serde_json::from_slice(&std::fs::read(&ready).expect("a file")).expect("JSON");
        let text = |name: &str| reported[name].as_str().expect("a text");
        Local {
            client: Client::new(text("baseUrl"), Some(text("apiKey"))),
            org: OrgId::parse(text("orgId")).expect("an id"),
            ready_after,
            child,
            data,
        }
    }

    /// The id of its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
    }

    /// The product's view of its stand-ins.
    pub async fn cloud(&self) -> Cloud {
        let reported = std::fs::read(self.data.join("endpoints.json")).expect("a file");
        let reported: Value = serde_json::from_slice(&reported).expect("JSON");
        let environment = Environment::new(move |name| reported[name].as_str().map(str::to_owned));
        Cloud::new(environment, awo_cloud::http_client())
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let asked = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        let began = Instant::now();
        while asked.is_ok() && began.elapsed() < END_LIMIT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
