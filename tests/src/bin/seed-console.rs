//! A service with three months of runs, for tests of the console in a browser: `seed-console` prints one line of
//! JSON that says where it is and what its keys are, and serves until its standard input ends. With
//! `AWO_SEED_RUNS` its tables are in a file, and so many more runs were settled in this month.

#![expect(
    clippy::expect_used,
    reason = "a test's program: what it cannot do ends it"
)]

use awo_domain::api_key::Scope;
use awo_domain::cost::labels::CostLabels;
use awo_domain::cost::report::month;
use awo_domain::money::MicroCredits;
use awo_domain::{RunId, Timestamp, TransactionId};
use awo_store::ledger::credits::Booking;
use awo_tests::bulk_runs::BulkRuns;
use awo_tests::driven::DrivenRun;
use awo_tests::service::TestService;
use serde_json::{Value, json};

const CREDITS: i64 = 250_000;
/// For a hundred thousand runs and more.
const CREDITS_OF_MANY: i64 = 900_000_000;
/// For the runs that a test starts.
const CREDITS_OF_WORK: i64 = 100_000;
const HOUR_MS: i64 = 3_600_000;
/// Between two runs.
const STEP_MS: i64 = 31 * HOUR_MS;
const MODELS: [(&str, i64); 5] = [
    ("claude-sonnet-4-5", 9_000),
    ("claude-opus-4-1", 45_000),
    ("gpt-5", 7_000),
    ("gpt-4o-mini", 400),
    ("gemini-2.5-pro", 6_000),
];
/// One of them would do something if a page took it for markup, or a spreadsheet for a formula.
const TENANTS: [&str; 3] = ["acme", "globex", "=<img src=x onerror=\"hacked=1\">"];
const TEAMS: [&str; 3] = ["payments", "search", "</script><script>hacked=2</script>"];
const PROJECTS: [&str; 2] = ["checkout", "index"];
const REPOSITORIES: [&str; 2] = [
    "https://git.example/shop.git",
    "https://git.example/'onload=hacked=3'.git",
];
const PROMPT: &str = "\"><svg onload=hacked=4> javascript:hacked=5 {{hacked}}";

/// Numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).expect("a small number")
    }
}

#[tokio::main]
async fn main() {
    let settings = [("AWO_MAX_CONCURRENT", "0"), ("AWO_MAX_QUEUE_SIZE", "200")];
    let more = std::env::var("AWO_SEED_RUNS").ok();
    let more: Option<usize> = more.map(|runs| runs.parse().expect("a number of runs"));
    let service = match more {
        Some(_) => TestService::on_disk(0, &settings).await,
        None => TestService::start(0, &settings).await,
    };
    let clock = &service.service.cloud.clock;
    let now = clock.now();
    let began = months_before(now, 2).plus_ms(8 * HOUR_MS);
    clock.advance(began.epoch_ms() - now.epoch_ms());
    seed(&service, now).await;
    if let Some(runs) = more {
        settled_runs(&service, runs, now).await;
    }
    let live = working().await;
    let keys = json!({
        "liveUrl": live.service.base_url,
        "liveKey": key(&live, &[Scope::All]).await,
        "baseUrl": service.service.base_url,
        "key": key(&service, &[Scope::All]).await,
        "moneyKey": key(&service, &[Scope::CreditsRead]).await,
        "financeKey": key(&service, &[Scope::CreditsRead, Scope::BudgetsRead]).await,
        "runsKey": key(&service, &[Scope::RunsRead]).await,
        "engineerKey": key(&service, &[Scope::RunsRead, Scope::WorkOrdersRead]).await,
    });
    println!("{keys}");
    let ended =
        tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    ended
        .await
        .expect("a thread")
        .expect("the end of the standard input");
    live.service.stop().await;
    service.service.stop().await;
}

/// A service that runs what it is given, by the real time, and gives up a delivery within a second.
async fn working() -> TestService {
    let settings = [
        ("AWO_WEBHOOK_ALLOW_LOOPBACK", "1"),
        ("AWO_WEBHOOK_RETRY_DELAYS_MS", "10,10,10,10"),
    ];
    TestService::start(CREDITS_OF_WORK, &settings).await
}

/// So many more runs, spread over this month; the one before may be closed.
async fn settled_runs(service: &TestService, runs: usize, until: Timestamp) {
    let cloud = &service.service.cloud;
    let store = cloud.store().expect("settings");
    let began = months_before(until, 0);
    let id = TransactionId::new(began, cloud.mint.random(began));
    let credits = MicroCredits::from_credits(CREDITS_OF_MANY);
    let booking = Booking::default();
    let granted = store.grant(&service.org, &id, credits, &booking);
    granted.await.expect("credits");
    let each_ms = until.ms_since(began) / i64::try_from(runs).expect("a number of runs");
    let mut bulk = BulkRuns::of(service).await;
    let mut at = began;
    for nth in 0..runs {
        at = at.plus_ms(each_ms);
        bulk.add(nth, at).await;
    }
    bulk.finish().await;
}

/// The first moment of a month before.
fn months_before(now: Timestamp, months: u32) -> Timestamp {
    let mut first = month(now, 0);
    for _ in 0..months {
        first = month(first.plus_ms(-1), 0);
    }
    first
}

