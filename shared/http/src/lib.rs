//! From an API Gateway request to a typed one and back: the route table, keys and scopes, the rate
//! limit, bodies and queries, paging, idempotency, both response styles and all errors.
//!
//! A handler gets a request only after its caller is authenticated and authorized. The checks have
//! one order on every route: 401, 404/405, 403, 429, and then faults of the request itself.

pub mod answer;
pub mod authentication;
pub mod call;
pub mod events;
pub mod function;
pub mod page;
pub mod program;
pub mod query;
pub mod reply;
pub mod retry;
pub mod site;

mod access_log;
mod cors;
mod failure;

pub use answer::Answer;
pub use awo_contract::routes::{self, Access, Route, Style};
pub use call::Call;
pub use function::{HttpFunction, StreamingFunction, serve, serve_streaming};
pub use reply::Reply;
