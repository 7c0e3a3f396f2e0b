//! Git hosts and submodules of a run.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A credential for one git host.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitCredential {
    /// Host name, with the port where it is not 443.
    pub host: String,
    /// Sent as the password of basic authentication.
    pub token: String,
}

impl std::fmt::Debug for GitCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GitCredential {{ host: {:?}, .. }}", self.host)
    }
}

/// A submodule that could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotFetched {
    /// Path in the repository.
    pub path: String,
    /// Reason of the failure.
    pub reason: String,
}
