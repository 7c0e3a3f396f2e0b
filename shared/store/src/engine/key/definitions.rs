//! Keys of families of task definitions.

use awo_domain::OrgId;
use awo_domain::environment::ContainersId;

use super::{Key, Partition};
use crate::engine::item_kind::ItemKind;

impl Key {
    /// What stands behind a family: the organization's own, or the one of these containers.
    pub fn task_definition(org: &OrgId, containers: Option<&ContainersId>) -> Key {
        let of = containers.map_or("own", ContainersId::as_str);
        task_definitions(org).key(of)
    }
}

pub(crate) fn task_definitions(org: &OrgId) -> Partition {
    Partition::new(ItemKind::TaskDefinition, format!("{org}#task"))
}
