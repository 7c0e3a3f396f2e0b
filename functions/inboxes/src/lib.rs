//! Routes of inboxes and of the deliveries to them. A secret appears in only two responses: that of the create
//! and that of the rotation which made it.

mod any_json;
pub mod create_inbox;
pub mod delete_inbox;
pub mod get_inbox;
pub mod list_inbox_deliveries;
pub mod list_inboxes;
pub mod receive_delivery;
pub mod replay_inbox_delivery;
pub mod rotate_inbox_secret;
pub mod update_inbox;

use awo_http::program::{ApiProgram, whole};
use awo_http::routes;

/// The functions of this group.
pub const PROGRAMS: &[ApiProgram] = &[
    whole(&routes::CREATE_INBOX, create_inbox::function),
    whole(&routes::DELETE_INBOX, delete_inbox::function),
    whole(&routes::GET_INBOX, get_inbox::function),
    whole(
        &routes::LIST_INBOX_DELIVERIES,
        list_inbox_deliveries::function,
    ),
    whole(&routes::LIST_INBOXES, list_inboxes::function),
    whole(&routes::RECEIVE_DELIVERY, receive_delivery::function),
    whole(
        &routes::REPLAY_INBOX_DELIVERY,
        replay_inbox_delivery::function,
    ),
    whole(&routes::ROTATE_INBOX_SECRET, rotate_inbox_secret::function),
    whole(&routes::UPDATE_INBOX, update_inbox::function),
];
