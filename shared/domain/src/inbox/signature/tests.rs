use super::*;
use crate::inbox::{SignatureHeader, TokenSignature};

const GITHUB_SECRET: &str = "It's a Secret to Everybody";
/// As GitHub documents it.
const GITHUB_VECTOR: &str =
    "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
const HELLO: &[u8] = b"Hello, World!";
/// As the specification of Standard Webhooks has it.
const STANDARD_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const STANDARD_ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const STANDARD_SECONDS: i64 = 1_614_265_330;
const STANDARD_BODY: &[u8] = br#"{"test": 2432232314}"#;
const STANDARD_VECTOR: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

fn content(kind: InboxKind, signature: Option<InboxSignature>) -> InboxContent {
    InboxContent {
        name: "ours".to_owned(),
        kind,
        host: None,
        signature,
        duplicates: None,
        enabled: true,
    }
}

/// A secret as it is stored; GitHub's vector has one with spaces.
fn secrets(text: &str) -> InboxSecrets {
    InboxSecrets::new(InboxSecret::stored(text.to_owned()))
}

fn holds(
    content: &InboxContent,
    secrets: &InboxSecrets,
    headers: &[(&str, &str)],
    body: &[u8],
) -> bool {
    let headers: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let message = HookMessage {
        headers: &headers,
        body,
        received_at: Timestamp::from_epoch_ms(STANDARD_SECONDS * 1_000),
    };
    verify(content, secrets, &message).is_some()
}

#[test]
fn githubs_documented_vector_holds_and_nothing_beside_it() {
    let github = content(InboxKind::Github, None);
    let secrets = secrets(GITHUB_SECRET);
    let name = "x-hub-signature-256";
    assert!(holds(&github, &secrets, &[(name, GITHUB_VECTOR)], HELLO));
    let digits = &GITHUB_VECTOR[7..];
    for headers in [
        vec![],
        vec![(name, "")],
        vec![(name, "sha256=")],
        vec![(name, digits)],
        vec![(name, &GITHUB_VECTOR[..70])],
        vec![("x-hub-signature", GITHUB_VECTOR)],
        vec![("x-gitea-signature", digits)],
        vec![(name, GITHUB_VECTOR), (name, GITHUB_VECTOR)],
    ] {
        assert!(!holds(&github, &secrets, &headers, HELLO), "{headers:?}");
    }
    assert!(!holds(
        &github,
        &secrets,
        &[(name, GITHUB_VECTOR)],
        b"Hello, World"
    ));
}

#[test]
fn gitea_and_forgejo_sign_in_their_own_headers() {
    let gitea = content(InboxKind::Gitea, None);
    let (secrets, digits) = (secrets(GITHUB_SECRET), &GITHUB_VECTOR[7..]);
    for name in ["x-gitea-signature", "x-forgejo-signature"] {
        assert!(holds(&gitea, &secrets, &[(name, digits)], HELLO), "{name}");
        assert!(!holds(&gitea, &secrets, &[(name, GITHUB_VECTOR)], HELLO));
    }
    let both = [("x-forgejo-signature", "00"), ("x-gitea-signature", digits)];
    assert!(!holds(&gitea, &secrets, &both, HELLO));
}

#[test]
fn an_hmac_stands_in_the_header_that_the_inbox_names() {
    let signed = |prefix: Option<&str>, encoding| {
        let header = SignatureHeader {
            header: "x-signed".to_owned(),
            prefix: prefix.map(str::to_owned),
            encoding,
        };
        content(InboxKind::Hmac, Some(InboxSignature::Header(header)))
    };
    let (secrets, digits) = (secrets(GITHUB_SECRET), &GITHUB_VECTOR[7..]);
    let base64 = STANDARD.encode(hex::decode(digits).unwrap());
    let hex_inbox = signed(None, SignatureEncoding::Hex);
    let base64_inbox = signed(Some("v0="), SignatureEncoding::Base64);
    let prefixed = format!("v0={base64}");
    let upper = digits.to_ascii_uppercase();
    assert!(holds(&hex_inbox, &secrets, &[("x-signed", digits)], HELLO));
    assert!(holds(&hex_inbox, &secrets, &[("x-signed", &upper)], HELLO));
    assert!(holds(
        &base64_inbox,
        &secrets,
        &[("x-signed", &prefixed)],
        HELLO
    ));
    assert!(!holds(
        &base64_inbox,
        &secrets,
        &[("x-signed", &base64)],
        HELLO
    ));
    assert!(!holds(
        &hex_inbox,
        &secrets,
        &[("x-signed", &base64)],
        HELLO
    ));
}

