//! The tables' definitions. The cloud's template has the same; a test compares the two.

use awo_domain::Error;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};

use crate::engine::table::failed;
use crate::{Store, Tables};

/// Index of work orders and runs by status.
pub const BY_STATUS: &str = "byStatus";
/// Index of runs by work order.
pub const BY_PARENT: &str = "byParent";
/// Index of everything that has a deadline. It has keys alone, so that a change of what else an item has
/// is no write of the index.
pub const DUE: &str = "due";
/// Attribute by which DynamoDB cleans up; never a lease.
pub const TTL_ATTRIBUTE: &str = "ttl";

/// The indexes of the work table: name, partition key, sort key and its type.
pub const WORK_INDEXES: [(&str, &str, &str, ScalarAttributeType); 3] = [
    (BY_STATUS, "statusKey", "sk", ScalarAttributeType::S),
    (BY_PARENT, "parentKey", "sk", ScalarAttributeType::S),
    (DUE, "dueShard", "dueAt", ScalarAttributeType::N),
];

/// The index of the deliveries table, for those that are pending.
pub const DELIVERY_INDEXES: [(&str, &str, &str, ScalarAttributeType); 1] =
    [(DUE, "dueShard", "dueAt", ScalarAttributeType::N)];

impl Store {
    /// Makes the tables that are missing. For the local cloud and for tests; in the cloud the
    /// template makes them.
    ///
    /// # Errors
    /// Internal, when DynamoDB refuses.
    pub async fn create_missing_tables(&self) -> Result<(), Error> {
        self.create_missing_table(&self.tables.work, &WORK_INDEXES)
            .await?;
        self.create_missing_table(&self.tables.ledger, &[]).await?;
        self.create_missing_table(&self.tables.settings, &[])
            .await?;
        self.create_missing_table(&self.tables.deliveries, &DELIVERY_INDEXES)
            .await?;
        let Tables {
            work,
            settings,
            deliveries,
            ledger: _,
        } = &self.tables;
        for table in [work, settings, deliveries] {
            self.expire(table).await?;
        }
        Ok(())
    }

    /// Lets DynamoDB clean up a table.
    async fn expire(&self, table: &str) -> Result<(), Error> {
        let specification = TimeToLiveSpecification::builder()
            .enabled(true)
            .attribute_name(TTL_ATTRIBUTE)
            .build()
            .map_err(Error::internal)?;
        let enabled = self
            .client
            .update_time_to_live()
            .table_name(table)
            .time_to_live_specification(specification)
            .send()
            .await;
        match enabled {
            Err(e) if !format!("{e:?}").contains("already enabled") => {
                Err(failed("UpdateTimeToLive", &e))
            }
            _ => Ok(()),
        }
    }

    async fn create_missing_table(
        &self,
        name: &str,
        indexes: &[(&str, &str, &str, ScalarAttributeType)],
    ) -> Result<(), Error> {
        let mut attributes: Vec<(&str, ScalarAttributeType)> = vec![
            ("pk", ScalarAttributeType::S),
            ("sk", ScalarAttributeType::S),
        ];
        let mut create = self
            .client
            .create_table()
            .table_name(name)
            .billing_mode(BillingMode::PayPerRequest)
            .set_key_schema(Some(key_schema("pk", "sk")?));
        for (index, pk, sk, sk_type) in indexes {
            attributes.push((pk, ScalarAttributeType::S));
            attributes.push((sk, sk_type.clone()));
            let index = GlobalSecondaryIndex::builder()
                .index_name(*index)
                .set_key_schema(Some(key_schema(pk, sk)?))
                .projection(
                    Projection::builder()
                        .projection_type(projection(index))
                        .build(),
                )
                .build()
                .map_err(Error::internal)?;
            create = create.global_secondary_indexes(index);
        }
        attributes.sort_by_key(|(name, _)| *name);
        attributes.dedup_by_key(|(name, _)| *name);
        for (name, kind) in attributes {
            let attribute = AttributeDefinition::builder()
                .attribute_name(name)
                .attribute_type(kind)
                .build();
            create = create.attribute_definitions(attribute.map_err(Error::internal)?);
        }
        match create.send().await {
            Err(e)
                if !e
                    .as_service_error()
                    .is_some_and(|e| e.is_resource_in_use_exception()) =>
            {
                Err(failed("CreateTable", &e))
            }
            _ => Ok(()),
        }
    }
}

/// The attributes that an index has beside its keys and the table's: all of them, or none.
#[must_use]
pub fn projection(index: &str) -> ProjectionType {
    if index == DUE {
        ProjectionType::KeysOnly
    } else {
        ProjectionType::All
    }
}

fn key_schema(pk: &str, sk: &str) -> Result<Vec<KeySchemaElement>, Error> {
    [(pk, KeyType::Hash), (sk, KeyType::Range)]
        .into_iter()
        .map(|(name, kind)| {
            KeySchemaElement::builder()
                .attribute_name(name)
                .key_type(kind)
                .build()
                .map_err(Error::internal)
        })
        .collect()
}
