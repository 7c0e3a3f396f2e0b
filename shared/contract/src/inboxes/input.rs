//! Bodies of inboxes: a complete one, a change of one, and a rotation of its secret.

use awo_domain::Fault;
use awo_domain::forge::GitHostName;
use awo_domain::inbox::secret::SECRET_CHARACTERS;
use awo_domain::inbox::{
    DuplicateRule, InboxContent, InboxKind, InboxSecret, InboxSignature, MAX_HEADER, MAX_NAME,
    MAX_PREFIX, SignatureEncoding, SignatureHeader, TokenSignature,
};
use serde_json::{Value as Json, json};

use crate::body::Value;
use crate::field::{Field, flag, one_of, parsed, text, typed};
use crate::record::{Component, Members, Record};
use crate::schema::{Schemas, input};

/// Longest host, in characters.
const MAX_HOST: usize = 200;

/// The body of a create.
#[derive(Debug)]
pub struct NewInbox;

/// An inbox to be created.
#[derive(Debug)]
pub struct NewInboxFields {
    /// The fields that stay.
    pub content: InboxContent,
    /// The secret, if the sender chose it.
    pub secret: Option<InboxSecret>,
}

impl Record for NewInbox {
    type Output = NewInboxFields;

    fn members<M: Members>(&self, members: &mut M) -> Option<NewInboxFields> {
        let name = members.required("name", name());
        let kind = typed::<InboxKind, _, _>(|name| one_of(name, InboxKind::ALL, InboxKind::as_str));
        let kind = members.required("kind", kind.described("The kind of the sender."));
        let host = members.required_if(kind == Some(InboxKind::Gitea), "host", host());
        let is_hmac = kind == Some(InboxKind::Hmac);
        let signature = members.required_if(is_hmac, "signature", signature());
        let duplicates = members.optional("duplicates", duplicates());
        let secret = members.optional("secret", secret());
        let kind = kind?;
        let usual_host = || GitHostName::parse(kind.usual_host()?).ok();
        let content = InboxContent {
            name: name?,
            kind,
            host: host.or_else(usual_host),
            signature,
            duplicates,
            enabled: true,
        };
        let faults = content.faults();
        let is_complete = !(is_hmac && content.signature.is_none())
            && (content.host.is_some() || kind.forge().is_none());
        let is_right = faults.is_empty() && is_complete;
        members.faults(
            faults
                .into_iter()
                .chain(secret_faults(&content, secret.as_ref())),
        );
        is_right.then_some(NewInboxFields { content, secret })
    }
}

/// The faults of a secret that is given for an inbox.
pub fn secret_faults(content: &InboxContent, secret: Option<&InboxSecret>) -> Option<Fault> {
    let checked = secret?.check(content.kind, content.accepts_token());
    checked.err().map(|why| Fault {
        path: "/secret".to_owned(),
        message: why.to_string(),
    })
}

/// The body of a change.
#[derive(Debug)]
pub struct InboxUpdate;

/// The given members of a change.
#[derive(Debug)]
pub struct InboxChange {
    name: Option<String>,
    host: Option<GitHostName>,
    signature: Option<InboxSignature>,
    duplicates: Option<DuplicateRule>,
    enabled: Option<bool>,
}

impl InboxChange {
    /// The content after the change: absent members stay as they are.
    #[must_use]
    pub fn applied_to(self, old: InboxContent) -> InboxContent {
        InboxContent {
            name: self.name.unwrap_or(old.name),
            kind: old.kind,
            host: self.host.or(old.host),
            signature: self.signature.or(old.signature),
            duplicates: self.duplicates.or(old.duplicates),
            enabled: self.enabled.unwrap_or(old.enabled),
        }
    }
}

impl Record for InboxUpdate {
    type Output = InboxChange;

