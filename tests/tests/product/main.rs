//! Black-box tests of the service, fault injection, and the parity of template and routes.

mod crash_points;
mod http_api;
mod template;
mod whole_runs;
