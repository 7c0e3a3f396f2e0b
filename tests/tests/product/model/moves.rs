//! The effect of a step on the real system: each is a call by a client, a runner or AWS.

use awo_cloud::compute::TaskState;
use awo_domain::WorkOrderId;
use awo_domain::budget::OnLimit;
use awo_tests::functions::Functions;
use serde_json::{Value, json};

use super::budgets::{BudgetModel, HOLD};
use super::reference::{SCRIPT, STARTED};
use super::system::{System, TOKEN};
use super::{Events, Move, Step};

impl System {
    /// True if the caller has no reason to come back.
    pub(super) async fn once(&mut self, step: &Step, functions: &Functions) -> bool {
        let key = format!("step-{}", self.steps);
        match step.what {
            Move::Create { tenant } => self.create(tenant, &key, functions).await,
            Move::Start { order } => {
                let id = self.orders[order].clone();
                let reply = functions.start(&self.org, id.as_str(), Some(&key)).await;
                [201, 402, 409, 503].contains(&reply.status)
            }
            Move::Cancel { order } => {
                let reply = functions
                    .cancel(&self.org, self.orders[order].as_str())
                    .await;
                [200, 409].contains(&reply.status)
            }
            Move::Kill { order, immediate } => {
                let (id, body) = (&self.orders[order], json!({ "immediate": immediate }));
                functions.kill(&self.org, id.as_str(), &body).await.status == 200
            }
            Move::WakeUp => {
                let wake_up = json!({ "orgId": self.org.id }).to_string();
                let answer = functions.wake_up(&wake_up).await;
                answer.is_ok_and(|a| a["batchItemFailures"].as_array().is_none_or(Vec::is_empty))
            }
            Move::Claim { order } => {
                let run = self.newest(order).await.run_id;
                let Some(nonce) = self.nonces.get(&run) else {
                    return true;
                };
                [200, 401].contains(&functions.claim(nonce, TOKEN).await.status)
            }
            Move::Report { order, .. } => {
                self.control(order, functions, "report", &self.report_body)
                    .await
            }
            Move::Finish {
                order,
                success,
                dead,
            } => {
                let last = finish(success, dead);
                self.control(order, functions, "finish", &last).await
            }
            Move::TaskDies { .. } => true,
            Move::TaskEvent { order } => self.task_event(order, functions).await,
            Move::Verify { order } => self.verify(order, functions).await,
            Move::Sweep { .. } => {
                let swept = functions.sweep().await;
                self.world.deliver_wake_ups(&self.world.sound).await;
                swept.is_ok_and(|swept| swept["failed"] == 0)
            }
            Move::LoseMessages => {
                self.world.lose_wake_ups().await;
                true
            }
            Move::CreateBudget {
                scope,
                on_limit,
                holds,
            } => {
                let body = budget((scope, on_limit), holds);
                self.create_budget(&body, &key, functions).await
            }
            Move::RaiseBudget { budget } => self.raise_budget(budget, functions).await,
            Move::DeleteBudget { budget } => self.delete_budget(budget, functions).await,
        }
    }

    async fn create(&mut self, tenant: u8, key: &str, functions: &Functions) -> bool {
        let mut body = json!({
            "taskPrompt": "fix it",
            "workspaceSource": { "type": "git", "repository": "file:///nowhere" },
            "limits": { "maxCredits": (HOLD) },
        });
        if let Some(tenant) = super::reference::tenant_name(tenant) {
            body["tenantContext"] = json!({ "tenantId": tenant });
        }
        let reply = functions.create(&self.org, &body, Some(key)).await;
        if reply.status == 201 {
            let id = WorkOrderId::parse(reply.body["id"].as_str().expect("an id")).expect("an id");
            if self.orders.last() != Some(&id) {
                self.orders.push(id);
            }
        }
        [201, 402, 503].contains(&reply.status)
    }

    async fn create_budget(&mut self, body: &Value, key: &str, functions: &Functions) -> bool {
        let reply = functions.create_budget(&self.org, body, key).await;
        if reply.status == 201 {
            let id = reply.body["id"].as_str().expect("an id").to_owned();
            if self.budgets.last().is_none_or(|(last, _)| *last != id) {
                self.budgets.push((id, body.clone()));
            }
        }
        reply.status == 201
    }

