//! The claim of a run by its runner.

use serde::{Deserialize, Serialize};

/// The path of the claim; `POST` with a [`Claim`], answered by a [`RunSpec`](super::RunSpec).
pub const CLAIM_PATH: &str = "/control/claim";

/// Trade of the nonce for a token.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claim {
    /// The nonce, whole.
    pub nonce: String,
    /// 64 lower-case hex digits that the runner generated; the service stores their hash.
    pub token: String,
}
