//! The product's functions over one client, called directly, as by AWS.

use std::sync::Arc;

use awo_cloud::Cloud;
use awo_domain::OrgId;
use awo_local::function::{
    Function, StreamingFunction, event_function, http_function, streaming_http_function,
};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::invoke::{Reply, context, http};
use crate::world::Org;

/// The product's functions over one client.
pub struct Functions {
    create: Function,
    start: Function,
    cancel: Function,
    kill: Function,
    purge: Function,
    create_budget: Function,
    update_budget: Function,
    delete_budget: Function,
    control: Function,
    dispatch: Function,
    task_stopped: Function,
    sweep: Function,
    deliver: Function,
}

fn bearer(org: &Org) -> (&'static str, String) {
    ("Authorization", format!("Bearer {}", org.key))
}

impl Functions {
    pub(crate) fn new(cloud: &Cloud) -> Functions {
        let of = |name: &str| cloud.of_function(name);
        let worker = |function: Result<_, _>| event_function(function.expect("settings"));
        let http = |function: Result<_, _>| http_function(function.expect("settings"));
        let streaming = |function: Result<_, _>| {
            collected(streaming_http_function(function.expect("settings")))
        };
        Functions {
            create: http(awo_work_orders::create_work_order::function(&of(
                "create-work-order",
            ))),
            start: http(awo_work_orders::start_run::function(&of("start-run"))),
            cancel: http(awo_work_orders::cancel_work_order::function(&of(
                "cancel-work-order",
            ))),
            kill: streaming(awo_work_orders::kill_work_order::function(&of(
                "kill-work-order",
            ))),
            purge: streaming(awo_work_orders::purge_work_orders::function(&of(
                "purge-work-orders",
            ))),
            create_budget: http(awo_budgets::create_budget::function(&of("create-budget"))),
            update_budget: http(awo_budgets::update_budget::function(&of("update-budget"))),
            delete_budget: http(awo_budgets::delete_budget::function(&of("delete-budget"))),
            control: http(awo_control::function(&of("control"))),
            dispatch: worker(awo_workers::dispatch_runs::function(&of("dispatch-runs"))),
            task_stopped: worker(awo_workers::task_stopped::function(&of("task-stopped"))),
            sweep: worker(awo_workers::sweep::function(&of("sweep"))),
            deliver: worker(awo_workers::deliver_webhooks::function(&of(
                "deliver-webhooks",
            ))),
        }
    }

    /// `POST /v1/work-orders`.
    pub async fn create(&self, org: &Org, body: &Value, idempotency_key: Option<&str>) -> Reply {
        let mut headers = vec![("Content-Type", "application/json".to_owned()), bearer(org)];
        headers.extend(idempotency_key.map(|key| ("Idempotency-Key", key.to_owned())));
        let path = "/v1/work-orders";
        http(&self.create, "POST", path, path, &[], &headers, Some(body)).await
    }

    /// `POST /v1/budgets`.
    pub async fn create_budget(&self, org: &Org, body: &Value, idempotency_key: &str) -> Reply {
        let key = ("Idempotency-Key", idempotency_key.to_owned());
        let (path, json) = (
            "/v1/budgets",
            ("Content-Type", "application/json".to_owned()),
        );
        let headers = [json, bearer(org), key];
        http(
            &self.create_budget,
            "POST",
            path,
            path,
            &[],
            &headers,
            Some(body),
        )
        .await
    }

    /// `PUT /v1/budgets/{id}`.
    pub async fn update_budget(&self, org: &Org, id: &str, body: &Value) -> Reply {
        let json = ("Content-Type", "application/json".to_owned());
        let (resource, path) = ("/v1/budgets/{id}", format!("/v1/budgets/{id}"));
        let (parameters, headers) = ([("id", id)], [json, bearer(org)]);
        http(
            &self.update_budget,
            "PUT",
            resource,
            &path,
            &parameters,
            &headers,
            Some(body),
        )
        .await
    }

    /// `DELETE /v1/budgets/{id}`.
    pub async fn delete_budget(&self, org: &Org, id: &str) -> Reply {
        let (resource, path) = ("/v1/budgets/{id}", format!("/v1/budgets/{id}"));
        let (parameters, headers) = ([("id", id)], [bearer(org)]);
        http(
            &self.delete_budget,
            "DELETE",
            resource,
            &path,
            &parameters,
            &headers,
            None,
        )
        .await
    }

    /// `POST /api/v1/work-orders/{id}/runs`.
    pub async fn start(&self, org: &Org, id: &str, idempotency_key: Option<&str>) -> Reply {
        let mut headers = vec![bearer(org)];
        headers.extend(idempotency_key.map(|key| ("Idempotency-Key", key.to_owned())));
        let (resource, path) = of_order(id, "/runs");
        let parameters = [("id", id)];
        http(
            &self.start,
            "POST",
            &resource,
            &path,
            &parameters,
            &headers,
            None,
        )
        .await
    }

