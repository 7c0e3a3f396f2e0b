//! Git hosts and submodules of a run.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Timestamp;

/// A credential for one git host.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitCredential {
    /// Host name, with the port where it is not 443.
    pub host: String,
    /// Sent as the password of basic authentication.
    pub token: String,
    /// Its kind; a release before this one does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<CredentialKind>,
    /// Its end. One that has an end is renewed on request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl std::fmt::Debug for GitCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GitCredential {{ host: {:?}, .. }}", self.host)
    }
}

impl GitCredential {
    /// The organization's own token, which has no end that the service knows.
    #[must_use]
    pub fn of_token(host: String, token: String) -> GitCredential {
        GitCredential {
            host,
            token,
            kind: Some(CredentialKind::Token),
            expires_at: None,
        }
    }
}

/// Kind of a git host's credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CredentialKind {
    /// Token of an App, for one repository and a while.
    App,
    /// The organization's token for the host.
    Token,
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