    fn members<M: Members>(&self, members: &mut M) -> Option<InboxChange> {
        let enabled = flag().described("False: every delivery is refused.");
        Some(InboxChange {
            name: members.optional("name", name()),
            host: members.optional("host", host()),
            signature: members.optional("signature", signature()),
            duplicates: members.optional("duplicates", duplicates()),
            enabled: members.optional("enabled", enabled),
        })
    }
}

/// The body of a rotation.
#[derive(Debug)]
pub struct SecretRotation;

impl Record for SecretRotation {
    type Output = Option<InboxSecret>;

    fn members<M: Members>(&self, members: &mut M) -> Option<Option<InboxSecret>> {
        Some(members.optional("secret", secret()))
    }
}

fn name() -> impl Field<Output = String> {
    text(1..=MAX_NAME).described("For people.")
}

fn host() -> impl Field<Output = GitHostName> {
    parsed(text(1..=MAX_HOST), GitHostName::parse).described(
        "The host of the forge: by default `github.com` or `gitlab.com`, required for `gitea`.",
    )
}

fn duplicates() -> impl Field<Output = DuplicateRule> {
    typed::<DuplicateRule, _, _>(|name| one_of(name, DuplicateRule::ALL, DuplicateRule::as_str))
        .described("For `hmac`: the rule by which a delivery is a duplicate; by default `body`.")
}

fn secret() -> impl Field<Output = InboxSecret> {
    let parse = |text: &str| InboxSecret::parse(text).map_err(|why| why.to_string());
    parsed(text(SECRET_CHARACTERS), parse).described(
        "The secret that the sender chose, in visible ASCII characters; without it, a new one. For `standard` \
         and `gitlab` it is `whsec_` and Base64, unless GitLab's token is accepted.",
    )
}

fn signature() -> impl Field<Output = InboxSignature> {
    Signature.described(
        "For `hmac` the header with the signature; for `gitlab` `token`, which accepts `X-Gitlab-Token` where \
         there are no headers of Standard Webhooks.",
    )
}

/// The word `token`, or the header of an HMAC.
struct Signature;

impl Field for Signature {
    type Output = InboxSignature;

    fn read(&self, value: Value) -> Option<InboxSignature> {
        if value.is_object() {
            return HeaderBody.read(value).map(InboxSignature::Header);
        }
        value.parsed(|text| match text {
            "token" => Ok(InboxSignature::Token(TokenSignature::Token)),
            _ => Err("must be \"token\", or an object with header and encoding".to_owned()),
        })
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        let header = HeaderBody.schema(schemas);
        let either = json!({ "oneOf": [schemas.of::<TokenSignature>(), header] });
        input(
            "InboxSignatureInput",
            "A setting of signatures beyond the kind's own.",
            either,
        )
    }
}

/// The header of an HMAC.
struct HeaderBody;

impl Record for HeaderBody {
    const COMPONENT: Option<Component> = Some(Component {
        name: "InboxSignatureHeaderInput",
        description: "The header in which the sender has the HMAC-SHA256 of the body.",
    });
    type Output = SignatureHeader;

    fn members<M: Members>(&self, members: &mut M) -> Option<SignatureHeader> {
        let header = parsed(text(1..=MAX_HEADER), |name| {
            SignatureHeader::name(name).ok_or_else(|| {
                format!("must be the name of a header with at most {MAX_HEADER} characters")
            })
        });
        let encoding = typed::<SignatureEncoding, _, _>(|name| {
            one_of(name, SignatureEncoding::ALL, SignatureEncoding::as_str)
        });
        let header = members.required("header", header.described("The name of the header."));
        let prefix = text(0..=MAX_PREFIX).described("The text before the signature.");
        let prefix = members.optional("prefix", prefix);
        let encoding = members.required(
            "encoding",
            encoding.described("The encoding of the signature."),
        );
        Some(SignatureHeader {
            header: header?,
            prefix: prefix.filter(|prefix| !prefix.is_empty()),
            encoding: encoding?,
        })
    }
}
