//! Pages of partitions and indexes, in either direction.
//!
//! DynamoDB ends a query after reading 1 MB, filtered or not, so a page continues until it is full
//! or the partition ends; it ends early rather than grow over [`MAX_PAGE_BYTES`].

use std::collections::HashMap;
use std::time::Instant;

use awo_domain::{Error, Timestamp};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity, Select};
use serde::de::DeserializeOwned;

use crate::Store;
use crate::engine::item::Item;
use crate::engine::item_kind::Table;
use crate::engine::key::Partition;
use crate::engine::schema::TTL_ATTRIBUTE;
use crate::engine::table::{failed, log, read};
use crate::work_orders::prompts::bytes_apart;

/// Where a page ends early.
pub const MAX_PAGE_BYTES: usize = 4 * 1_048_576;
/// Most queries that one page, count or reading may take: a million ledger entries, filtered.
const MAX_QUERIES: u32 = 400;
/// More items than fit into the 1 MB of a query.
const MAX_QUERY_ITEMS: usize = 1_000_000;

/// A part of a partition.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    table: Table,
    index: Option<&'static str>,
    partition: (&'static str, String),
    newest_first: bool,
    after: Option<Item>,
    range: Option<(&'static str, &'static str, AttributeValue)>,
    between: Option<(String, String)>,
    equals: Vec<(&'static str, String)>,
    limit: u32,
    skip: u32,
    keys_only: bool,
    /// Unix seconds: items that have expired by then are none.
    unexpired_at: Option<i64>,
}

impl Slice {
    /// A partition of a table, oldest first.
    pub fn of_partition(partition: Partition) -> Slice {
        Slice::whole(partition.kind.table(), None, ("pk", partition.pk))
    }

    fn whole(
        table: Table,
        index: Option<&'static str>,
        partition: (&'static str, String),
    ) -> Slice {
        Slice {
            table,
            index,
            partition,
            newest_first: false,
            after: None,
            range: None,
            between: None,
            equals: Vec::new(),
            limit: 1,
            skip: 0,
            keys_only: false,
            unexpired_at: None,
        }
    }

    /// A partition of an index.
    pub fn of_index(
        table: Table,
        index: &'static str,
        key: &'static str,
        partition: String,
    ) -> Slice {
        Slice::whole(table, Some(index), (key, partition))
    }

    pub fn newest_first(self) -> Slice {
        Slice {
            newest_first: true,
            ..self
        }
    }

    /// At most so many items.
    pub fn limit(self, limit: u32) -> Slice {
        Slice { limit, ..self }
    }

    /// Leaves out the first `skip` items.
    pub fn skip(self, skip: u32) -> Slice {
        Slice { skip, ..self }
    }

    /// Only the keys of the items.
    pub fn keys_only(self) -> Slice {
        Slice {
            keys_only: true,
            ..self
        }
    }

    /// Without what has expired: DynamoDB removes that days later.
    pub fn unexpired(self, now: Timestamp) -> Slice {
        Slice {
            unexpired_at: Some(now.epoch_seconds()),
            ..self
        }
    }

    fn leaves_out(&self, item: &Item) -> bool {
        let expires = item.get(TTL_ATTRIBUTE).and_then(|ttl| ttl.as_n().ok());
        let expires: Option<i64> = expires.and_then(|ttl| ttl.parse().ok());
        self.unexpired_at
            .zip(expires)
            .is_some_and(|(now, expires)| expires <= now)
    }

    /// Begins after the item with these key attributes.
    pub fn after(self, key: Option<Item>) -> Slice {
        Slice { after: key, ..self }
    }

    /// Only where the sort key compares so.
    pub fn range(self, name: &'static str, operator: &'static str, with: AttributeValue) -> Slice {
        Slice {
            range: Some((name, operator, with)),
            ..self
        }
    }

    /// Only from one sort key of the table to another, both included.
    pub fn between(self, low: impl Into<String>, high: impl Into<String>) -> Slice {
        Slice {
            between: Some((low.into(), high.into())),
            ..self
        }
    }

    /// Only items whose attribute (a dotted path) has this value.
    pub fn filter(mut self, name: &'static str, is: Option<String>) -> Slice {
        self.equals.extend(is.map(|is| (name, is)));
        self
    }
}

/// What a slice gave.
#[derive(Debug)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// True if there are more behind the last one.
    pub has_more: bool,
}

struct Expressions {
    key: String,
    filter: Option<String>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

fn expressions(slice: &Slice) -> Expressions {
    let mut names = HashMap::from([("#p".to_owned(), slice.partition.0.to_owned())]);
    let mut values = HashMap::from([(
        ":p".to_owned(),
        AttributeValue::S(slice.partition.1.clone()),
    )]);
    let mut key = "#p = :p".to_owned();
    if let Some((name, operator, with)) = &slice.range {
        names.insert("#r".to_owned(), (*name).to_owned());
        values.insert(":r".to_owned(), with.clone());
        key = format!("{key} AND #r {operator} :r");
    }
    if let Some((low, high)) = &slice.between {
        names.insert("#sk".to_owned(), "sk".to_owned());
        values.insert(":low".to_owned(), AttributeValue::S(low.clone()));
        values.insert(":high".to_owned(), AttributeValue::S(high.clone()));
        key = format!("{key} AND #sk BETWEEN :low AND :high");
    }
    let filters: Vec<String> = slice
        .equals
        .iter()
        .enumerate()
        .map(|(i, (path, is))| {
            let parts: Vec<String> = path
                .split('.')
                .enumerate()
                .map(|(j, part)| {
                    let placeholder = format!("#f{i}x{j}");
                    names.insert(placeholder.clone(), part.to_owned());
                    placeholder
                })
                .collect();
            values.insert(format!(":f{i}"), AttributeValue::S(is.clone()));
            format!("{} = :f{i}", parts.join("."))
        })
        .collect();
    let filter = (!filters.is_empty()).then(|| filters.join(" AND "));
    Expressions {
        key,
        filter,
        names,
        values,
    }
}

/// About how large an item is on the wire.
fn size(item: &Item) -> usize {
    fn of(value: &AttributeValue) -> usize {
        match value {
            AttributeValue::S(text) | AttributeValue::N(text) => text.len() + 8,
            // Base64 where it is read, and where it goes from there.
            AttributeValue::B(bytes) => bytes.as_ref().len().div_ceil(3) * 4,
            AttributeValue::M(map) => map.iter().map(|(k, v)| k.len() + of(v) + 8).sum(),
            AttributeValue::L(list) => list.iter().map(of).sum(),
            _ => 16,
        }
    }
    let own: usize = item.iter().map(|(k, v)| k.len() + of(v) + 8).sum();
    own + bytes_apart(item)
}

impl Store {
    /// Reads a slice.
    pub(crate) async fn slice<T: DeserializeOwned>(&self, slice: Slice) -> Result<Page<T>, Error> {
        let limit = slice.limit as usize;
        let mut to_skip = slice.skip as usize;
        let mut after = slice.after.clone();
        let mut taken: Vec<Item> = Vec::new();
        let (mut bytes, mut left_out) = (0, false);
        for _ in 0..MAX_QUERIES {
            // One more than wanted shows whether there is a next page.
            let mut want = to_skip + limit + 1 - taken.len();
            // What has expired is the oldest, and may be much.
            if left_out {
                want = MAX_QUERY_ITEMS;
            }
            let (items, last) = self.query(&slice, after.take(), want).await?;
            for item in items {
                if slice.leaves_out(&item) {
                    left_out = true;
                    continue;
                }
                if to_skip > 0 {
                    to_skip -= 1;
                    continue;
                }
                bytes += size(&item);
                if taken.len() == limit || (bytes > MAX_PAGE_BYTES && !taken.is_empty()) {
                    return page(taken, true);
                }
                taken.push(item);
            }
            match last {
                Some(last) => after = Some(last),
                None => return page(taken, false),
            }
        }
        if taken.is_empty() {
            // Without an item there is nothing to go on from, and an empty page would be a lie.
            return Err(Error::internal("a page took too many queries"));
        }
        page(taken, true)
    }

    /// Reads a slice to its end, item by item.
    pub(crate) async fn each<T: DeserializeOwned>(
        &self,
        slice: &Slice,
        mut take: impl FnMut(T),
    ) -> Result<(), Error> {
        let mut after = None;
        for _ in 0..MAX_QUERIES {
            let (items, last) = self.query(slice, after, MAX_QUERY_ITEMS).await?;
            for item in items {
                take(read(item)?);
            }
            match last {
                Some(last) => after = Some(last),
                None => return Ok(()),
            }
        }
        Err(Error::internal("a reading took too many queries"))
    }

    async fn query(
        &self,
        slice: &Slice,
        after: Option<Item>,
        want: usize,
    ) -> Result<(Vec<Item>, Option<Item>), Error> {
        let began = Instant::now();
        let parts = expressions(slice);
        // With a filter the limit would count what is filtered out.
        let limit = parts
            .filter
            .is_none()
            .then(|| i32::try_from(want).unwrap_or(i32::MAX));
        let answer = self
            .client
            .query()
            .table_name(self.tables.name(slice.table))
            .set_index_name(slice.index.map(str::to_owned))
            .consistent_read(slice.index.is_none())
            .key_condition_expression(parts.key)
            .set_filter_expression(parts.filter)
            .set_projection_expression(slice.keys_only.then(|| "pk, sk".to_owned()))
            .set_expression_attribute_names(Some(parts.names))
            .set_expression_attribute_values(Some(parts.values))
            .scan_index_forward(!slice.newest_first)
            .set_exclusive_start_key(after)
            .set_limit(limit)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await
            .map_err(|e| failed("Query", &e))?;
        log("Query", began, answer.consumed_capacity.as_slice());
        Ok((answer.items.unwrap_or_default(), answer.last_evaluated_key))
    }

    /// Counts what a slice would give, all pages of it.
    pub(crate) async fn count(&self, slice: &Slice) -> Result<u64, Error> {
        let mut total = 0;
        let mut after = None;
        for _ in 0..MAX_QUERIES {
            let began = Instant::now();
            let parts = expressions(slice);
            let answer = self
                .client
                .query()
                .table_name(self.tables.name(slice.table))
                .set_index_name(slice.index.map(str::to_owned))
                .consistent_read(slice.index.is_none())
                .select(Select::Count)
                .key_condition_expression(parts.key)
                .set_filter_expression(parts.filter)
                .set_expression_attribute_names(Some(parts.names))
                .set_expression_attribute_values(Some(parts.values))
                .set_exclusive_start_key(after)
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await
                .map_err(|e| failed("Query (count)", &e))?;
            log("Query (count)", began, answer.consumed_capacity.as_slice());
            total += u64::try_from(answer.count).unwrap_or(0);
            after = answer.last_evaluated_key;
            if after.is_none() {
                return Ok(total);
            }
        }
        Err(Error::internal("a count took too many queries"))
    }
}

fn page<T: DeserializeOwned>(items: Vec<Item>, has_more: bool) -> Result<Page<T>, Error> {
    Ok(Page {
        items: items.into_iter().map(read).collect::<Result<_, _>>()?,
        has_more,
    })
}
