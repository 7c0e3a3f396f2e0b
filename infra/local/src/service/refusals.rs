//! What the gateway answers by itself: the bodies of the template's `GatewayResponses`, which have
//! the members of both styles. A test compares them with the template.

use crate::gateway::{FOREIGN_HOST, ResponseBody};

const fn body(
    kind: &'static str,
    status: Option<u16>,
    code: &'static str,
    message: &'static str,
) -> ResponseBody {
    ResponseBody {
        kind,
        status,
        code,
        message,
        retry_after_s: None,
    }
}

/// The bodies of the refusals that this machine's gateway has.
pub const BODIES: [ResponseBody; 8] = [
    body(
        "ACCESS_DENIED",
        None,
        "FORBIDDEN",
        "This may not be called from there.",
    ),
    body(
        "MISSING_AUTHENTICATION_TOKEN",
        Some(404),
        "NOT_FOUND",
        "There is nothing here.",
    ),
    body(
        "REQUEST_TOO_LARGE",
        Some(413),
        "PAYLOAD_TOO_LARGE",
        "The request is too large.",
    ),
    ResponseBody {
        retry_after_s: Some(1),
        ..body(
            "THROTTLED",
            Some(429),
            "RATE_LIMITED",
            "The service is called too often now.",
        )
    },
    body(
        "WAF_FILTERED",
        None,
        "FORBIDDEN",
        "The request was refused by a firewall.",
    ),
    body(
        "DEFAULT_4XX",
        None,
        "BAD_REQUEST",
        "The request was refused by the gateway.",
    ),
    body(
        "DEFAULT_5XX",
        None,
        "INTERNAL_ERROR",
        "The service could not answer.",
    ),
    // The cloud's gateway has no such case: it knows its own domain names.
    body(
        FOREIGN_HOST,
        None,
        "FORBIDDEN",
        "The service answers requests for localhost and loopback addresses alone: call it by one of them, or through a reverse proxy that sets Host.",
    ),
];
