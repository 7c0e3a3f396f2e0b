//! `POST /api/v1/work-orders/purge`: deletes work orders permanently, and responds when they are
//! deleted.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::work_orders::stops::PurgeBody;
use awo_contract::work_orders::stops::PurgeShape;
use awo_domain::Error;
use awo_domain::work_order::WorkOrderStatus;
use awo_execution::purger::{Purge, Purger};
use awo_http::{Answer, Call, Reply, StreamingFunction, routes};

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
    let request = body?.read(&PurgeBody)?;
    let all = WorkOrderStatus::ALL;
    let purge = Purge {
        statuses: match request.statuses {
            Some(given) => all
                .into_iter()
                .filter(|status| given.contains(status))
                .collect(),
            None => all.to_vec(),
        },
        before: request.age_ms.map(|age_ms| call.now.plus_ms(-age_ms)),
    };
    Ok(Reply::late(async move {
        let holder = format!("{}-{}", call.request_id, call.now.epoch_ms());
        let permit = purger.permit(call.org(), &holder).await?;
        let answer = if request.dry_run {
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
