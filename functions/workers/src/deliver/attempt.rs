//! One attempt: noted, made, and its end noted. Whoever dies in between has used it up.

use awo_domain::webhook::schedule::Next;
use awo_domain::webhook::signature::Message as Signed;
use awo_domain::{AttemptId, Error};
use awo_store::attempts::End;
use awo_webhooks::Attempt;

use super::postpone::{postpone, postpone_while_busy};
use super::receiver::{Attemptable, random};
use super::{State, Verdict};

/// Makes an attempt of a delivery that is due.
pub(super) async fn make(state: &State, of: Attemptable) -> Result<Verdict, Error> {
    let Attemptable {
        message,
        delivery,
        webhook,
    } = of;
    // Before the attempt is noted: a fault of this machine uses up none.
    let ready = state.sender.ready().await.map_err(Error::internal)?;
    let now = state.clock.now();
    let id = AttemptId::new(now, state.mint.random(now));
    let Some(begun) = state.store.change_delivery(delivery.begun(id, now)).await? else {
        // Somebody else looks after it.
        return Ok(postpone_while_busy(state, &message).await);
    };
    let url = &webhook.content.url;
    let sent = ready
        .send(&Attempt {
            org: &begun.org_id,
            url,
            secrets: &webhook.secrets,
            message: Signed {
                id: &begun.event_id,
                sent_at: now,
                body: begun.body.as_bytes(),
            },
        })
        .await;
    let end = End {
        outcome: sent.outcome,
        at: sent.ended_at(),
        duration_ms: sent.duration_ms,
        error: sent.error,
    };
    let (ended, next) = begun.ended(&end, &state.schedule, random(state, end.at));
    let noted = match next {
        Next::Gone => state.store.end_gone(ended, url, state.clock.now()).await?,
        _ => state.store.change_delivery(ended).await?,
    };
    match (noted, next) {
        (Some(_), Next::Retry(at)) => Ok(postpone(state, &message, at).await),
        (Some(_), _) => Ok(Verdict::Done),
        // It took so long that somebody has given it up: what follows is theirs, and looked at again.
        (None, _) => Ok(postpone_while_busy(state, &message).await),
    }
}
