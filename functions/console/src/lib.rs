//! The console: a page of static files that calls this API with a key that a person enters. The files hold
//! no data and no key, so everybody may load them.

pub mod get_console;
