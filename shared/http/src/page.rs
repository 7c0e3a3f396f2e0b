//! Pages of the plain style: `limit` with `offset`, or with a `cursor` for deep paging.
//!
//! A cursor is opaque to clients: the last item's id, authenticated with a key of the organization
//! together with the operation and its filter, so it is valid for nothing else.

pub use awo_contract::page::{DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value, json};
use sha2::Sha256;

use crate::call::Call;
use crate::query::Query;

const TAG_BYTES: usize = 16;

/// Which page is asked for.
#[derive(Debug)]
pub struct Paging {
    /// Its size.
    pub limit: u32,
    /// Items to skip.
    pub offset: u32,
    /// The id of the item before the page.
    pub after: Option<String>,
    key: String,
    bound_to: String,
}

impl Paging {
    /// Reads `limit`, `offset` and `cursor`. `filter` is what the cursor is bound to besides
    /// the operation.
    pub fn of(call: &Call, query: &Query, default_limit: u32, filter: &str) -> Paging {
        let mut paging = Paging {
            limit: query.whole("limit", 1..=MAX_LIMIT, default_limit),
            offset: query.whole("offset", 0..=MAX_OFFSET, 0),
            after: None,
            key: call.caller.cursor_key.clone(),
            bound_to: format!("{}\n{}\n{filter}", call.org(), call.route.function),
        };
        if let Some(cursor) = query.text("cursor") {
            if paging.offset > 0 {
                query.fault("offset", "must not be given together with cursor");
            }
            paging.after = paging.open(&cursor);
            if paging.after.is_none() {
                query.fault("cursor", "is not a cursor of this list and filter");
            }
        }
        paging
    }

    fn mac(&self, id: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.as_bytes()).ok()?;
        mac.update(self.bound_to.as_bytes());
        mac.update(b"\n");
        mac.update(id.as_bytes());
        Some(mac)
    }

    /// What opens the page after the item with this id.
    #[must_use]
    pub fn cursor(&self, id: &str) -> Option<String> {
        let tag = self.mac(id)?.finalize().into_bytes();
        let mut sealed = tag[..TAG_BYTES].to_vec();
        sealed.extend_from_slice(id.as_bytes());
        Some(URL_SAFE_NO_PAD.encode(sealed))
    }

    fn open(&self, cursor: &str) -> Option<String> {
        let sealed = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (tag, id) = sealed.split_at_checked(TAG_BYTES)?;
        let id = std::str::from_utf8(id).ok()?;
        self.mac(id)?.verify_truncated_left(tag).ok()?;
        Some(id.to_owned())
    }

    /// The body of a page of a list that was read whole, newest first. `place` is an item's place in that
    /// order, as a cursor names it; a cursor is good also when the item that it names is gone.
    pub fn of_sorted<T>(
        &self,
        plural: &str,
        all: &[T],
        place: impl Fn(&T) -> String,
        shown: impl Fn(&T) -> Value,
    ) -> Value {
        let before = match &self.after {
            Some(cursor) => all.iter().take_while(|item| place(item) >= *cursor).count(),
            None => self.offset as usize,
        };
        self.of_whole(plural, all, before, place, shown)
    }

    /// The body of the page behind the first items of a list that was read whole.
    pub fn of_whole<T>(
        &self,
        plural: &str,
        all: &[T],
        before: usize,
        place: impl Fn(&T) -> String,
        shown: impl Fn(&T) -> Value,
    ) -> Value {
        let page = all.get(before..).unwrap_or_default();
        let page = &page[..page.len().min(self.limit as usize)];
        let has_more = all.len() > before + page.len();
        let next = page.last().filter(|_| has_more).map(place);
        let items = page.iter().map(shown).collect();
        self.body(plural, items, all.len() as u64, next.as_deref())
    }

    /// The body of a list: the page under its plural, and where it stands.
    #[must_use]
    pub fn body(
        &self,
        plural: &str,
        items: Vec<Value>,
        total: u64,
        next_after: Option<&str>,
    ) -> Value {
        let mut body = Map::new();
        body.insert(plural.to_owned(), Value::Array(items));
        body.insert("total".to_owned(), json!(total));
        body.insert("limit".to_owned(), json!(self.limit));
        body.insert("offset".to_owned(), json!(self.offset));
        if let Some(cursor) = next_after.and_then(|id| self.cursor(id)) {
            body.insert("nextCursor".to_owned(), json!(cursor));
        }
        Value::Object(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paging(key: &str, bound_to: &str) -> Paging {
        Paging {
            limit: 1,
            offset: 0,
            after: None,
            key: key.to_owned(),
            bound_to: bound_to.to_owned(),
        }
    }

    #[test]
    fn a_cursor_opens_only_the_list_it_came_from() {
        let cursor = paging("k", "org\nlist\n").cursor("wo_1").unwrap();
        assert_eq!(
            paging("k", "org\nlist\n").open(&cursor).as_deref(),
            Some("wo_1")
        );
        assert_eq!(paging("k", "org\nlist\nstatus=failed").open(&cursor), None);
        assert_eq!(paging("other", "org\nlist\n").open(&cursor), None);
        for at in 0..cursor.len() {
            let mut tampered = cursor.clone().into_bytes();
            tampered[at] = if tampered[at] == b'A' { b'B' } else { b'A' };
            let tampered = String::from_utf8(tampered).unwrap();
            assert_eq!(
                paging("k", "org\nlist\n").open(&tampered),
                None,
                "{tampered}"
            );
        }
    }
}
