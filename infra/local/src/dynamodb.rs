//! DynamoDB: the embedded engine behind our own endpoint. Invariants: it accepts only callers that
//! know the access key; only its owner can read the database file; engine calls that use a disk run
//! on a thread that may block, so a slow one stalls no other stand-in.
//!
//! The engine has its own HTTP server, which accepts any key, so its typed operations are called
//! here instead.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dynoxide::actions::transact_write_items::TransactWriteItemsRequest;
use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpListener;
use tokio::time::MissedTickBehavior;

use self::commits::Commits;
use self::thread::DatabaseThread;
use self::tokens::Tokens;
use crate::access::AccessKey;
use crate::aws_json::{self, Dialect, Refusal};
use crate::index_lag::IndexLag;
use crate::locks::Locks;
use crate::serve::Server;
use crate::shutdown::Shutdown;

mod commits;
mod thread;
mod tokens;

/// DynamoDB accepts requests of up to 16 MB.
const BODY_BYTES: usize = 16 * 1024 * 1024;

/// The operations that write nothing.
const READS: [&str; 7] = [
    "GetItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "TransactGetItems",
    "DescribeTable",
    "DescribeTimeToLive",
];

const DIALECT: Dialect = Dialect {
    target_prefix: "DynamoDB_20120810.",
    content_type: "application/x-amz-json-1.0",
    body_bytes: BODY_BYTES,
};

/// Where the items live.
#[derive(Clone, Debug)]
pub enum Storage {
    Memory,
    File(PathBuf),
}

/// Serves the database until the shutdown, with these locks between rivals and this lag of its indexes, and
/// removes expired items every `ttl_period`. Indexes of a database in a file never lag.
///
/// # Errors
/// When the database cannot be opened or the listener is not on loopback.
pub fn start(
    listener: TcpListener,
    storage: &Storage,
    ttl_period: Duration,
    key: AccessKey,
    shutdown: Shutdown,
    (locks, lag): (Locks, IndexLag),
) -> io::Result<Server> {
    let database = open(storage)?;
    tokio::spawn(sweep(database.clone(), ttl_period, shutdown.clone()));
    let lagging = if matches!(storage, Storage::Memory) && !lag.is_none() {
        Some((open(&Storage::Memory)?, lag))
    } else {
        None
    };
    if let Some((copy, _)) = &lagging {
        tokio::spawn(sweep(copy.clone(), ttl_period, shutdown.clone()));
    }
    let tables = Tables {
        database,
        lagging,
        tokens: Tokens::default(),
    };
    let executor = match storage {
        Storage::Memory => Executor::Caller(Arc::new(tables)),
        Storage::File(path) => Executor::Thread(DatabaseThread::start(tables, Commits::of(path)?)),
    };
    aws_json::serve(listener, DIALECT, key, shutdown, move |operation, body| {
        let (executor, locks) = (executor.clone(), locks.clone());
        async move {
            let done = executor.execute(operation.clone(), body.clone());
            locks.beside_others(&operation, &body, done).await
        }
    })
}

/// Where operations are executed.
#[derive(Clone)]
enum Executor {
    /// In memory, where they are called.
    Caller(Arc<Tables>),
    Thread(DatabaseThread),
}

impl Executor {
    async fn execute(&self, operation: String, body: Bytes) -> Result<String, Refusal> {
        match self {
            Executor::Caller(tables) => tables.answer(&operation, &body),
            Executor::Thread(thread) => thread.execute(operation, body).await,
        }
    }
}

fn asks_an_index(body: &Bytes) -> bool {
    serde_json::from_slice::<serde_json::Value>(body)
        .is_ok_and(|body| body.get("IndexName").is_some())
}

fn open(storage: &Storage) -> io::Result<Database> {
    let database = match storage {
        Storage::Memory => Database::memory(),
        Storage::File(path) => {
            // SQLite gives its journal files the mode of the database file.
            OpenOptions::new()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(path)?;
            let path = path.to_str().ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "the path of the database is no UTF-8",
                )
            })?;
            Database::new(path)
        }
    };
    let refused = |error| io::Error::other(format!("the database cannot be opened: {error}"));
    let database = database.map_err(refused)?;
    if matches!(storage, Storage::File(_)) {
        // `synchronous = NORMAL`; nothing else of it differs from what a database is opened with.
        database.disable_bulk_loading().map_err(refused)?;
    }
    Ok(database)
}

/// The database with what stands around it.
struct Tables {
    database: Database,
    /// A copy from which indexes are answered where they lag.
    lagging: Option<(Database, IndexLag)>,
    tokens: Tokens,
}

