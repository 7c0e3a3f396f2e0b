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

mod content;
pub mod shape;