    async fn delete_budget(&self, nth: usize, functions: &Functions) -> bool {
        let reply = functions
            .delete_budget(&self.org, &self.budgets[nth].0)
            .await;
        [204, 404].contains(&reply.status)
    }

    /// To the limit that the model says, however often.
    async fn raise_budget(&self, nth: usize, functions: &Functions) -> bool {
        let (id, body) = &self.budgets[nth];
        let mut body = body.clone();
        body["limitCredits"] = json!(self.limits[nth]);
        let reply = functions.update_budget(&self.org, id, &body).await;
        [200, 404].contains(&reply.status)
    }

    async fn control(&self, order: usize, functions: &Functions, what: &str, body: &Value) -> bool {
        let run = self.newest(order).await.run_id;
        let reply = functions
            .control(&self.org.id, run.as_str(), what, TOKEN, body)
            .await;
        [200, 409].contains(&reply.status)
    }

    pub(super) async fn task_event(&self, order: usize, functions: &Functions) -> bool {
        let run = self.newest(order).await.run_id;
        let Some(task) = self.task(&run).await else {
            return true;
        };
        let started_by = format!("{}/{run}", self.org.id);
        let handled = functions.task_stopped(&task, &started_by).await;
        // An event of a task that lives comes again, for as long as it does.
        let state = self.world.compute.describe_task(&task).await;
        handled.is_ok() || matches!(state, Ok(TaskState::Alive(_)))
    }

    /// Events as a runner sends them, or as a network brings them: the same however often.
    pub(super) async fn prepare_report(&mut self, step: &Step) {
        let Move::Report { order, events } = step.what else {
            return;
        };
        let run = self.newest(order).await.run_id;
        let lease = self
            .world
            .store
            .lease(&self.org.id, &run)
            .await
            .expect("an answer");
        let last = lease.map_or(0, |lease| lease.reported);
        let numbers: Vec<u64> = match events {
            Events::Next(more) => (last + 1..=last + more).collect(),
            Events::Again => (1..=last).collect(),
            Events::AfterAGap => vec![last + 2],
            Events::Backwards => vec![last + 2, last + 1],
        };
        let known = numbers.into_iter().filter(|number| *number <= SCRIPT);
        let reported = match events {
            Events::Next(more) => last + more,
            Events::Backwards => last + 1,
            Events::Again | Events::AfterAGap => last,
        };
        self.report_body = json!({
            "events": known.map(event).collect::<Vec<_>>(),
            "executed": reported >= STARTED,
        });
    }
}

fn budget((scope, on_limit): (u8, OnLimit), holds: u8) -> Value {
    let limited = BudgetModel {
        scope,
        on_limit,
        holds,
        is_there: true,
    };
    let mut body = json!({
        "name": "model", "period": "month", "onLimit": (on_limit.as_str()),
        "limitCredits": (limited.limit()), "scope": {},
    });
    if let Some(tenant) = super::reference::tenant_name(scope) {
        body["scope"] = json!({ "tenantId": tenant });
    }
    body
}

fn event(number: u64) -> Value {
    let event = match number {
        1 => json!({ "type": "workspaceReady", "commit": "c0", "branch": "main", "workDir": "/w" }),
        2 => json!({ "type": "iterationStarted", "iteration": 1 }),
        3 => json!({
            "type": "agentFinished", "iteration": 1, "completed": true, "durationMs": 5,
            "usage": [{
                "usage": { "model": "gpt-4o", "inputTokens": 10, "outputTokens": 5 },
                "costUsdNano": 75_000,
            }],
        }),
        _ => json!({ "type": "committed", "iteration": 1, "commit": "c1", "filesChanged": 1 }),
    };
    json!({ "number": number, "at": "2026-11-20T08:00:00.000Z", "event": event })
}

fn finish(success: bool, nothing_alive: bool) -> Value {
    let outcome = if success {
        json!({ "type": "succeeded", "commit": "c1" })
    } else {
        json!({ "type": "failed", "code": "AGENT_FAILED", "message": "test" })
    };
    json!({
        "events": [],
        "outcome": outcome,
        "nothingAlive": nothing_alive,
        "iterations": 1,
        "usage": [{
            "usage": { "model": "gpt-4o", "inputTokens": 1000, "outputTokens": 100 },
            "costUsdNano": 3_500_000,
        }],
    })
}
