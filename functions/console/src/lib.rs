//! The console: a page of static files that calls this API with a key that a person enters. The files hold
//! no data and no key, so everybody may load them.

pub mod get_console;

use awo_http::program::{ApiProgram, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[whole(&routes::GET_CONSOLE, get_console::function)];
