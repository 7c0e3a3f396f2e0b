//! STS: sessions of roles, and what their tokens hold.

use awo_local::access::AccessKey;
use awo_local::shutdown::Shutdown;
use awo_local::sts::{self, Session};
use aws_sdk_sts::Client;
use aws_sdk_sts::error::ProvideErrorMetadata;
use aws_sdk_sts::types::Tag;

use crate::cloud::{loopback, sts_client};

const ROLE: &str = "arn:aws:iam::000000000000:role/awo-bedrock";

async fn start() -> (Client, AccessKey, String) {
    let key = AccessKey::random();
    let server = sts::start(loopback().await, key.clone(), Shutdown::new()).unwrap();
    (sts_client(&server.url(), key.id()), key, server.url())
}

fn tag(key: &str, value: &str) -> Tag {
    Tag::builder().key(key).value(value).build().unwrap()
}

#[tokio::test]
async fn a_session_says_what_it_is_and_its_secret_follows_from_its_token() {
    let (client, key, _) = start().await;
    let assume = client
        .assume_role()
        .role_arn(ROLE)
        .role_session_name("run_1");
    let assume = assume
        .tags(tag("orgId", "org_1"))
        .tags(tag("tenantId", "Zoë: a/b"));
    let assumed = assume.duration_seconds(900).send().await.unwrap();
    let credentials = assumed.credentials.unwrap();
    let session = Session::of_token(&credentials.session_token).unwrap();
    assert_eq!(session.access_key_id, credentials.access_key_id);
    assert_eq!((&*session.role_arn, &*session.name), (ROLE, "run_1"));
    assert_eq!(session.tags["orgId"], "org_1");
    assert_eq!(session.tags["tenantId"], "Zoë: a/b");
    let secret = Session::secret_of(key.id(), &credentials.session_token);
    assert_eq!(secret, credentials.secret_access_key);
    // The answer has whole seconds.
    let ends = credentials.expiration.to_millis().unwrap();
    assert_eq!(ends / 1_000, session.expires_at / 1_000);
    assert_eq!(Session::of_token("nonsense"), None);
}

#[tokio::test]
async fn what_aws_would_refuse_is_refused() {
    let (client, _, url) = start().await;
    let assume = || {
        client
            .assume_role()
            .role_arn(ROLE)
            .role_session_name("run_1")
    };
    for (refused, code) in [
        (
            assume().role_arn("arn:aws:iam::111122223333:role/x"),
            "AccessDenied",
        ),
        (assume().role_session_name("a b"), "ValidationError"),
        (assume().duration_seconds(3_601), "ValidationError"),
        (assume().tags(tag("tenantId", "a&b")), "ValidationError"),
        (
            assume().tags(tag("a", "1")).tags(tag("a", "2")),
            "ValidationError",
        ),
    ] {
        let error = refused.send().await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{error:?}");
    }
    let stranger = sts_client(&url, "AKIASTRANGER");
    let refused = stranger
        .assume_role()
        .role_arn(ROLE)
        .role_session_name("run_1");
    let error = refused.send().await.unwrap_err();
    assert_eq!(error.code(), Some("InvalidClientTokenId"), "{error:?}");
}
