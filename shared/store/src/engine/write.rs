//! A write as a part of a transaction.

use aws_sdk_dynamodb::types::{
    Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};

use awo_domain::Error;

use crate::Tables;
use crate::engine::change::Change;
use crate::engine::item::Item;
use crate::engine::key::Key;

/// An item, and what becomes of it.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    pub key: Key,
    pub act: Act,
}

/// What becomes of an item, if the condition of the change holds.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// It is written whole; of the change only the condition counts.
    Put(Item, Change),
    Change(Change),
    /// It is deleted; of the change only the condition counts.
    Delete(Change),
}

impl Write {
    /// As DynamoDB takes it. A refused write returns the item as it is.
    ///
    /// # Errors
    /// Internal, when a part is missing.
    pub fn to_transact_item(&self, tables: &Tables) -> Result<TransactWriteItem, Error> {
        let table = tables.name(self.key.table());
        let item = TransactWriteItem::builder();
        let old = ReturnValuesOnConditionCheckFailure::AllOld;
        Ok(match &self.act {
            Act::Put(attributes, when) => {
                let parts = when.parts();
                let mut attributes = attributes.clone();
                attributes.extend(self.key.to_item());
                let put = Put::builder()
                    .table_name(table)
                    .set_item(Some(attributes))
                    .set_condition_expression(parts.condition)
                    .set_expression_attribute_names(
                        (!parts.names.is_empty()).then_some(parts.names),
                    )
                    .set_expression_attribute_values(parts.values)
                    .return_values_on_condition_check_failure(old);
                item.put(put.build().map_err(Error::internal)?)
            }
            Act::Change(change) => {
                let parts = change.parts();
                let update = Update::builder()
                    .table_name(table)
                    .set_key(Some(self.key.to_item()))
                    .update_expression(parts.update)
                    .set_condition_expression(parts.condition)
                    .set_expression_attribute_names(Some(parts.names))
                    .set_expression_attribute_values(parts.values)
                    .return_values_on_condition_check_failure(old);
                item.update(update.build().map_err(Error::internal)?)
            }
            Act::Delete(when) => {
                let parts = when.parts();
                let delete = Delete::builder()
                    .table_name(table)
                    .set_key(Some(self.key.to_item()))
                    .set_condition_expression(parts.condition)
                    .set_expression_attribute_names(
                        (!parts.names.is_empty()).then_some(parts.names),
                    )
                    .set_expression_attribute_values(parts.values)
                    .return_values_on_condition_check_failure(old);
                item.delete(delete.build().map_err(Error::internal)?)
            }
        }
        .build())
    }
}
