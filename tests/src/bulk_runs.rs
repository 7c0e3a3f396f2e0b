//! Many settled runs at once, for measurements: copies of a run that was settled, with ids, times, costs
//! and ledger entries of their own, written past the service as it would have written them. The service
//! itself adds their costs to its sums.

use std::collections::HashMap;

use awo_domain::cost::record::CostRecord;
use awo_domain::{Error, RunId, Timestamp, TransactionId, WorkOrderId};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};

use crate::rules::client;
use crate::service::TestService;

type Item = HashMap<String, AttributeValue>;

/// Most items of a write.
const BATCH: usize = 25;
/// Partitions with an item of a settled run, by the settings that name their tables.
const COPIED: [(&str, &str); 4] = [
    ("AWO_WORK_TABLE", "#wo"),
    ("AWO_WORK_TABLE", "#run"),
    ("AWO_LEDGER_TABLE", "#hold"),
    ("AWO_LEDGER_TABLE", "#settled"),
];

/// Copies settled runs of an organization.
pub struct BulkRuns<'a> {
    service: &'a TestService,
    tables: Client,
    /// With their items, their entry last.
    models: Vec<(CostRecord, Vec<(String, Item)>)>,
    /// What waits to be written.
    puts: HashMap<String, Vec<WriteRequest>>,
    charged_micro: i64,
    entries: i64,
}

