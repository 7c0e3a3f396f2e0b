//! `POST /api/v1/work-orders/purge`: deletes work orders permanently, and responds when they are
//! deleted.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_domain::work_order::WorkOrderStatus;
use awo_domain::{Error, Timestamp};
use awo_execution::purger::{Purge, Purger};
use awo_http::body::{Object, Value};
use awo_http::shapes::PurgeShape;
use awo_http::{Answer, Call, Reply, StreamingFunction, routes};

/// Largest age, in days: a hundred years.
const MAX_DAYS: f64 = 36_500.0;
const DAY_MS: f64 = 86_400_000.0;

/// The function `purge-work-orders`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<StreamingFunction, SetupError> {
    StreamingFunction::keyed(
        cloud,
        &routes::PURGE_WORK_ORDERS,
        Purger::new(cloud)?,
        handle,
    )
}

async fn handle(purger: Arc<Purger>, call: Call) -> Result<Reply, Error> {
    call.query().finish()?;
    // What a client left out by mistake must not be taken for everything.
    let body = if call.has_null_body() {
        call.object()
    } else {
        call.object_or_nothing()
    };
    let (purge, dry_run) = read(body?, call.now)?;
    Ok(Reply::late(async move {
        let holder = format!("{}-{}", call.request_id, call.now.epoch_ms());
        let permit = purger.permit(call.org(), &holder).await?;
        let answer = if dry_run {
            purger.count(call.org(), &purge).await.map(PurgeShape::dry)
        } else {
            purger
                .purge(call.org(), &purge)
                .await
                .map(PurgeShape::deleted)
        };
        permit.give_back().await;
        Answer::ok(answer?)
    }))
}

fn read(mut body: Object, now: Timestamp) -> Result<(Purge, bool), Error> {
    let all = WorkOrderStatus::ALL;
    let statuses = body.optional("statuses", |v| v.list(1..=all.len(), status));
    let age_ms = body.optional("olderThanDays", |v| v.decimal(age_ms));
    let dry_run = body.optional("dryRun", Value::flag);
    let purge = Purge {
        statuses: match statuses {
            Some(given) => all.into_iter().filter(|one| given.contains(one)).collect(),
            None => all.to_vec(),
        },
        before: age_ms.map(|age_ms| now.plus_ms(-age_ms)),
    };
    body.finish(Some((purge, dry_run.unwrap_or(false))))
}

fn status(value: Value) -> Option<WorkOrderStatus> {
    let names = WorkOrderStatus::ALL.map(WorkOrderStatus::as_str).join(", ");
    value.parsed(|name| {
        WorkOrderStatus::parse(name).ok_or_else(|| format!("must be one of {names}"))
    })
}

#[expect(clippy::cast_possible_truncation, reason = "guarded")]
fn age_ms(days: f64) -> Result<i64, String> {
    if (0.0..=MAX_DAYS).contains(&days) {
        Ok((days * DAY_MS).round() as i64)
    } else {
        Err(format!("must be from 0 to {MAX_DAYS}"))
    }
}
