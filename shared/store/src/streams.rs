//! Places for live streams: each holds a function for as long as it lasts, so an organization
//! has at most [`MAX_STREAMS`] of them at once.
//!
//! A place is taken and given back by conditional writes. One whose stream ended without giving
//! it back is free again by its own expiry, which every taker checks; nothing waits for TTL.

use awo_domain::{Error, OrgId, Timestamp};
use serde::Deserialize;

use crate::Store;
use crate::change::Change;
use crate::item::{Key, SCHEMA_VERSION, streams};
use crate::list::Slice;
use crate::table::Updated;

/// Most live streams of an organization at once.
pub const MAX_STREAMS: u32 = 20;
/// When a place is free again that was not given back: the longest that a function may run.
pub const PLACE_MS: i64 = 15 * 60_000;
/// When a client should try again that found no place.
const RETRY_S: i64 = 30;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlaceItem {
    sk: String,
    expires_at_ms: Option<i64>,
}

/// A taken place. Dropping it gives it back, if there is still a runtime to do it; who can wait
/// calls [`StreamPlace::give_back`], since on Lambda nothing runs on after the answer's end.
#[derive(Debug)]
pub struct StreamPlace {
    store: Store,
    key: Key,
    holder: String,
    is_held: bool,
}

impl Store {
    /// Takes a place for a live stream. `holder` is unique.
    ///
    /// # Errors
    /// [`Error::TooManyAtOnce`], or internal.
    pub async fn take_stream_place(
        &self,
        org: &OrgId,
        holder: &str,
        now: Timestamp,
    ) -> Result<StreamPlace, Error> {
        let slice = Slice::of_partition(&self.tables.work, streams(org)).limit(MAX_STREAMS);
        let known: Vec<PlaceItem> = self.slice(slice).await?.items;
        for number in 1..=MAX_STREAMS {
            let key = Key::stream(org, number);
            let is_free =
                |place: &PlaceItem| place.expires_at_ms.is_none_or(|at| at <= now.epoch_ms());
            if !known.iter().filter(|place| place.sk == key.sk).all(is_free) {
                continue;
            }
            let change = Change::new()
                .set("holder", holder)
                .set("expiresAtMs", now.plus_ms(PLACE_MS).epoch_ms())
                .set("v", SCHEMA_VERSION)
                .at_most_or_missing("expiresAtMs", now.epoch_ms());
            // Whoever is refused met somebody who was faster, and tries the next number.
            if let Updated::New(_) = self.update(&self.tables.work, &key, change).await? {
                return Ok(StreamPlace {
                    store: self.clone(),
                    key,
                    holder: holder.to_owned(),
                    is_held: true,
                });
            }
        }
        Err(Error::TooManyAtOnce {
            what: "live streams of your organization",
            limit: MAX_STREAMS,
            retry_after_s: RETRY_S,
        })
    }
}

impl StreamPlace {
    /// Gives the place back. If that fails, it is free again when it expires.
    pub async fn give_back(mut self) {
        self.is_held = false;
        give_back(&self.store, &self.key, &self.holder).await;
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        if !self.is_held {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (store, key, holder) = (self.store.clone(), self.key.clone(), self.holder.clone());
            runtime.spawn(async move { give_back(&store, &key, &holder).await });
        }
    }
}

async fn give_back(store: &Store, key: &Key, holder: &str) {
    let change = Change::new()
        .remove("holder")
        .remove("expiresAtMs")
        .when("holder", holder);
    if let Err(error) = store.update(&store.tables.work, key, change).await {
        tracing::warn!(
            ?error,
            place = key.sk,
            "a stream's place was not given back"
        );
    }
}