impl<'a> BulkRuns<'a> {
    /// Of the organization's runs that were charged so far.
    ///
    /// # Panics
    /// When there is none, or the service fails.
    pub async fn of(service: &'a TestService) -> BulkRuns<'a> {
        let tables = client(&service.service.cloud);
        let mut bulk = BulkRuns {
            service,
            tables,
            models: Vec::new(),
            puts: HashMap::new(),
            charged_micro: 0,
            entries: 0,
        };
        let work = bulk.table("AWO_WORK_TABLE");
        let ledger = bulk.table("AWO_LEDGER_TABLE");
        let mut records = bulk.items(&work, "#cost").await;
        records.extend(bulk.items(&work, "#costnew").await);
        let entries = bulk.items(&ledger, "#entry").await;
        for item in records {
            let record: CostRecord = serde_dynamo::from_item(item).expect("a record of costs");
            let entry = entries.iter().find(|of| is(of, "id", record.id.as_str()));
            let order = record.work_order_id.clone();
            let usual = |entry: &&Item| !record.is_refund && !entry.contains_key("about");
            let Some((entry, order)) = entry.filter(usual).zip(order) else {
                continue;
            };
            let mut own = Vec::new();
            for (table, partition) in COPIED {
                let sk = match partition {
                    "#wo" => order.as_str(),
                    _ => record.run_id.as_str(),
                };
                let items = bulk.items(&bulk.table(table), partition).await;
                let item = items.into_iter().find(|item| is(item, "sk", sk));
                own.extend(item.map(|item| (bulk.table(table), item)));
            }
            own.push((ledger.clone(), entry.clone()));
            bulk.models.push((record, own));
        }
        assert!(!bulk.models.is_empty(), "no run was charged");
        bulk
    }

    fn table(&self, setting: &str) -> String {
        let environment = &self.service.service.cloud.environment;
        environment.required(setting).expect("a setting")
    }

    async fn items(&self, table: &str, partition: &str) -> Vec<Item> {
        let pk = AttributeValue::S(format!("{}{partition}", self.service.org));
        let query = self.tables.query().table_name(table);
        let query = query
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", pk);
        let mut pages = query.into_paginator().items().send();
        let mut all = Vec::new();
        while let Some(item) = pages.next().await {
            all.push(item.expect("an item"));
        }
        all
    }

    /// Another settled run, which was charged at a time.
    pub async fn add(&mut self, nth: usize, at: Timestamp) {
        let mint = &self.service.service.cloud.mint;
        let (old, items) = self.models[nth % self.models.len()].clone();
        let new = CostRecord {
            verification_id: None,
            id: TransactionId::new(at, mint.random(at)),
            at,
            run_id: RunId::new(at, mint.random(at)),
            work_order_id: Some(WorkOrderId::new(at, mint.random(at))),
            ..old.clone()
        };
        let order = |of: &CostRecord| of.work_order_id.clone().map(|id| id.to_string());
        let ids = [
            (Some(old.id.to_string()), Some(new.id.to_string())),
            (Some(old.run_id.to_string()), Some(new.run_id.to_string())),
            (order(&old), order(&new)),
        ];
        let ids: Vec<(String, String)> = ids.into_iter().filter_map(|(a, b)| a.zip(b)).collect();
        let later_ms = at.ms_since(old.at);
        for (table, item) in items {
            let copied = item.into_iter();
            let copied = copied.map(|(name, value)| (name, copy(value, &ids, later_ms)));
            self.put(&table, copied.collect()).await;
        }
        let mut item: Item = serde_dynamo::to_item(&new).expect("an item");
        let text = AttributeValue::S;
        let due = at.plus_ms(600_000).epoch_ms();
        item.extend([
            (
                "pk".to_owned(),
                text(format!("{}#costnew", self.service.org)),
            ),
            ("sk".to_owned(), text(new.id.to_string())),
            ("orgId".to_owned(), text(self.service.org.to_string())),
            ("dueShard".to_owned(), text("cost".to_owned())),
            ("dueAt".to_owned(), AttributeValue::N(due.to_string())),
            ("v".to_owned(), AttributeValue::N("1".to_owned())),
        ]);
        self.put(&self.table("AWO_WORK_TABLE"), item).await;
        self.charged_micro += new.total().credits_micro;
        self.entries += 1;
    }

    async fn put(&mut self, table: &str, item: Item) {
        let put = PutRequest::builder().set_item(Some(item)).build();
        let write = WriteRequest::builder()
            .put_request(put.expect("a put"))
            .build();
        let waiting = self.puts.entry(table.to_owned()).or_default();
        waiting.push(write);
        if waiting.len() == BATCH {
            let full = std::mem::take(waiting);
            self.write(table, full).await;
        }
    }

    async fn write(&self, table: &str, writes: Vec<WriteRequest>) {
        let batch = self.tables.batch_write_item().request_items(table, writes);
        let done = batch.send().await.expect("a write");
        let left = done.unprocessed_items.unwrap_or_default();
        assert!(left.is_empty(), "everything is written at once");
    }

    /// Writes what is left, the balance and the counts, and lets the service add the costs to its sums.
    ///
    /// # Panics
    /// When the service fails.
    pub async fn finish(mut self) {
        for (table, writes) in std::mem::take(&mut self.puts) {
            if !writes.is_empty() {
                self.write(&table, writes).await;
            }
        }
        let number = |of: i64| AttributeValue::N(of.to_string());
        let balance = self.tables.update_item();
        let balance = balance
            .table_name(self.table("AWO_LEDGER_TABLE"))
            .key("pk", AttributeValue::S(self.service.org.to_string()))
            .key("sk", AttributeValue::S("balance".to_owned()))
            .update_expression("ADD balance :less, available :less, entries :more, changes :more")
            .expression_attribute_values(":less", number(-self.charged_micro))
            .expression_attribute_values(":more", number(self.entries));
        balance.send().await.expect("the balance");
        let cloud = &self.service.service.cloud;
        let store = cloud.store().expect("settings");
        loop {
            // The service's own sweep adds, too.
            match store.add_costs(&self.service.org, cloud.clock.now()).await {
                Ok(false) => return,
                Ok(true) | Err(Error::Contended { .. }) => {}
                Err(error) => panic!("an addition: {error:?}"),
            }
        }
    }
}

fn is(item: &Item, name: &str, text: &str) -> bool {
    item.get(name)
        .and_then(|of| of.as_s().ok())
        .is_some_and(|of| of == text)
}

/// The same value with other ids, and times that are so much later.
fn copy(value: AttributeValue, ids: &[(String, String)], later_ms: i64) -> AttributeValue {
    match value {
        AttributeValue::S(text) => match Timestamp::parse(&text) {
            Ok(at) => AttributeValue::S(at.plus_ms(later_ms).to_string()),
            Err(_) => {
                let replaced = ids
                    .iter()
                    .fold(text, |text, (old, new)| text.replace(old, new));
                AttributeValue::S(replaced)
            }
        },
        AttributeValue::M(all) => {
            let copied = all.into_iter();
            let copied = copied.map(|(name, of)| (name, copy(of, ids, later_ms)));
            AttributeValue::M(copied.collect())
        }
        other => other,
    }
}
