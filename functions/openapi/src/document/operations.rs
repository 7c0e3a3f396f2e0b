//! Every operation, by group.

mod credits;
mod openapi;
mod queue;
mod runs;
mod templates;
mod verification;
mod work_orders;

use super::operation::Operation;
use super::schema::Schemas;

/// Every operation.
pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let groups = [
        work_orders::all,
        runs::all,
        queue::all,
        credits::all,
        templates::all,
        verification::all,
        openapi::all,
    ];
    groups.into_iter().flat_map(|of| of(schemas)).collect()
}
