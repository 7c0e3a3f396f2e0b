//! Routes of webhooks and their deliveries. A secret appears in only two responses: that of the
//! create and that of the rotation which created it.

pub mod create_webhook;
pub mod delete_webhook;
pub mod get_webhook;
pub mod list_deliveries;
pub mod list_webhooks;
pub mod redeliver;
pub mod rotate_webhook_secret;
pub mod test_webhook;
pub mod update_webhook;

use awo_http::program::{ApiProgram, streaming, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::CREATE_WEBHOOK, create_webhook::function),
    whole(&routes::DELETE_WEBHOOK, delete_webhook::function),
    whole(&routes::GET_WEBHOOK, get_webhook::function),
    whole(&routes::LIST_DELIVERIES, list_deliveries::function),
    whole(&routes::LIST_WEBHOOKS, list_webhooks::function),
    whole(&routes::REDELIVER, redeliver::function),
    whole(
        &routes::ROTATE_WEBHOOK_SECRET,
        rotate_webhook_secret::function,
    ),
    streaming(&routes::TEST_WEBHOOK, test_webhook::function),
    whole(&routes::UPDATE_WEBHOOK, update_webhook::function),
];
