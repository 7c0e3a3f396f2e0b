//! Every operation, by group: its route, its text, its body and its answers.

pub(crate) mod audit;
pub(crate) mod budgets;
pub(crate) mod console;
pub(crate) mod control;
pub(crate) mod credits;
pub(crate) mod environments;
pub(crate) mod inboxes;
pub(crate) mod mcp;
pub(crate) mod openapi;
pub(crate) mod outcomes;
pub(crate) mod profiles;
pub(crate) mod queue;
pub(crate) mod runs;
pub(crate) mod schedules;
pub(crate) mod templates;
pub(crate) mod triggers;
pub(crate) mod verification;
pub(crate) mod webhooks;
pub(crate) mod work_orders;

use crate::operation::Operation;
use crate::schema::Schemas;

/// Every operation.
#[must_use]
pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let groups = [
        work_orders::all,
        runs::all,
        queue::all,
        audit::all,
        profiles::all,
        credits::all,
        outcomes::all,
        budgets::all,
        templates::all,
        environments::all,
        schedules::all,
        triggers::all,
        webhooks::all,
        inboxes::all,
        verification::all,
        openapi::all,
    ];
    groups
        .into_iter()
        .flat_map(|group| group(schemas))
        .collect()
}
