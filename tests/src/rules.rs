//! The rules that hold at every step, checked on the content of the tables.

use std::collections::{BTreeMap, BTreeSet};

use awo_cloud::Cloud;
use awo_domain::OrgId;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use serde_json::Value;

use crate::budget_rules::waits_for_budget;
use crate::deployment_rules;
use crate::family_rules::is_suspended;
use crate::verification_rules::is_deduction_of;

/// The partitions of an organization, without those of single runs.
const PARTITIONS: [(&str, &[&str]); 6] = [
    (
        "AWO_WORK_TABLE",
        &[
            "",
            "#wo",
            "#run",
            "#queue",
            "#waiting",
            "#cascade",
            "#lease",
            "#idem",
            "#purge",
            "#usage",
            "#day",
            "#again",
            "#cost",
            "#costnew",
            "#costsum",
            "#outcome",
            "#pull",
            "#verification",
        ],
    ),
    ("AWO_LEDGER_TABLE", &["", "#entry", "#hold", "#settled"]),
    ("AWO_LEDGER_TABLE", &["#refunded", "#budget"]),
    ("AWO_LEDGER_TABLE", &["#listed", "#purchased"]),
    ("AWO_SETTINGS_TABLE", &["#webhook", "#webhooks", "#costs"]),
    ("AWO_DELIVERIES_TABLE", &["#outbox"]),
];

/// A client of its own, past all faults.
#[must_use]
pub fn client(cloud: &Cloud) -> Client {
    let setting = |name| cloud.environment.required(name).expect("a setting");
    let credentials = Credentials::new(setting("AWS_ACCESS_KEY_ID"), "local", None, None, "test");
    let config = aws_sdk_dynamodb::config::Builder::new()
        .behavior_version(BehaviorVersion::latest())
        // Without TLS: reading the machine's certificates for each dump would be most of its time.
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(Region::new(setting("AWS_REGION")))
        .endpoint_url(setting("AWS_ENDPOINT_URL_DYNAMODB"))
        .credentials_provider(credentials)
        .build();
    Client::from_conf(config)
}

async fn query(
    client: &Client,
    table: &str,
    org: &OrgId,
    partition: &str,
) -> Vec<(String, String, Value)> {
    let key = format!("{org}{partition}");
    let items = deployment_rules::query(client, table, "pk", &key).await;
    let found = items.into_iter().map(|value| {
        let sk = value["sk"].as_str().unwrap_or_default().to_owned();
        (partition.to_owned(), sk, value)
    });
    found.collect()
}

/// The items of an organization, by what stands before the sort key's partition.
#[derive(Debug, Clone, PartialEq)]
pub struct Dump {
    items: Vec<(String, String, Value)>,
    beside: Vec<String>,
}

impl Dump {
    /// Everything that the tables hold of an organization.
    pub async fn of(cloud: &Cloud, org: &OrgId) -> Dump {
        Dump::read(&client(cloud), cloud, org).await
    }

    /// As [`Dump::of`], with a client that was made before.
    pub async fn read(client: &Client, cloud: &Cloud, org: &OrgId) -> Dump {
        let mut items = Vec::new();
        for (table, partitions) in PARTITIONS {
            let table = cloud.environment.required(table).expect("a table");
            for partition in partitions {
                items.extend(query(client, &table, org, partition).await);
            }
        }
        let work = cloud.environment.required("AWO_WORK_TABLE");
        let work = work.expect("a table");
        let runs: Vec<String> = items
            .iter()
            .filter(|(pk, ..)| pk == "#run")
            .map(|(_, sk, _)| sk.clone())
            .collect();
        for run in runs {
            items.extend(query(client, &work, org, &format!("#{run}#event")).await);
            items.extend(query(client, &work, org, &format!("#{run}#audit")).await);
        }
        let orders: Vec<String> = items
            .iter()
            .filter(|(pk, _, order)| pk == "#wo" && number(order, "children") > 0)
            .map(|(_, sk, _)| sk.clone())
            .collect();
        for order in orders {
            items.extend(query(client, &work, org, &format!("#{order}#child")).await);
        }
        let beside = Box::pin(deployment_rules::broken(client, cloud, org)).await;
        Dump { items, beside }
    }

    /// The items of a partition, such as `#queue`.
    #[must_use]
    pub fn partition(&self, partition: &str) -> Vec<&Value> {
        self.items
            .iter()
            .filter(|(pk, _, _)| pk == partition)
            .map(|(_, _, item)| item)
            .collect()
    }

    pub(crate) fn one(&self, partition: &str, sk: &str) -> Option<&Value> {
        self.items
            .iter()
            .find(|(pk, s, _)| pk == partition && s == sk)
            .map(|(_, _, item)| item)
    }

