//! The embedded database in its own project's program, on a file, called in its own JSON.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use awo_tests::client::http_client;
use serde_json::{Value, json};

/// Items of a transaction: as many as a create writes.
const ITEMS: usize = 10;
const START_LIMIT: Duration = Duration::from_secs(30);

/// The database, with one table.
pub struct Floor {
    http: reqwest::Client,
    url: String,
    written: AtomicUsize,
    child: Child,
}

impl Floor {
    /// Starts it on a new file.
    pub async fn start(program: &OsStr, dir: &Path) -> Floor {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let child = Command::new(program)
            .args(["serve", "--port", &port.to_string(), "--db-path"])
            .arg(dir.join("floor.db"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the database starts");
        let floor = Floor {
            http: http_client(),
            url: format!("http://127.0.0.1:{port}/"),
            written: AtomicUsize::new(0),
            child,
        };
        let (began, table) = (Instant::now(), table());
        while floor.call("CreateTable", &table).await.is_none() {
            assert!(began.elapsed() < START_LIMIT, "the database does not start");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        floor
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A transaction of new items.
    pub async fn transact(&self, _client: usize) {
        let nth = self.written.fetch_add(1, Ordering::Relaxed);
        let put = |item: usize| {
            let prompt = "p".repeat(300);
            json!({ "Put": {
                "TableName": "floor",
                "Item": { "pk": { "S": format!("t{nth}") }, "sk": { "S": format!("{item}") }, "text": { "S": prompt } },
                "ConditionExpression": "attribute_not_exists(pk)",
            } })
        };
        let items: Vec<Value> = (0..ITEMS).map(put).collect();
        let body = json!({ "TransactItems": items });
        self.call("TransactWriteItems", &body)
            .await
            .expect("an answer");
    }

    /// A read of an item that is there.
    pub async fn read(&self, client: usize) {
        let nth = client % self.written.load(Ordering::Relaxed).max(1);
        let key = json!({ "pk": { "S": format!("t{nth}") }, "sk": { "S": "0" } });
        let body = json!({ "TableName": "floor", "Key": key, "ConsistentRead": true });
        self.call("GetItem", &body).await.expect("an answer");
    }

    async fn call(&self, operation: &str, body: &Value) -> Option<()> {
        let request = self
            .http
            .post(&self.url)
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
            .header("authorization", "AWS4-HMAC-SHA256 Credential=floor/20260101/eu-central-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
            .header("x-amz-date", "20260101T000000Z")
            .body(body.to_string());
        let response = request.send().await.ok()?;
        let status = response.status();
        let text = response.text().await.ok()?;
        assert!(status.is_success(), "{operation}: {text}");
        Some(())
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn table() -> Value {
    json!({
        "TableName": "floor",
        "AttributeDefinitions": [
            { "AttributeName": "pk", "AttributeType": "S" },
            { "AttributeName": "sk", "AttributeType": "S" },
        ],
        "KeySchema": [
            { "AttributeName": "pk", "KeyType": "HASH" },
            { "AttributeName": "sk", "KeyType": "RANGE" },
        ],
        "BillingMode": "PAY_PER_REQUEST",
    })
}
