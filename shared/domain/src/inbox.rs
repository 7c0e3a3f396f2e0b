//! Inboxes: URLs to which forges and other senders post signed deliveries.

pub mod delivery;
pub mod secret;
pub mod signature;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::forge::{ForgeKind, GitHostName};
use crate::{Fault, InboxId, OrgId, Timestamp};

pub use secret::{InboxSecret, InboxSecrets};

/// Most inboxes of an organization.
pub const MAX_INBOXES: u32 = 10;
/// Longest name of an inbox, in characters.
pub const MAX_NAME: usize = 100;
/// Longest name of the header of a signature, in characters.
pub const MAX_HEADER: usize = 64;
/// Longest text before a signature in its header, in characters.
pub const MAX_PREFIX: usize = 32;
/// Largest body of a delivery, in bytes.
pub const MAX_BODY_BYTES: usize = 4 * 1_024 * 1_024;
/// Most deliveries of an organization that wait for their processing.
pub const MAX_UNPROCESSED: u64 = 1_000;
/// Time for which the body of a delivery is stored, in milliseconds.
pub const BODIES_KEPT_MS: i64 = 7 * 24 * 3_600_000;
/// Time within which a delivery that comes again is a duplicate, in milliseconds.
pub const DUPLICATES_MS: i64 = 7 * 24 * 3_600_000;
/// Time for which deliveries are listed, in milliseconds.
pub const DELIVERIES_KEPT_MS: i64 = 30 * 24 * 3_600_000;

/// The kind of an inbox's sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum InboxKind {
    /// GitHub: `X-Hub-Signature-256`.
    Github,
    /// Gitea and Forgejo: `X-Forgejo-Signature` or `X-Gitea-Signature`.
    Gitea,
    /// GitLab: the headers of Standard Webhooks, or its token.
    Gitlab,
    /// Any sender of Standard Webhooks.
    Standard,
    /// Any sender whose header has an HMAC-SHA256 of the body.
    Hmac,
}

impl InboxKind {
    /// The forge that sends to such an inbox.
    #[must_use]
    pub fn forge(self) -> Option<ForgeKind> {
        match self {
            InboxKind::Github => Some(ForgeKind::Github),
            InboxKind::Gitea => Some(ForgeKind::Gitea),
            InboxKind::Gitlab => Some(ForgeKind::Gitlab),
            InboxKind::Standard | InboxKind::Hmac => None,
        }
    }

    /// The host of an inbox that names none.
    #[must_use]
    pub fn usual_host(self) -> Option<&'static str> {
        match self {
            InboxKind::Github => Some("github.com"),
            InboxKind::Gitlab => Some("gitlab.com"),
            InboxKind::Gitea | InboxKind::Standard | InboxKind::Hmac => None,
        }
    }

    /// True if its deliveries are signed as Standard Webhooks.
    #[must_use]
    pub fn is_standard(self) -> bool {
        matches!(self, InboxKind::Gitlab | InboxKind::Standard)
    }
}

/// The rule by which a delivery to an inbox of the kind `hmac` is a duplicate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
#[schema(as = InboxDuplicates)]
pub enum DuplicateRule {
    /// A delivery whose body came within 7 days is a duplicate.
    #[default]
    Body,
    /// None is.
    None,
}

/// The encoding of a signature in its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
#[schema(as = InboxSignatureEncoding)]
pub enum SignatureEncoding {
    /// Hexadecimal digits in either case.
    Hex,
    /// Base64 with its padding.
    Base64,
}

/// The header in which a sender of the kind `hmac` signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = InboxSignatureHeader)]
pub struct SignatureHeader {
    /// The name of the header, in lower case.
    pub header: String,
    /// The text before the signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The encoding of the signature.
    pub encoding: SignatureEncoding,
}

impl SignatureHeader {
    /// The name of a header in lower case; none for what is no name.
    #[must_use]
    pub fn name(text: &str) -> Option<String> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_name = (1..=MAX_HEADER).contains(&text.len()) && text.bytes().all(fits);
        is_name.then(|| text.to_ascii_lowercase())
    }
}

/// The word that stands for GitLab's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = InboxTokenSignature)]
pub enum TokenSignature {
    /// `X-Gitlab-Token` is accepted where there are no headers of Standard Webhooks.
    Token,
}

/// A setting of signatures beyond the kind's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = InboxSignature)]
pub enum InboxSignature {
    /// For the kind `gitlab`.
    Token(TokenSignature),
    /// For the kind `hmac`.
    Header(SignatureHeader),
}

/// The fields of an inbox that a client sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxContent {
    /// The name, for people.
    pub name: String,
    /// The kind of its sender.
    pub kind: InboxKind,
    /// The host of the forge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<GitHostName>,
    /// A setting of signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<InboxSignature>,
    /// The rule of duplicates, for the kind `hmac`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<DuplicateRule>,
    /// False if every delivery is refused.
    pub enabled: bool,
}

impl InboxContent {
    /// The faults of fields that are given and do not fit its kind.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let fault = |path: &str, message: &str| Fault {
            path: path.to_owned(),
            message: message.to_owned(),
        };
        let mut faults = Vec::new();
        if self.kind.forge().is_none() && self.host.is_some() {
            faults.push(fault(
                "/host",
                "is not allowed for this kind: it has no forge",
            ));
        }
        match (self.kind, &self.signature) {
            (InboxKind::Hmac, Some(InboxSignature::Token(_))) => {
                let why = "must be an object with header and encoding for the kind hmac";
                faults.push(fault("/signature", why));
            }
            (InboxKind::Gitlab, Some(InboxSignature::Header(_))) => {
                faults.push(fault("/signature", "must be \"token\" for the kind gitlab"));
            }
            (
                InboxKind::Github | InboxKind::Gitea | InboxKind::Standard,
                Some(InboxSignature::Token(_) | InboxSignature::Header(_)),
            ) => faults.push(fault("/signature", "is not allowed for this kind")),
            _ => {}
        }
        if self.kind != InboxKind::Hmac && self.duplicates.is_some() {
            faults.push(fault("/duplicates", "is allowed for the kind hmac only"));
        }
        faults
    }

    /// True if GitLab's token is accepted.
    #[must_use]
    pub fn accepts_token(&self) -> bool {
        matches!(self.signature, Some(InboxSignature::Token(_)))
    }
}

/// An inbox. It is not `Serialize`, and its secrets do not show themselves in logs.
#[derive(Debug, Clone)]
pub struct Inbox {
    /// The id of the inbox.
    pub id: InboxId,
    /// The owner.
    pub org_id: OrgId,
    /// The fields that a client sets.
    pub content: InboxContent,
    /// The secrets that sign deliveries to it.
    pub secrets: InboxSecrets,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of its last change.
    pub updated_at: Option<Timestamp>,
}

impl Inbox {
    /// Time until which the secret before the present one signs, if it still does.
    #[must_use]
    pub fn previous_secret_expires_at(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.secrets.previous.as_ref().map(|(_, until)| *until);
        until.filter(|until| *until > now)
    }
}
