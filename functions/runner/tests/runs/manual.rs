//! Manual verifications in the runner: their two reports, their end, and the restrictions of their
//! commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use awo_domain::manual::{VerificationReport, VerificationSpec};
use awo_domain::plugin::{Plugin, PluginId};
use awo_domain::verification::{Level, Status};
use awo_domain::{OrgId, Timestamp, VerificationId};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::scene::{CANARY, alive, until};
use crate::serving::{Serving, serve};

const PATIENCE: Duration = Duration::from_secs(30);

/// A control API that loses the answer to the first try of each report.
#[derive(Debug)]
struct Double {
    spec: VerificationSpec,
    calls: Mutex<u32>,
    reports: Mutex<Vec<VerificationReport>>,
}

impl Double {
    /// Done is done, but every second answer is lost.
    fn answer(&self, body: Vec<u8>) -> (StatusCode, Vec<u8>) {
        let mut calls = self.calls.lock().unwrap();
        *calls += 1;
        match *calls % 2 {
            1 => (StatusCode::BAD_GATEWAY, b"lost".to_vec()),
            _ => (StatusCode::OK, body),
        }
    }
}

async fn claim(State(double): State<Arc<Double>>) -> (StatusCode, Vec<u8>) {
    double.answer(serde_json::to_vec(&double.spec).unwrap())
}

async fn report(
    State(double): State<Arc<Double>>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Vec<u8>) {
    assert!(headers.contains_key("authorization"));
    let report: VerificationReport = serde_json::from_slice(&body).unwrap();
    let mut reports = double.reports.lock().unwrap();
    if reports.last() != Some(&report) {
        reports.push(report);
    }
    double.answer(b"{}".to_vec())
}

/// A runner that verifies a workspace with one custom plugin, a shell script.
struct Stage {
    _serving: Serving,
    dir: tempfile::TempDir,
    double: Arc<Double>,
    runner: Child,
}

impl Stage {
    fn new(script: &str) -> Stage {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (at, random) = (
            Timestamp::from_epoch_ms(1_790_000_000_000),
            std::process::id(),
        );
        let random = u128::from(random) << 32 | u128::from(script.len() as u32);
        let (org, id) = (OrgId::new(at, random), VerificationId::new(at, random));
        let work_dir = dir
            .path()
            .join("workspaces")
            .join(org.as_str())
            .join("run/workspace");
        fs::create_dir_all(&work_dir).unwrap();
        let custom = Plugin {
            id: PluginId::parse("custom:script").unwrap(),
            name: "script".to_owned(),
            level: Level::Custom,
            command: Some(["sh", "-c", script].map(str::to_owned).to_vec()),
            timeout_ms: 60_000,
            ..Plugin::all_built_in().remove(0)
        };
        let spec = VerificationSpec {
            org_id: org.clone(),
            verification_id: id.clone(),
            work_dir: work_dir.display().to_string(),
            task_prompt: None,
            modified_files: None,
            plugins: vec![custom],
            timeout_ms: 60_000,
            run_id: None,
            environment: None,
        };
        let double = Arc::new(Double {
            spec,
            calls: Mutex::default(),
            reports: Mutex::default(),
        });
        let serving = serving(Arc::clone(&double));
        let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("AWO_CONTROL_URL", &serving.url)
            .env("AWO_NONCE", format!("{org}.{id}.{CANARY}"))
            .env("AWO_WORKSPACE_ROOT", dir.path().join("workspaces"))
            .env("AWS_SECRET_ACCESS_KEY", CANARY)
            .stdin(Stdio::null())
            .stderr(fs::File::create(dir.path().join("log")).unwrap());
        if nix::unistd::geteuid().is_root() {
            command.env("AWO_AGENT_UID", "65534");
        }
        Stage {
            _serving: serving,
            runner: command.spawn().unwrap(),
            double,
            dir,
        }
    }

    fn end(&mut self) -> Option<i32> {
        let began = std::time::Instant::now();
        loop {
            if let Some(status) = self.runner.try_wait().unwrap() {
                return status.code();
            }
            if began.elapsed() > PATIENCE {
                self.runner.kill().unwrap();
                panic!(
                    "{}",
                    fs::read_to_string(self.dir.path().join("log")).unwrap()
                );
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn reports(&self) -> Vec<VerificationReport> {
        self.double.reports.lock().unwrap().clone()
    }

    fn work_dir(&self) -> PathBuf {
        PathBuf::from(&self.double.spec.work_dir)
    }

    /// Nothing of it lives, and it has left no folder.
    fn is_swept(&self) {
        let id = self.double.spec.verification_id.as_str();
        assert_eq!(alive(id), Vec::<String>::new());
        assert!(
            !self
                .work_dir()
                .ancestors()
                .nth(2)
                .unwrap()
                .join(id)
                .exists()
        );
    }
}

fn serving(double: Arc<Double>) -> Serving {
    let reports = format!(
        "/control/{}/verifications/{}/report",
        double.spec.org_id, double.spec.verification_id
    );
    let app = Router::new()
        .route("/control/verifications/claim", post(claim))
        .route(&reports, post(report))
        .with_state(double);
    serve(app)
}

#[test]
fn both_reports_arrive_though_answers_are_lost_and_commands_see_no_secret() {
    let script = format!(
        "if env | grep {CANARY}; then exit 9; fi; \
         if grep -aq {CANARY} /proc/[0-9]*/environ 2>/dev/null && test $(id -u) != 0; then exit 8; fi; \
         test -d \"$HOME\" && touch \"$HOME/x\" \"$TMPDIR/x\" || exit 7; \
         case \"$HOME\" in */ver_*) ;; *) exit 6;; esac; pwd; setsid sleep 4321 & exit 1"
    );
    let mut stage = Stage::new(&script);
    assert_eq!(stage.end(), Some(0));
    let reports = stage.reports();
    assert_eq!(reports.len(), 2, "{reports:#?}");
    assert_eq!(reports[0], VerificationReport::Begun {});
    let VerificationReport::Finished { result } = &reports[1] else {
        panic!("{reports:#?}");
    };
    assert_eq!(result.overall_status, Status::Failed);
    let check = &result.results[0].checks[0];
    assert!(
        check.message.starts_with("exit code 1 "),
        "{}",
        check.message
    );
    assert!(
        check.message.contains(&stage.double.spec.work_dir),
        "{}",
        check.message
    );
    stage.is_swept();
}

#[test]
fn a_task_that_is_asked_to_stop_stops_and_reports_nothing_more() {
    let mut stage = Stage::new("touch $TMPDIR/at-work; sleep 4321");
    let id = stage.double.spec.verification_id.as_str().to_owned();
    let org_dir = stage.work_dir().ancestors().nth(2).unwrap().to_owned();
    until("its command runs", || {
        org_dir.join(&id).join("tmp/at-work").exists()
    });
    kill(
        Pid::from_raw(stage.runner.id().cast_signed()),
        Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(stage.end(), Some(143));
    assert_eq!(stage.reports(), [VerificationReport::Begun {}]);
    stage.is_swept();
}
