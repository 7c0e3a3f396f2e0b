//! Every operation, by group.

mod audit;
mod budgets;
mod credits;
mod environments;
mod openapi;
mod profiles;
mod queue;
mod runs;
mod templates;
mod verification;
mod webhooks;
mod work_orders;

use super::operation::Operation;
use awo_contract::schema::Schemas;

/// Every operation.
pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let groups = [
        work_orders::all,
        runs::all,
        queue::all,
        audit::all,
        profiles::all,
        credits::all,
        budgets::all,
        templates::all,
        environments::all,
        webhooks::all,
        verification::all,
        openapi::all,
    ];
    groups.into_iter().flat_map(|of| of(schemas)).collect()
}
