//! A service that can be killed and restarted, and the invariants afterwards.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use awo_tests::agents::order;
use awo_tests::client::{Answer, Client};
use awo_tests::local::Local;
use awo_tests::processes::Watch;
use awo_tests::repository::Repository;
use awo_tests::rules::Dump;
use serde_json::Value;

/// From the start of the new service until everything is over and every slot is back: with work
/// for the machine beside it, but without waiting for a deadline of a lost task.
pub const REST_LIMIT: Duration = Duration::from_secs(90);
/// How long processes may outlive the service that was killed.
const DEATH_LIMIT: Duration = Duration::from_secs(15);

/// Folder of the files that agents and checks see appear.
const SIGNALS: &str = "signals";

/// What outlives the service.
pub struct House {
    dir: tempfile::TempDir,
    repository: Repository,
    /// Slots of the organization, from the next start on.
    pub slots: &'static str,
}

impl House {
    /// Its verification takes for ever, and its agents escape, as long as it is not calm.
    pub fn new(slots: &'static str) -> House {
        let dir = tempfile::tempdir().unwrap();
        let signals = dir.path().join(SIGNALS);
        std::fs::create_dir(&signals).unwrap();
        let calm = signals.join("calm");
        let makefile = format!(
            "test:\n\t@test -e {} || {{ setsid sleep 4321 & trap '' TERM; sleep 4321; }}\n",
            calm.display()
        );
        House {
            repository: Repository::with(&[("Makefile", &makefile)]),
            dir,
            slots,
        }
    }

    pub fn start(&self) -> Local {
        let signals = self.dir.path().join(SIGNALS).display().to_string();
        let settings = [
            ("AWO_MAX_CONCURRENT", self.slots),
            ("AWO_AGENT_PATHS", &signals),
        ];
        Local::start(self.dir.path(), &settings)
    }

    fn calm_file(&self) -> PathBuf {
        self.dir.path().join(SIGNALS).join("calm")
    }

    pub fn calm_down(&self) {
        std::fs::write(self.calm_file(), "").unwrap();
    }

    /// A work order whose agent runs the script until the house is calm; then it works for some
    /// seconds, and has done it.
    pub fn order(&self, script: &str, seconds: &str) -> Value {
        let calm = self.calm_file();
        let script = format!(
            "if [ -e {} ]; then sleep {seconds}; echo > done; exit; fi; {script}",
            calm.display()
        );
        order(&self.repository.url(), &script)
    }

    /// Everything of any of its runs has its folders in its environment.
    fn processes(&self) -> Watch {
        let workspaces = self.dir.path().join("data/workspaces");
        Watch::of(&format!("{}/org_", workspaces.display()))
    }

    /// Kills the service, sees that all that it ran dies with it, and starts it again.
    pub async fn restart(&self, local: Local) -> Local {
        local.kill();
        let began = Instant::now();
        self.processes().until_none(DEATH_LIMIT).await;
        let dead_after = began.elapsed();
        let local = self.start();
        println!(
            "all dead after {dead_after:?}, ready after {:?}",
            local.ready_after
        );
        local
    }
}

pub fn path_of(order: &Value) -> String {
    format!("/v1/work-orders/{}", order["id"].as_str().unwrap())
}

pub async fn create(client: &Client, key: &str, order: &Value) -> reqwest::Result<Answer> {
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", key),
    ];
    let body = order.to_string().into_bytes();
    client
        .try_send("POST", "/v1/work-orders", &headers, body)
        .await
}

/// Sends a create again that was answered before the service was killed.
pub async fn replays(client: &Client, key: &str, order: &Value, first: &Answer) {
    let again = create(client, key, order).await.unwrap();
    assert_eq!((again.status, &again.text), (first.status, &first.text));
    assert_eq!(again.header("idempotent-replayed"), "true");
}

/// The newest run of a work order, once its compute is gone.
pub async fn ended(client: &Client, order: &Value) -> Value {
    let order = client.get(&path_of(order)).await.body;
    let over = |run: &Value| run.get("computeStoppedAt").is_some();
    let run = format!("/v1/runs/{}", order["runId"].as_str().unwrap());
    client.until(&run, REST_LIMIT, over).await
}

/// It ended with the service: it costs nothing if no client code had run, else its compute.
pub fn is_lost(run: &Value) {
    assert_eq!(run["status"], "failed", "{run:#}");
    let is_free = run["cost"]["credits"] == 0;
    let code = if is_free {
        "COMPUTE_LOST"
    } else {
        "RUNNER_FAILED"
    };
    assert_eq!(run["error"]["code"], code, "{run:#}");
}

/// It ended with the service while client code ran, and pays for compute up to its last heartbeat.
pub fn is_lost_and_paid(run: &Value) {
    is_lost(run);
    let credits = run["cost"]["credits"].as_f64().unwrap();
    assert!(credits > 0.0, "{run:#}");
    let time_of = |name: &str| -> awo_domain::Timestamp {
        serde_json::from_value(run[name].clone()).unwrap()
    };
    let whole_ms = time_of("completedAt").ms_since(time_of("startedAt"));
    // A credit a minute, by the second begun.
    let most = (whole_ms as f64 / 1_000.0).ceil() / 60.0;
    assert!(credits <= most + 1e-6, "{credits} of {most}: {run:#}");
}

/// Starts a work order again whose run was lost; it succeeds.
pub async fn succeeds_again(client: &Client, order: &Value) {
    let path = format!("/api/v1/work-orders/{}/runs", order["id"].as_str().unwrap());
    let started = client.send("POST", &path, &[], Vec::new()).await;
    assert_eq!(started.status, 201, "{}", started.text);
    let run = ended(client, order).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(run["runId"], started.body["data"]["runId"]);
}

/// Every rule holds on the tables, everything is over, and the books balance for a client, too.
pub async fn at_rest(house: &House, local: &Local) -> Dump {
    let began = Instant::now();
    let cloud = local.cloud().await;
    let dump = loop {
        let dump = Dump::of(&cloud, &local.org).await;
        let broken = dump.broken_rules(house.slots.parse().unwrap());
        assert!(broken.is_empty(), "{broken:#?}");
        if dump.is_at_rest() {
            break dump;
        }
        assert!(began.elapsed() < REST_LIMIT, "no rest: {dump:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let left = house.processes().alive();
    assert!(left.is_empty(), "{left:#?}");
    let credits = local.client.get("/v1/credits").await.body;
    assert_eq!(credits["reserved"], 0, "{credits}");
    let (balance, booked) = (
        credits["balance"].as_f64().unwrap(),
        booked(&local.client).await,
    );
    assert!(
        (balance - booked).abs() < 1e-6,
        "balance {balance}, booked {booked}"
    );
    println!("at rest after {:?}", began.elapsed());
    dump
}

/// What all transactions come to; no run is in two deductions.
async fn booked(client: &Client) -> f64 {
    let (mut sum, mut charged) = (0.0, std::collections::BTreeSet::new());
    let mut offset = 0;
    loop {
        let path = format!("/v1/credits/usage?limit=100&offset={offset}");
        let page = client.get(&path).await.body;
        let transactions = page["transactions"].as_array().unwrap();
        for transaction in transactions {
            let amount = transaction["amount"].as_f64().unwrap();
            if transaction["type"] == "deduction" {
                let run = transaction["runId"].as_str().unwrap().to_owned();
                assert!(charged.insert(run), "charged twice: {transaction}");
                sum -= amount;
            } else {
                sum += amount;
            }
        }
        offset += transactions.len();
        if transactions.is_empty() || page["total"] == offset {
            return sum;
        }
    }
}