impl Tables {
    fn answer(&self, operation: &str, body: &Bytes) -> Result<String, Refusal> {
        let Some((copy, lag)) = &self.lagging else {
            return self.dispatch(operation, body);
        };
        match operation {
            "Query" | "Scan" if asks_an_index(body) => {
                lag.catch_up(|operation, body| {
                    if let Err(refusal) = dispatch(copy, operation, body) {
                        tracing::error!(?refusal, "the copy of the indexes misses a change");
                    }
                });
                return dispatch(copy, operation, body);
            }
            "CreateTable" | "DeleteTable" | "UpdateTable" | "UpdateTimeToLive" => {
                let answer = self.dispatch(operation, body)?;
                dispatch(copy, operation, body)?;
                return Ok(answer);
            }
            _ => {}
        }
        let answer = self.dispatch(operation, body)?;
        lag.note(operation, body, |asked| {
            let item = self.dispatch("GetItem", &asked).ok()?;
            serde_json::from_str(&item).ok()
        });
        Ok(answer)
    }

    fn dispatch(&self, operation: &str, body: &Bytes) -> Result<String, Refusal> {
        match operation {
            "TransactWriteItems" => self.transact(body),
            _ => dispatch(&self.database, operation, body),
        }
    }

    fn transact(&self, body: &Bytes) -> Result<String, Refusal> {
        let mut input: TransactWriteItemsRequest = read(body)?;
        // A token that DynamoDB does not take is the engine's to refuse.
        match input
            .client_request_token
            .take_if(|token| (1..=36).contains(&token.chars().count()))
        {
            None => answer(self.database.transact_write_items(input)),
            Some(token) => {
                let digest = tokens::digest(&input.transact_items);
                self.tokens.once(token, digest, || {
                    answer(self.database.transact_write_items(input))
                })
            }
        }
    }
}

async fn sweep(database: Database, period: Duration, shutdown: Shutdown) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = shutdown.begun() => return,
        }
        let database = database.clone();
        match tokio::task::spawn_blocking(move || database.sweep_ttl()).await {
            Ok(Ok(0)) => {}
            Ok(Ok(removed)) => tracing::debug!(removed, "expired items were removed"),
            Ok(Err(error)) => tracing::error!(%error, "expired items could not be removed"),
            Err(error) => tracing::error!(%error, "the sweep of expired items broke"),
        }
    }
}

fn dispatch(database: &Database, operation: &str, body: &Bytes) -> Result<String, Refusal> {
    match operation {
        "CreateTable" => run(body, |input| database.create_table(input)),
        "DeleteTable" => run(body, |input| database.delete_table(input)),
        "DescribeTable" => run(body, |input| database.describe_table(input)),
        "ListTables" => run(body, |input| database.list_tables(input)),
        "UpdateTable" => run(body, |input| database.update_table(input)),
        "UpdateTimeToLive" => run(body, |input| database.update_time_to_live(input)),
        "DescribeTimeToLive" => run(body, |input| database.describe_time_to_live(input)),
        "PutItem" => run(body, |input| database.put_item(input)),
        "GetItem" => run(body, |input| database.get_item(input)),
        "DeleteItem" => run(body, |input| database.delete_item(input)),
        "UpdateItem" => run(body, |input| database.update_item(input)),
        "Query" => run(body, |input| database.query(input)),
        "Scan" => run(body, |input| database.scan(input)),
        "BatchGetItem" => run(body, |input| database.batch_get_item(input)),
        "BatchWriteItem" => run(body, |input| database.batch_write_item(input)),
        "TransactGetItems" => run(body, |input| database.transact_get_items(input)),
        other => Err(aws_json::unknown_operation(format!(
            "{other} is not served here"
        ))),
    }
}

fn run<I, O>(
    body: &Bytes,
    operation: impl FnOnce(I) -> Result<O, DynoxideError>,
) -> Result<String, Refusal>
where
    I: DeserializeOwned,
    O: Serialize,
{
    answer(operation(read(body)?))
}

fn read<I: DeserializeOwned>(body: &Bytes) -> Result<I, Refusal> {
    serde_json::from_slice(body).map_err(|error| unreadable(&error))
}

fn answer<O: Serialize>(output: Result<O, DynoxideError>) -> Result<String, Refusal> {
    let output = output.map_err(|error| Refusal {
        status: error.status_code(),
        body: error.to_json(),
        query_error: None,
    })?;
    serde_json::to_string(&output)
        .map_err(|error| Refusal::new(500, "InternalServerError", error.to_string()))
}

/// The engine's own types mark in their errors which code DynamoDB gives to the fault.
fn unreadable(error: &serde_json::Error) -> Refusal {
    const VALIDATION: &str = "com.amazon.coral.validate#ValidationException";
    const SERIALIZATION: &str = "com.amazon.coral.service#SerializationException";
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text);
    for (mark, code) in [
        ("VALIDATION_REQUEST:", VALIDATION),
        ("VALIDATION:", VALIDATION),
        ("SERIALIZATION:", SERIALIZATION),
    ] {
        if let Some(message) = text.strip_prefix(mark) {
            return Refusal::new(400, code, message);
        }
    }
    let validation = [
        "missing field",
        "unknown variant",
        "invalid type: null",
        "AttributeValue",
    ];
    let code = if validation.iter().any(|part| text.contains(part)) {
        VALIDATION
    } else {
        SERIALIZATION
    };
    Refusal::new(400, code, text)
}