    /// The work orders.
    #[must_use]
    pub fn work_orders(&self) -> Vec<&Value> {
        self.partition("#wo")
    }

    /// The runs.
    #[must_use]
    pub fn runs(&self) -> Vec<&Value> {
        self.partition("#run")
    }

    /// The leases.
    #[must_use]
    pub fn leases(&self) -> Vec<&Value> {
        self.partition("#lease")
    }

    /// Credits that are reserved, in micro-credits.
    #[must_use]
    pub fn reserved(&self) -> i64 {
        self.one("", "balance").map_or(0, |b| number(b, "reserved"))
    }

    /// True if nothing waits or is still to be deleted, no slot is taken and no hold is open.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        let quiet = |partition| self.partition(partition).is_empty();
        let idle = [
            "#lease",
            "#queue",
            "#purge",
            "#waiting",
            "#cascade",
            "#verification",
        ];
        idle.into_iter().all(quiet) && self.reserved() == 0
    }

    /// What is wrong, if anything.
    #[must_use]
    pub fn broken_rules(&self, max_concurrent: i64) -> Vec<String> {
        let mut broken = self.beside.clone();
        self.check_tally(max_concurrent, &mut broken);
        self.check_ledger(&mut broken);
        self.check_verifications(&mut broken);
        self.check_usage(&mut broken);
        self.check_costs(&mut broken);
        self.check_outcomes(&mut broken);
        self.check_statements(&mut broken);
        self.check_budgets(&mut broken);
        self.check_subscribers(&mut broken);
        for run in self.runs() {
            self.check_run(run, &mut broken);
            self.check_audit(run, &mut broken);
        }
        for order in self.work_orders() {
            self.check_work_order(order, &mut broken);
        }
        broken
    }

    fn check_tally(&self, max_concurrent: i64, broken: &mut Vec<String>) {
        let nothing = Value::Null;
        let tally = self.one("", "tally").unwrap_or(&nothing);
        let mut same = |what: &str, tallied: i64, there: usize| {
            if tallied != i64::try_from(there).unwrap_or(i64::MAX) {
                broken.push(format!(
                    "the tally says {tallied} {what}, and there are {there}"
                ));
            }
        };
        same("slots", number(tally, "slots"), self.leases().len());
        same(
            "waiting entries",
            number(tally, "waiting"),
            self.partition("#queue").len(),
        );
        for (prefix, partition) in [("wo_", "#wo"), ("run_", "#run")] {
            let mut by_status: BTreeMap<String, usize> = BTreeMap::new();
            for item in self.partition(partition) {
                *by_status.entry(text(item, "status")).or_default() += 1;
            }
            let fields = tally.as_object().into_iter().flatten();
            let tallied: BTreeSet<String> = fields
                .filter_map(|(name, _)| name.strip_prefix(prefix).map(str::to_owned))
                .collect();
            for status in tallied.into_iter().chain(by_status.keys().cloned()) {
                let there = by_status.get(&status).copied().unwrap_or(0);
                same(
                    &format!("{prefix}{status}"),
                    number(tally, &format!("{prefix}{status}")),
                    there,
                );
            }
        }
        if number(tally, "slots") > max_concurrent {
            broken.push(format!("more slots are taken than there are: {tally}"));
        }
    }

    fn check_ledger(&self, broken: &mut Vec<String>) {
        let Some(balance) = self.one("", "balance") else {
            return;
        };
        let entries = self.partition("#entry");
        let signed = |entry: &&Value| match text(entry, "type").as_str() {
            "deduction" => -number(entry, "amountMicro"),
            _ => number(entry, "amountMicro"),
        };
        let sum: i64 = entries.iter().map(signed).sum();
        let settled: BTreeSet<String> = self
            .partition("#settled")
            .iter()
            .map(|s| text(s, "sk"))
            .collect();
        let open: i64 = self
            .partition("#hold")
            .iter()
            .filter(|hold| !settled.contains(&text(hold, "sk")))
            .map(|hold| self.hold_of(hold))
            .sum();
        let (total, reserved, available) = (
            number(balance, "balance"),
            number(balance, "reserved"),
            number(balance, "available"),
        );
        for (what, wrong) in [
            ("the sum of the entries is not the balance", sum != total),
            ("the open holds are not what is reserved", open != reserved),
            (
                "available is not balance less reserved",
                available != total - reserved,
            ),
            ("the balance is below zero", total < 0 || available < 0),
            (
                "the number of entries is wrong",
                number(balance, "entries") != i64::try_from(entries.len()).unwrap_or(0),
            ),
        ] {
            if wrong {
                broken.push(format!("{what}: {balance}, sum {sum}, open holds {open}"));
            }
        }
    }

    /// A hold without the parts of the run's children.
    fn hold_of(&self, hold: &Value) -> i64 {
        let holds = self.partition("#hold").into_iter();
        let parts = holds.filter(|part| part["outOf"] == hold["sk"]);
        let taken: i64 = parts.map(|part| number(part, "amountMicro")).sum();
        number(hold, "amountMicro") - taken
    }

    fn check_run(&self, run: &Value, broken: &mut Vec<String>) {
        let (id, status) = (text(run, "runId"), text(run, "status"));
        let events = self.partition(&format!("#{id}#event"));
        let sequences: Vec<i64> = events.iter().map(|e| number(e, "sequence")).collect();
        let wanted: Vec<i64> = (1..=number(run, "lastSequence")).collect();
        if sequences != wanted {
            broken.push(format!("{id} has the events {sequences:?}, not {wanted:?}"));
        }
        let terminal = ["succeeded", "failed", "canceled"].contains(&status.as_str());
        let ends = events
            .iter()
            .filter(|e| {
                ["run.completed", "run.failed", "run.cancelled"].contains(&text(e, "type").as_str())
            })
            .count();
        if ends != usize::from(terminal) {
            broken.push(format!("{id} is {status} and has {ends} terminal events"));
        }
        let hold = self.one("#hold", &id).map(|hold| self.hold_of(hold));
        let wanted = (!waits_for_budget(run)).then(|| number(run, "holdMicro"));
        if hold != wanted {
            broken.push(format!("{id} holds {hold:?}, and says otherwise: {run}"));
        }
        let settlement = self.one("#settled", &id);
        let (leased, stopped) = (
            self.one("#lease", &id).is_some(),
            run.get("computeStoppedAt").is_some(),
        );
        let settled = run.get("settledAt").is_some();
        // What a client stopped is settled when its compute is gone; all else at its end.
        let by_client = status == "canceled" || text(&run["error"], "code") == "KILLED";
        let wanted = terminal && (stopped || !by_client);
        if settlement.is_some() != settled || settled != wanted {
            broken.push(format!(
                "{id} is {status}, settled: {settled}, its compute stopped: {stopped}, and its settlement is {settlement:?}"
            ));
        }
        if stopped != (terminal && !leased) {
            broken.push(format!(
                "{id} is {status}, has a slot: {leased}, its compute stopped: {stopped}"
            ));
        }
        let charged: Vec<i64> = self
            .partition("#entry")
            .iter()
            .filter(|e| is_deduction_of(e, &id))
            .map(|e| number(e, "amountMicro"))
            .collect();
        let deduction = settlement.map_or(0, |s| number(s, "deductionMicro"));
        if charged.len() > 1 || charged.iter().sum::<i64>() != deduction {
            broken.push(format!(
                "{id} was charged {charged:?}, and its settlement says {deduction}"
            ));
        }
        if let Some(settlement) = settlement
            && hold != Some(deduction + number(settlement, "releaseMicro"))
        {
            broken.push(format!(
                "{id}: hold {hold:?} is not deduction plus release: {settlement}"
            ));
        }
        let waits = self.waits(&id);
        let needs_slot = ["building", "running"].contains(&status.as_str()) && !is_suspended(run);
        if (!is_suspended(run) && (status == "queued") != waits) || (needs_slot && !leased) {
            broken.push(format!(
                "{id} is {status}, waits: {waits}, has a slot: {leased}"
            ));
        }
    }

    pub(crate) fn waits(&self, run_id: &str) -> bool {
        self.partition("#queue")
            .iter()
            .any(|entry| text(entry, "runId") == run_id)
    }

    fn check_work_order(&self, order: &Value, broken: &mut Vec<String>) {
        let (id, status) = (text(order, "id"), text(order, "status"));
        let Some(run) = self.one("#run", &text(order, "runId")) else {
            broken.push(format!("{id} has no run"));
            return;
        };
        let run_status = text(run, "status");
        let agree = match status.as_str() {
            "running" => {
                ["building", "running"].contains(&run_status.as_str()) && !is_suspended(run)
            }
            "waiting_for_children" => is_suspended(run),
            "integrating" => run_status == "running" && run.get("resumedAt").is_some(),
            other => run_status == other,
        };
        if !agree {
            broken.push(format!("{id} is {status} and its run is {run_status}"));
        }
        self.check_family(order, run, broken);
    }
}

pub(crate) fn number(item: &Value, name: &str) -> i64 {
    item[name].as_i64().unwrap_or(0)
}

pub(crate) fn text(item: &Value, name: &str) -> String {
    item[name].as_str().unwrap_or_default().to_owned()
}
