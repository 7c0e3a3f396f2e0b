//! The declaration of a function of the API. Each group of routes lists its own in `PROGRAMS`; the
//! local service, the Lambda programs (`make template`) and the tests take them from there.

use awo_cloud::{Cloud, SetupError};

use crate::function::{HttpFunction, StreamingFunction};
use awo_contract::routes::Route;

/// How a function is made of the cloud's settings.
#[derive(Debug, Clone, Copy)]
pub enum Make {
    /// One whose responses are whole.
    Whole(fn(&Cloud) -> Result<HttpFunction, SetupError>),
    /// One whose responses may come in pieces.
    Streaming(fn(&Cloud) -> Result<StreamingFunction, SetupError>),
}

/// A function of the API, not made yet.
#[derive(Debug, Clone, Copy)]
pub struct ApiProgram {
    /// Its name, and that of its Lambda program.
    pub name: &'static str,
    /// How it is made.
    pub make: Make,
}

/// The program of a route whose responses are whole.
#[must_use]
pub const fn whole(
    route: &Route,
    make: fn(&Cloud) -> Result<HttpFunction, SetupError>,
) -> ApiProgram {
    ApiProgram {
        name: route.function,
        make: Make::Whole(make),
    }
}

/// The program of a route whose responses may come in pieces.
#[must_use]
pub const fn streaming(
    route: &Route,
    make: fn(&Cloud) -> Result<StreamingFunction, SetupError>,
) -> ApiProgram {
    ApiProgram {
        name: route.function,
        make: Make::Streaming(make),
    }
}