#[test]
fn standard_webhooks_hold_within_five_minutes_of_their_time() {
    let secrets = secrets(STANDARD_SECRET);
    let verified = |later: i64, signature: &str, kind| {
        let headers = [
            (WEBHOOK_ID, STANDARD_ID.to_owned()),
            (WEBHOOK_TIMESTAMP, STANDARD_SECONDS.to_string()),
            (WEBHOOK_SIGNATURE, signature.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        let message = HookMessage {
            headers: &headers,
            body: STANDARD_BODY,
            received_at: Timestamp::from_epoch_ms((STANDARD_SECONDS + later) * 1_000),
        };
        verify(&content(kind, None), &secrets, &message)
    };
    for kind in [InboxKind::Standard, InboxKind::Gitlab] {
        let proof = verified(0, STANDARD_VECTOR, kind).unwrap();
        assert_eq!(proof.message_id.as_deref(), Some(STANDARD_ID));
        let among_others = format!("v1a,AAAA v1,AAAA {STANDARD_VECTOR}");
        assert!(verified(0, &among_others, kind).is_some());
        for (later, expected) in [(300, true), (-300, true), (301, false), (-301, false)] {
            let proof = verified(later, STANDARD_VECTOR, kind);
            assert_eq!(proof.is_some(), expected, "{later}");
        }
        assert!(verified(0, &STANDARD_VECTOR[3..], kind).is_none());
        assert!(verified(0, "v1,", kind).is_none());
    }
}

#[test]
fn gitlabs_token_counts_only_where_allowed_and_without_standard_headers() {
    let token = Some(InboxSignature::Token(TokenSignature::Token));
    let (with, without) = (
        content(InboxKind::Gitlab, token),
        content(InboxKind::Gitlab, None),
    );
    let secrets = secrets("a-token-of-gitlab");
    let good = ("x-gitlab-token", "a-token-of-gitlab");
    assert!(holds(&with, &secrets, &[good], HELLO));
    assert!(!holds(&without, &secrets, &[good], HELLO));
    assert!(!holds(
        &with,
        &secrets,
        &[("x-gitlab-token", "a-token-of-gitlaB")],
        HELLO
    ));
    assert!(!holds(&with, &secrets, &[], HELLO));
    for name in [WEBHOOK_ID, WEBHOOK_TIMESTAMP, WEBHOOK_SIGNATURE] {
        assert!(
            !holds(&with, &secrets, &[good, (name, "1")], HELLO),
            "{name}"
        );
    }
}

#[test]
fn after_a_rotation_both_secrets_hold_for_24_hours() {
    let github = content(InboxKind::Github, None);
    let now = Timestamp::from_epoch_ms(STANDARD_SECONDS * 1_000);
    let headers = [("x-hub-signature-256", GITHUB_VECTOR)];
    let next = || InboxSecret::parse("another-secret-of-ours").unwrap();
    let old = secrets(GITHUB_SECRET);
    let day = 24 * 3_600_000;
    for (rotated_at, expected) in [
        (now, true),
        (now.plus_ms(-day + 1), true),
        (now.plus_ms(-day), false),
    ] {
        let (rotated, until) = old.rotated(next(), rotated_at);
        assert_eq!(until, rotated_at.plus_ms(day));
        assert_eq!(holds(&github, &rotated, &headers, HELLO), expected);
    }
    let (twice, _) = old.rotated(next(), now).0.rotated(next(), now);
    assert!(!holds(&github, &twice, &headers, HELLO));
}

#[test]
fn a_duplicate_is_known_by_what_is_signed() {
    let proof = |id: Option<&str>| SignatureProof {
        message_id: id.map(str::to_owned),
    };
    let key = |content: &InboxContent, id, body: &[u8]| duplicate_key(content, &proof(id), body);
    let github = content(InboxKind::Github, None);
    assert_eq!(key(&github, None, b"a"), key(&github, None, b"a"));
    assert_ne!(key(&github, None, b"a"), key(&github, None, b"b"));
    let standard = content(InboxKind::Standard, None);
    assert_eq!(
        key(&standard, Some("m"), b"a"),
        key(&standard, Some("m"), b"b")
    );
    assert_ne!(
        key(&standard, Some("m"), b"a"),
        key(&standard, Some("n"), b"a")
    );
    let every = InboxContent {
        duplicates: Some(DuplicateRule::None),
        ..content(InboxKind::Hmac, None)
    };
    assert_eq!(key(&every, None, b"a"), None);
}

#[test]
fn a_debug_print_does_not_show_the_secret() {
    let shown = format!("{:?}", secrets(GITHUB_SECRET));
    assert!(!shown.contains("Everybody"), "{shown}");
}
