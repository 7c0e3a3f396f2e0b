//! The service on one machine, without a free slot: created work orders wait.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use awo_tests::client::http_client;
use awo_tests::local::Local;
use futures::StreamExt;
use futures::stream;
use serde_json::{Value, json};

/// Work orders are made by so many at once where nothing is measured.
const MAKERS: usize = 16;

/// The service.
pub struct Machine {
    local: Local,
    http: reqwest::Client,
    created: AtomicUsize,
    newest: Mutex<String>,
}

impl Machine {
    /// Starts it on a new folder.
    pub fn start(dir: &Path) -> Machine {
        let settings = [
            ("AWO_MAX_CONCURRENT", "0"),
            ("AWO_MAX_QUEUE_SIZE", "1000000"),
        ];
        Machine {
            local: Local::start(dir, &settings),
            http: http_client(),
            created: AtomicUsize::new(0),
            newest: Mutex::default(),
        }
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.local.pid()
    }

    /// How many work orders there are.
    pub fn count(&self) -> usize {
        self.created.load(Ordering::Relaxed)
    }

    /// Creates a work order.
    pub async fn create(&self, _client: usize) {
        let body = json!({
            "taskPrompt": "Repair the functions that the failing tests of src/dates.c name, and no others. ".repeat(4),
            "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
            "limits": { "maxCredits": 1 },
        });
        let url = format!("{}/v1/work-orders", self.local.client.base_url());
        let request = self
            .http
            .post(url)
            .header("content-type", "application/json");
        let answer = self.send(request.body(body.to_string())).await;
        let id = answer["id"].as_str().expect("an id").to_owned();
        *self.newest.lock().expect("no panic") = id;
        self.created.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads the newest work order.
    pub async fn read(&self, _client: usize) {
        let newest = self.newest.lock().expect("no panic").clone();
        self.get(&format!("/v1/work-orders/{newest}")).await;
    }

    /// Reads the first page of the list.
    pub async fn list(&self) {
        self.get("/v1/work-orders?limit=20").await;
    }

    /// Reads where the newest work order stands in the queue.
    pub async fn position(&self) {
        let newest = self.newest.lock().expect("no panic").clone();
        self.get(&format!("/api/v1/queue/position/{newest}")).await;
    }

    /// Creates work orders until so many are there.
    pub async fn fill_queue(&self, wanted: usize) {
        let missing = wanted.saturating_sub(self.count());
        stream::iter(0..missing)
            .for_each_concurrent(MAKERS, |client| self.create(client))
            .await;
    }

    async fn get(&self, path: &str) {
        let url = format!("{}{path}", self.local.client.base_url());
        self.send(self.http.get(url)).await;
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Value {
        let key = self.local.client.key().expect("a key");
        let response = request.bearer_auth(key).send().await.expect("an answer");
        let status = response.status();
        let text = response.text().await.expect("a body");
        assert!(status.is_success(), "{status}: {text}");
        serde_json::from_str(&text).expect("JSON")
    }
}
