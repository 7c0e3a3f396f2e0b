use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use awo_local::access::AccessKey;
use awo_local::dynamodb::{self, Storage};
use awo_local::index_lag::IndexLag;
use awo_local::locks::Locks;
use awo_local::shutdown::Shutdown;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, Put,
    ScalarAttributeType, TimeToLiveSpecification, TransactWriteItem,
};

use crate::cloud::{dynamodb_client, eventually, loopback};

const SWEEP: Duration = Duration::from_millis(20);

async fn start(storage: &Storage) -> (Client, Client) {
    let (key, shutdown) = (AccessKey::random(), Shutdown::new());
    let server = dynamodb::start(
        loopback().await,
        storage,
        SWEEP,
        key.clone(),
        shutdown,
        (Locks::default(), IndexLag::default()),
    )
    .unwrap();
    let url = server.url();
    (
        dynamodb_client(&url, key.id()),
        dynamodb_client(&url, "AKIASTRANGER"),
    )
}

async fn table(client: &Client) {
    let attribute = AttributeDefinition::builder().attribute_name("id");
    let attribute = attribute
        .attribute_type(ScalarAttributeType::S)
        .build()
        .unwrap();
    let key = KeySchemaElement::builder()
        .attribute_name("id")
        .key_type(KeyType::Hash);
    let create = client
        .create_table()
        .table_name("work")
        .billing_mode(BillingMode::PayPerRequest);
    let create = create
        .attribute_definitions(attribute)
        .key_schema(key.build().unwrap());
    create.send().await.unwrap();
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn put_new(id: &str) -> TransactWriteItem {
    let put = Put::builder().table_name("work").item("id", text(id));
    let put = put
        .condition_expression("attribute_not_exists(id)")
        .build()
        .unwrap();
    TransactWriteItem::builder().put(put).build()
}

#[tokio::test]
async fn a_failed_condition_cancels_the_whole_transaction_and_says_why() {
    let (client, _) = start(&Storage::Memory).await;
    table(&client).await;
    client
        .put_item()
        .table_name("work")
        .item("id", text("a"))
        .send()
        .await
        .unwrap();
    let transaction = client.transact_write_items();
    let transaction = transaction
        .transact_items(put_new("b"))
        .transact_items(put_new("a"));
    let canceled = transaction.send().await.unwrap_err().into_service_error();
    let dynamodb_error = match canceled {
        aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError::TransactionCanceledException(error) => error,
        other => panic!("{other:?}"),
    };
    let codes: Vec<_> = dynamodb_error
        .cancellation_reasons()
        .iter()
        .filter_map(|reason| reason.code())
        .collect();
    assert_eq!(codes, ["None", "ConditionalCheckFailed"]);
    let missing = client
        .get_item()
        .table_name("work")
        .key("id", text("b"))
        .send()
        .await
        .unwrap();
    assert_eq!(missing.item, None);
}

#[tokio::test]
async fn a_token_makes_a_transaction_once_and_refuses_it_other_items() {
    let folder = tempfile::tempdir().unwrap();
    let (client, _) = start(&Storage::File(folder.path().join("db"))).await;
    table(&client).await;
    let transact = |token: &str, id: &str| {
        let transaction = client.transact_write_items().client_request_token(token);
        transaction.transact_items(put_new(id)).send()
    };
    // Rivals with one token: one of them commits, and all get its answer.
    let rivals = (0..16).map(|_| transact("token", "a"));
    for answer in futures::future::join_all(rivals).await {
        answer.unwrap();
    }
    let other = transact("token", "b").await.unwrap_err();
    assert_eq!(other.code(), Some("IdempotentParameterMismatchException"));
    transact("other", "b").await.unwrap();
    // A refused one is tried again, whatever it carries now.
    transact("third", "a").await.unwrap_err();
    transact("third", "c").await.unwrap();
}

#[tokio::test]
async fn a_failed_condition_is_the_error_that_the_sdk_knows() {
    let (client, _) = start(&Storage::Memory).await;
    table(&client).await;
    let put = || {
        let put = client.put_item().table_name("work").item("id", text("a"));
        put.condition_expression("attribute_not_exists(id)").send()
    };
    put().await.unwrap();
    let refused = put().await.unwrap_err().into_service_error();
    assert!(refused.is_conditional_check_failed_exception());
    let wrong = client
        .query()
        .table_name("work")
        .key_condition_expression("nonsense")
        .send();
    assert_eq!(wrong.await.unwrap_err().code(), Some("ValidationException"));
}

#[tokio::test]
async fn the_file_keeps_the_items_for_its_owner() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("work.db");
    let storage = Storage::File(file.clone());
    let (client, _) = start(&storage).await;
    table(&client).await;
    client
        .put_item()
        .table_name("work")
        .item("id", text("a"))
        .send()
        .await
        .unwrap();
    let (restarted, _) = start(&storage).await;
    let item = restarted
        .get_item()
        .table_name("work")
        .key("id", text("a"))
        .send()
        .await
        .unwrap();
    assert!(item.item.is_some());
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", entry.path().display());
    }
}

#[tokio::test]
async fn expired_items_go_by_themselves() {
    let (client, _) = start(&Storage::Memory).await;
    table(&client).await;
    let ttl = TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name("expires");
    let update = client.update_time_to_live().table_name("work");
    update
        .time_to_live_specification(ttl.build().unwrap())
        .send()
        .await
        .unwrap();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let expired = AttributeValue::N((now - 60).to_string());
    let put = client.put_item().table_name("work").item("id", text("old"));
    put.item("expires", expired).send().await.unwrap();
    eventually("the item is gone", async || {
        let get = client.get_item().table_name("work").key("id", text("old"));
        get.send().await.unwrap().item.is_none().then_some(())
    })
    .await;
}

#[tokio::test]
async fn strangers_are_refused() {
    let (client, stranger) = start(&Storage::Memory).await;
    table(&client).await;
    let refused = stranger.list_tables().send().await.unwrap_err();
    assert_eq!(refused.code(), Some("UnrecognizedClientException"));
    assert_eq!(
        client.list_tables().send().await.unwrap().table_names(),
        ["work"]
    );
}
