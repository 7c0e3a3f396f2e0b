//! The thread of a database in a file. The engine has one lock for all operations, so further threads
//! would wait for it, wake each other, and keep heaps of their own out of the caches.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::commits::{Commits, Outcome};
use super::{READS, Tables};
use crate::aws_json::Refusal;

/// Executes operations in the order of their arrival.
#[derive(Debug, Clone)]
pub(super) struct DatabaseThread(UnboundedSender<Operation>);

#[derive(Debug)]
struct Operation {
    name: String,
    body: Bytes,
    caller: oneshot::Sender<Outcome>,
}

impl DatabaseThread {
    /// Starts it. It ends with the last clone of this.
    pub fn start(tables: Tables, commits: Commits) -> DatabaseThread {
        let (sender, operations) = unbounded_channel();
        tokio::task::spawn_blocking(move || execute(&tables, &commits, operations));
        DatabaseThread(sender)
    }

    /// Answers an operation. Whatever it has written outlasts a loss of power then.
    pub async fn execute(&self, name: String, body: Bytes) -> Outcome {
        let (caller, outcome) = oneshot::channel();
        // Without a thread there is no answer.
        drop(self.0.send(Operation { name, body, caller }));
        outcome.await.unwrap_or_else(|_| Err(ended()))
    }
}

fn execute(tables: &Tables, commits: &Commits, mut operations: UnboundedReceiver<Operation>) {
    while let Some(Operation { name, body, caller }) = operations.blocking_recv() {
        let answer = || tables.answer(&name, &body);
        // A panic fails its own operation only.
        let outcome = catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| Err(ended()));
        if READS.contains(&name.as_str()) {
            // A read of what others have written waits for no flush. A caller that is gone needs no answer.
            drop(caller.send(outcome));
        } else {
            commits.acknowledge(outcome, caller);
        }
    }
}

fn ended() -> Refusal {
    Refusal::new(500, "InternalServerError", "the operation did not end")
}