    /// `DELETE /api/v1/work-orders/{id}`.
    pub async fn cancel(&self, org: &Org, id: &str) -> Reply {
        let (resource, path) = of_order(id, "");
        let (parameters, headers) = ([("id", id)], [bearer(org)]);
        http(
            &self.cancel,
            "DELETE",
            &resource,
            &path,
            &parameters,
            &headers,
            None,
        )
        .await
    }

    /// `POST /api/v1/work-orders/{id}/kill`.
    pub async fn kill(&self, org: &Org, id: &str, body: &Value) -> Reply {
        let (resource, path) = of_order(id, "/kill");
        let json = ("Content-Type", "application/json".to_owned());
        let (parameters, headers) = ([("id", id)], [json, bearer(org)]);
        http(
            &self.kill,
            "POST",
            &resource,
            &path,
            &parameters,
            &headers,
            Some(body),
        )
        .await
    }

    /// `POST /api/v1/work-orders/purge`.
    pub async fn purge(&self, org: &Org, body: &Value) -> Reply {
        let json = ("Content-Type", "application/json".to_owned());
        let (path, headers) = ("/api/v1/work-orders/purge", [json, bearer(org)]);
        http(&self.purge, "POST", path, path, &[], &headers, Some(body)).await
    }

    /// `POST /control/claim`.
    pub async fn claim(&self, nonce: &str, token: &str) -> Reply {
        let body = json!({ "nonce": nonce, "token": token });
        let path = "/control/claim";
        http(&self.control, "POST", path, path, &[], &[], Some(&body)).await
    }

    /// `POST /control/{orgId}/runs/{runId}/{what}`.
    pub async fn control(
        &self,
        org: &OrgId,
        run: &str,
        what: &str,
        token: &str,
        body: &Value,
    ) -> Reply {
        let path = format!("/control/{org}/runs/{run}/{what}");
        let resource = format!("/control/{{orgId}}/runs/{{runId}}/{what}");
        let parameters = [("orgId", org.as_str()), ("runId", run)];
        let headers = [("Authorization", format!("Bearer {token}"))];
        let function = &self.control;
        http(
            function,
            "POST",
            &resource,
            &path,
            &parameters,
            &headers,
            Some(body),
        )
        .await
    }

    /// One message of the run queue.
    pub async fn wake_up(&self, body: &str) -> Result<Value, String> {
        self.wake_ups(&[body.to_owned()]).await
    }

    /// A batch of messages of the run queue; their ids are their numbers from 0.
    pub async fn wake_ups(&self, bodies: &[String]) -> Result<Value, String> {
        let record = |(nth, body): (usize, &String)| json!({ "messageId": nth.to_string(), "body": body, "eventSource": "aws:sqs" });
        let records: Vec<Value> = bodies.iter().enumerate().map(record).collect();
        (self.dispatch)(json!({ "Records": records }).to_string(), context()).await
    }

    /// A batch of messages of the deliveries queue.
    pub async fn deliver(&self, records: &[Value]) -> Result<Value, String> {
        (self.deliver)(json!({ "Records": records }).to_string(), context()).await
    }

    /// A task event.
    pub async fn task_stopped(&self, task_arn: &str, started_by: &str) -> Result<Value, String> {
        let detail =
            json!({ "taskArn": task_arn, "lastStatus": "STOPPED", "startedBy": started_by });
        (self.task_stopped)(json!({ "detail": detail }).to_string(), context()).await
    }

    /// The schedule's tick.
    pub async fn sweep(&self) -> Result<Value, String> {
        (self.sweep)("{}".to_owned(), context()).await
    }

    /// The invocation of a part of the sweep.
    pub async fn sweep_part(&self, part: &Value) -> Result<Value, String> {
        let tick = json!({ "part": part });
        (self.sweep)(tick.to_string(), context()).await
    }
}

/// A function that answers in pieces as one that answers whole.
fn collected(function: StreamingFunction) -> Function {
    Arc::new(move |event, context| {
        let answer = function(event, context);
        Box::pin(async move {
            let answer = answer.await?;
            let pieces: Vec<_> = answer.chunks.collect().await;
            let mut body = Vec::new();
            for piece in pieces {
                body.extend_from_slice(&piece?);
            }
            Ok(json!({
                "statusCode": answer.head.status_code.as_u16(),
                "body": String::from_utf8_lossy(&body),
            }))
        })
    })
}

/// Resource and path below a work order.
fn of_order(id: &str, rest: &str) -> (String, String) {
    let of = |id: &str| format!("/api/v1/work-orders/{id}{rest}");
    (of("{id}"), of(id))
}
