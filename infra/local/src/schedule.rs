//! An EventBridge rule with a rate. Invariants: one schedule never invokes the function twice at a
//! time; a tick during a running invocation is skipped and not repeated.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::function::Registry;
use crate::shutdown::Shutdown;
use crate::{arn, clock};

/// A rule that invokes a function every `period`, first after one period.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub name: String,
    pub function: String,
    pub period: Duration,
}

impl Schedule {
    /// Runs until the shutdown.
    #[must_use]
    pub fn start(self, registry: Registry, shutdown: Shutdown) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(self.period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            // The first tick of an interval is immediate; a rate begins with a wait.
            ticks.tick().await;
            loop {
                tokio::select! {
                    _ = ticks.tick() => {}
                    () = shutdown.begun() => return,
                }
                if let Err(error) = registry.invoke(&self.function, &self.event()).await {
                    tracing::error!(schedule = self.name, %error, "a scheduled invocation failed");
                }
            }
        })
    }

    fn event(&self) -> Value {
        json!({
            "version": "0",
            "id": uuid::Uuid::new_v4().to_string(),
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": arn::ACCOUNT,
            "time": clock::event_time(clock::now()),
            "region": arn::REGION,
            "resources": [arn::rule(&self.name)],
            "detail": {},
        })
    }
}