async fn key(service: &TestService, scopes: &[Scope]) -> String {
    let cloud = &service.service.cloud;
    let (key, store) = (cloud.mint.api_key(), cloud.store().expect("settings"));
    let limit = Some(100_000);
    let now = cloud.clock.now();
    let made = store.create_key(&key, &service.org, scopes, limit, "console", now);
    made.await.expect("a key");
    key.reveal().to_owned()
}

/// A budget of the organization that nothing reaches, one of a team that is passed, and one with a
/// hostile name.
async fn budgets(service: &TestService) {
    let limited = |name: &str, scope: Value, limit: i64| {
        json!({ "name": name, "scope": scope, "period": "month", "limitCredits": limit,
                "onLimit": "alert" })
    };
    for body in [
        limited("All", json!({}), CREDITS),
        limited(
            "Payments",
            json!({ "label": { "name": "team", "value": TEAMS[0] } }),
            5,
        ),
        limited(TEAMS[2], json!({ "tenantId": TENANTS[2] }), 20_000),
    ] {
        let made = service.client.post("/v1/budgets", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
}

async fn refund(service: &TestService, run: &RunId) {
    let cloud = &service.service.cloud;
    let (store, now) = (cloud.store().expect("settings"), cloud.clock.now());
    let id = TransactionId::new(now, cloud.mint.random(now));
    let booking = Booking {
        note: Some("it did not build".to_owned()),
        ..Booking::default()
    };
    let of = (MicroCredits::from_micro(250_007), &booking);
    let work = awo_store::ledger::refunds::ChargedWork::Run(run.clone());
    let refunded = store.refund(&service.org, &id, &work, of, now);
    refunded.await.expect("a refund");
}

/// Runs of all tenants, models and labels until now, refunds of some, one of them after its month was
/// closed, and some runs that are not over.
async fn seed(service: &TestService, until: Timestamp) {
    let (cloud, mut dice) = (&service.service.cloud, Dice(0x2545_f491_4f6c_dd1d));
    let store = cloud.store().expect("settings");
    let labels = ["team", "project"].map(str::to_owned);
    let labels = CostLabels::declare(&labels, &[]).expect("labels");
    let declared = store.declare_cost_labels(&service.org, &labels);
    declared.await.expect("a declaration");
    let began = cloud.clock.now();
    let id = TransactionId::new(began, cloud.mint.random(began));
    let credits = MicroCredits::from_credits(CREDITS);
    let booking = Booking::default();
    let granted = store.grant(&service.org, &id, credits, &booking);
    granted.await.expect("credits");
    budgets(service).await;
    let mut first = None;
    for nth in 0.. {
        let left = until.ms_since(cloud.clock.now());
        if left < STEP_MS {
            cloud.clock.advance(left);
            break;
        }
        let run = run(service, &mut dice).await;
        first.get_or_insert_with(|| run.run_id.clone());
        cloud.clock.advance(STEP_MS - 20 * 60_000);
        if nth % 6 == 5 {
            refund(service, &run.run_id).await;
        }
        if nth % 9 == 8 {
            service.service.sweep().await.expect("a sweep");
        }
    }
    let closed = store.close_months(&service.org, None, cloud.clock.now());
    assert!(!closed.await.expect("months").is_empty());
    refund(service, &first.expect("a run")).await;
    let waiting = create(service, &mut dice).await;
    let running = create(service, &mut dice).await;
    let mut running = DrivenRun::of(service, &running).await;
    running.iterate(1).await;
    assert_eq!(waiting["status"], "queued");
}

async fn create(service: &TestService, dice: &mut Dice) -> Value {
    let mut order = json!({
        "taskPrompt": PROMPT,
        "workspaceSource": { "type": "git", "repository": (REPOSITORIES[dice.below(2)]) },
        "maxIterations": 3,
        "limits": { "maxCredits": ([40, 1_000][dice.below(2)]) },
        "metadata": { "team": (TEAMS[dice.below(3)]), "project": (PROJECTS[dice.below(2)]) },
    });
    if dice.below(5) > 0 {
        order["tenantContext"] = json!({ "tenantId": (TENANTS[dice.below(3)]) });
    }
    let made = service.client.post("/v1/work-orders", &order).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

/// A run that ended twenty minutes after it was created.
async fn run(service: &TestService, dice: &mut Dice) -> DrivenRun {
    let order = create(service, dice).await;
    let mut run = DrivenRun::of(service, &order).await;
    service.service.cloud.clock.advance(20 * 60_000);
    run.iterate(1).await;
    let mut usage = Vec::new();
    for at in 0..=dice.below(2) {
        let (model, nano) = MODELS[(dice.below(4) + at) % 5];
        let tokens = 1 + i64::try_from(dice.below(90_000)).expect("a small number");
        let used = json!({ "model": model, "inputTokens": tokens, "cachedInputTokens": tokens / 3,
                           "outputTokens": tokens / 9 });
        usage.push(json!({ "usage": used, "costUsdNano": nano * tokens }));
    }
    let outcome = match dice.below(4) {
        0 => json!({ "type": "failed", "code": "AGENT_FAILED", "message": PROMPT }),
        _ => json!({ "type": "succeeded", "commit": "c1" }),
    };
    let body = json!({ "events": [], "outcome": outcome, "iterations": 1, "usage": usage });
    let finished = run.control("finish", &body).await;
    assert_eq!(finished.status, 200, "{}", finished.text);
    run
}
