//! Task prompts. DynamoDB writes a whole item for each change of it, and copies it into its indexes; a
//! work order's item changes with each status. So a long prompt has an item of its own, in no index, which is
//! written once.

use std::collections::HashMap;

use awo_domain::{Error, OrgId, TaskPrompt};
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::engine::batch::MAX_KEYS;
use crate::engine::change::Change;
use crate::engine::item::{Item, SCHEMA_VERSION};
use crate::engine::key::Key;
use crate::engine::table::read;
use crate::engine::transaction::Transaction;
use crate::work_orders::{NewWorkOrder, WorkOrder};

/// Longest prompt, in bytes, that stays in its work order's item: another item costs a round trip for each
/// reader.
const MAX_INLINE: usize = 512;
/// The attribute of a work order's item.
const ATTRIBUTE: &str = "taskPrompt";

/// The prompt in a work order's item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StoredPrompt {
    /// The whole of a short one.
    Inline(TaskPrompt),
    /// How long it is. It has an item of its own.
    Apart {
        /// In UTF-8.
        bytes: usize,
    },
}

/// The item of a long prompt.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptItem {
    task_prompt: TaskPrompt,
    v: u32,
}

impl StoredPrompt {
    pub(crate) fn of(prompt: TaskPrompt) -> StoredPrompt {
        match prompt.as_str().len() {
            ..=MAX_INLINE => StoredPrompt::Inline(prompt),
            bytes => StoredPrompt::Apart { bytes },
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            StoredPrompt::Inline(prompt) => prompt.as_str().len(),
            StoredPrompt::Apart { bytes } => *bytes,
        }
    }

    pub(crate) fn is_apart(&self) -> bool {
        matches!(self, StoredPrompt::Apart { .. })
    }
}

/// The bytes of a work order's prompt that are not in its item.
pub(crate) fn bytes_apart(item: &Item) -> usize {
    let apart = item.get(ATTRIBUTE).and_then(|prompt| prompt.as_m().ok());
    let bytes = apart.and_then(|of| of.get("bytes")?.as_n().ok());
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

impl Transaction {
    /// Writes the prompt of a new work order, unless it stands in the work order's own item.
    pub(crate) fn prompt(self, new: &NewWorkOrder) -> Result<Transaction, Error> {
        let prompt = &new.order.task_prompt;
        if !StoredPrompt::of(prompt.clone()).is_apart() {
            return Ok(self);
        }
        let item = PromptItem {
            task_prompt: prompt.clone(),
            v: SCHEMA_VERSION,
        };
        self.put(&Key::prompt(&new.org, &new.id), &item)
    }

    /// Deletes the prompt of a work order that is deleted, too.
    pub(crate) fn delete_prompt(self, org: &OrgId, order: &WorkOrder) -> Transaction {
        if order.prompt.is_apart() {
            self.delete(&Key::prompt(org, &order.id), Change::new())
        } else {
            self
        }
    }
}

impl Store {
    /// The prompt of a work order; none if it was purged since it was read.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn prompt(
        &self,
        org: &OrgId,
        order: &WorkOrder,
    ) -> Result<Option<TaskPrompt>, Error> {
        if let StoredPrompt::Inline(prompt) = &order.prompt {
            return Ok(Some(prompt.clone()));
        }
        let key = Key::prompt(org, &order.id);
        let item: Option<PromptItem> = self.get(&key).await?;
        Ok(item.map(|item| item.task_prompt))
    }

    /// The prompts of work orders, each as [`Store::prompt`] gives it, in one round trip for a page.
    ///
    /// # Errors
    /// Internal, when DynamoDB fails.
    pub async fn prompts(
        &self,
        org: &OrgId,
        orders: &[WorkOrder],
    ) -> Result<Vec<Option<TaskPrompt>>, Error> {
        let mut prompts = Vec::with_capacity(orders.len());
        for part in orders.chunks(MAX_KEYS) {
            let apart = part.iter().filter(|order| order.prompt.is_apart());
            let keys: Vec<Key> = apart.map(|order| Key::prompt(org, &order.id)).collect();
            let mut items = if keys.is_empty() {
                HashMap::new()
            } else {
                self.batch(keys).await?
            };
            for order in part {
                prompts.push(match &order.prompt {
                    StoredPrompt::Inline(prompt) => Some(prompt.clone()),
                    StoredPrompt::Apart { .. } => {
                        let item = items.remove(&Key::prompt(org, &order.id));
                        let item: Option<PromptItem> = item.map(read).transpose()?;
                        item.map(|item| item.task_prompt)
                    }
                });
            }
        }
        Ok(prompts)
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;

    fn stored(prompt: StoredPrompt) -> AttributeValue {
        serde_dynamo::to_attribute_value(prompt).unwrap()
    }

    #[test]
    fn a_short_prompt_is_text_as_ever_and_of_a_long_one_its_length_stays() {
        let longest = "x".repeat(MAX_INLINE);
        let short = StoredPrompt::of(TaskPrompt::new(longest.clone()));
        assert_eq!(stored(short.clone()), AttributeValue::S(longest.clone()));
        let long = StoredPrompt::of(TaskPrompt::new(longest + "é"));
        assert_eq!(
            long,
            StoredPrompt::Apart {
                bytes: MAX_INLINE + 2
            }
        );
        for (prompt, apart) in [(short, 0), (long, MAX_INLINE + 2)] {
            let item = Item::from([(ATTRIBUTE.to_owned(), stored(prompt.clone()))]);
            assert_eq!(bytes_apart(&item), apart);
            let again: StoredPrompt =
                serde_dynamo::from_attribute_value(stored(prompt.clone())).unwrap();
            assert_eq!(again, prompt);
        }
    }
}
