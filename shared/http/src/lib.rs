//! From an API Gateway request to a typed one and back: the route table, keys and scopes, the
//! rate limit, bodies and queries, paging, idempotency, both response styles and all errors.
//!
//! A handler sees a request only after its caller is known and allowed. The checks come in one
//! order on every route: 401, 404/405, 403, 429, and then what is wrong with the request itself.

pub mod answer;
pub mod body;
pub mod call;
pub mod function;
pub mod page;
pub mod query;
pub mod routes;
pub mod shapes;

mod failure;

pub use answer::Answer;
pub use call::Call;
pub use function::{HttpFunction, serve};
pub use routes::{Access, Route, Style};
