//! Settlements that predate cost records: reports include them once an operator has recorded them.

use std::collections::HashMap;

use awo_domain::ledger::Rates;
use awo_tests::rules::{Dump, client};
use awo_tests::service::TestService;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;

use crate::cost_reports::{report, story};
use crate::http_api::quiet_service;
use crate::usage::Dice;

type Item = HashMap<String, AttributeValue>;

/// The tables as an earlier release left them.
struct Tables {
    client: aws_sdk_dynamodb::Client,
    org: String,
}

impl Tables {
    async fn items(&self, table: &str, partition: &str) -> Vec<Item> {
        let pk = AttributeValue::S(format!("{}{partition}", self.org));
        let query = self.client.query().table_name(table);
        let query = query
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", pk);
        query.send().await.unwrap().items.unwrap_or_default()
    }

    async fn forget_records(&self, table: &str) {
        for item in self.items(table, "#costnew").await {
            let delete = self.client.delete_item().table_name(table);
            let delete = delete
                .key("pk", item["pk"].clone())
                .key("sk", item["sk"].clone());
            delete.send().await.unwrap();
        }
    }

    /// Removes attributes that were not there then.
    async fn forget(&self, (table, partition): (&str, &str), names: &[&str]) {
        for mut item in self.items(table, partition).await {
            for name in names {
                item.remove(*name);
            }
            let put = self.client.put_item().table_name(table);
            put.set_item(Some(item)).send().await.unwrap();
        }
    }
}

async fn asked(service: &TestService, group: &str) -> Value {
    let query = [
        ("from", "2020-01-01".to_owned()),
        ("to", "2040-01-01".to_owned()),
        ("groupBy", group.to_owned()),
    ];
    report(service, &query).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_no_records_is_recorded_once_and_reports_agree_with_the_ledger() {
    let service = quiet_service().await;
    story(&service, &mut Dice(0x853c_49e6_748f_ea9b)).await;
    let cloud = &service.service.cloud;
    let store = cloud.store().unwrap();
    let setting = |name| cloud.environment.required(name).unwrap();
    let (work, ledger) = (setting("AWO_WORK_TABLE"), setting("AWO_LEDGER_TABLE"));
    let tables = Tables {
        client: client(cloud),
        org: service.org.to_string(),
    };
    let groups = ["model", "tenant", "outcome", "model,repository"];
    let mut before = Vec::new();
    for group in groups {
        before.push(asked(&service, group).await);
    }
    tables.forget_records(&work).await;
    tables.forget((&work, "#run"), &["attribution"]).await;
    tables.forget((&ledger, "#settled"), &["charge"]).await;
    assert_eq!(
        asked(&service, "model").await["rows"],
        serde_json::json!([])
    );

    let written = store.backfill_costs(&service.org, Rates::default()).await;
    assert!(written.unwrap() > 30);
    for (group, before) in groups.iter().zip(&before) {
        assert_eq!(&asked(&service, group).await, before, "{group}");
    }
    while store
        .add_costs(&service.org, cloud.clock.now())
        .await
        .unwrap()
    {}
    let again = store.backfill_costs(&service.org, Rates::default()).await;
    assert_eq!(again.unwrap(), 0);
    for (group, before) in groups.iter().zip(&before) {
        assert_eq!(&asked(&service, group).await, before, "{group}");
    }
    // Entries from before there were breakdowns: the sums are the ledger's all the same.
    let entries = tables.items(&ledger, "#entry").await;
    tables
        .forget((&ledger, "#entry"), &["modelMicro", "computeMicro"])
        .await;
    for (partition, table) in [("#cost", &work), ("#costsum", &work), ("#costhead", &work)] {
        for item in tables.items(table, partition).await {
            let delete = tables.client.delete_item().table_name(table);
            let delete = delete
                .key("pk", item["pk"].clone())
                .key("sk", item["sk"].clone());
            delete.send().await.unwrap();
        }
    }
    let written = store.backfill_costs(&service.org, Rates::default()).await;
    assert_eq!(written.unwrap(), u64::try_from(entries.len() - 1).unwrap());
    for (group, before) in groups.iter().zip(&before) {
        let now = asked(&service, group).await;
        for name in ["credits", "refunds", "runs", "inputTokens"] {
            assert_eq!(now["totals"][name], before["totals"][name], "{group}");
        }
    }
    let broken = Dump::of(cloud, &service.org).await.broken_rules(1_000);
    assert!(broken.is_empty(), "{broken:#?}");
}
