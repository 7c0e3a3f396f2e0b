//! Authorisation: every route of the table, with every kind of key, and with another
//! organization's. A new route is covered here, or fails for lack of a valid call.

pub mod answers;
mod runners;
pub mod samples;
mod strangers;

use std::collections::{BTreeSet, HashMap};

use awo_domain::api_key::{ApiKey, Scope};
use awo_http::routes::{Access, methods_of};
use awo_tests::client::Client;
use awo_tests::counted_requests::CountedRequests;
use awo_tests::everything::{everything_of, nothing_changed};
use awo_tests::rules;
use awo_tests::service::TestService;

use self::answers::{is_error, same, what};
use self::samples::Things;
use crate::http_api::quiet_service;

/// A key that the service keeps, and one with the same id that nobody has made.
async fn known_and_forged(service: &TestService) -> (ApiKey, ApiKey) {
    let cloud = &service.service.cloud;
    let mut random = [0; awo_domain::api_key::RANDOM_BYTES];
    for (byte, drawn) in random.iter_mut().zip(cloud.mint.secret().bytes()) {
        *byte = drawn;
    }
    let known = ApiKey::new(random);
    random[20] ^= 1;
    let forged = ApiKey::new(random);
    assert_eq!(known.id(), forged.id());
    let (store, scopes) = (cloud.store().unwrap(), [Scope::All]);
    let now = cloud.clock.now();
    let stored = store.create_key(&known, &service.org, &scopes, None, "cursor", now);
    stored.await.unwrap();
    (known, forged)
}

/// Everything that a caller without a good key may send, and whether it has the form of one.
async fn bad_credentials(service: &TestService) -> Vec<(&'static str, Option<String>, bool)> {
    let cloud = &service.service.cloud;
    let (revoked, forged) = known_and_forged(service).await;
    let store = cloud.store().unwrap();
    let now = cloud.clock.now();
    assert!(store.revoke_key(&revoked.id(), now).await.unwrap());
    let (known, forged_alive) = known_and_forged(service).await;
    let (rest, last) = known.reveal().split_at(known.reveal().len() - 1);
    let broken = format!("{rest}{}", if last == "0" { "1" } else { "0" });
    let bearer = |key: &str| Some(format!("Bearer {key}"));
    let unknown = cloud.mint.api_key();
    vec![
        ("no key", None, false),
        ("an empty key", Some("Bearer ".to_owned()), false),
        ("a malformed key", bearer("nonsense"), false),
        ("a runner's token", bearer(&"0".repeat(64)), false),
        (
            "a key without a scheme",
            Some(known.reveal().to_owned()),
            false,
        ),
        (
            "a key of another scheme",
            Some(format!("Basic {}", known.reveal())),
            false,
        ),
        ("a broken checksum", bearer(&broken), false),
        ("an unknown key", bearer(unknown.reveal()), true),
        ("a forged key", bearer(forged_alive.reveal()), true),
        ("a revoked key", bearer(revoked.reveal()), true),
        ("a forgery of a revoked key", bearer(forged.reveal()), true),
    ]
}

#[tokio::test]
async fn without_a_good_key_every_route_answers_the_same_401() {
    let service = quiet_service().await;
    let requests = CountedRequests::of(&service).await;
    let nobody = requests.for_client(&service.client.with_key(None));
    let things = Things::of(&service).await;
    let tables = rules::client(&service.service.cloud);
    let credentials = bad_credentials(&service).await;
    let before = everything_of(&tables, &service.org).await;
    for sample in samples::keyed() {
        let mut first = None;
        for (kind, credential, is_shaped) in &credentials {
            let what = what(&sample, kind);
            let header = credential.as_deref().map(|it| ("authorization", it));
            requests.calls();
            let answer = sample.send_with(&nobody, &things, header.as_slice()).await;
            let reads = requests.calls().len();
            assert_eq!(reads, usize::from(*is_shaped), "{what}: reads");
            is_error(&answer, sample.route.style, 401, "UNAUTHORIZED", &what);
            assert_eq!(answer.header("x-amzn-remapped-www-authenticate"), "Bearer");
            assert!(!answer.headers.contains_key("www-authenticate"), "{what}");
            assert!(!answer.headers.contains_key("x-ratelimit-limit"), "{what}");
            let answer = same(&answer);
            assert_eq!(
                *first.get_or_insert_with(|| answer.clone()),
                answer,
                "{what}"
            );
        }
        let bad = sample.send_bad(&nobody, &things).await;
        assert_eq!(
            bad.status,
            401,
            "{}",
            what(&sample, "no key and a bad body")
        );
    }
    let after = everything_of(&tables, &service.org).await;
    nothing_changed(&before, &after, "a bad key");
}

#[tokio::test]
async fn a_scope_opens_its_routes_and_no_other() {
    let service = quiet_service().await;
    let things = Things::of_nobody(&service);
    let others = |needed: Scope| {
        let others = Scope::ALL.into_iter();
        let others = others.filter(move |scope| *scope != needed && *scope != Scope::All);
        others.collect::<Vec<_>>()
    };
    // A route that the others together do not open is opened by none of them.
    let mut keys: HashMap<Vec<Scope>, Client> = HashMap::new();
    for scope in Scope::ALL {
        for scopes in [vec![scope], others(scope), Vec::new()] {
            let key = service.key(&scopes, None).await;
            keys.insert(scopes, key);
        }
    }
    for sample in samples::keyed() {
        let Access::Key(needed) = sample.route.access else {
            continue;
        };
        let needs: Vec<Scope> = sample.route.scopes().collect();
        for scopes in [needs.clone(), vec![Scope::All], others(needed), Vec::new()] {
            if !keys.contains_key(&scopes) {
                let key = service.key(&scopes, None).await;
                keys.insert(scopes.clone(), key);
            }
            let (key, what) = (&keys[&scopes], what(&sample, &format!("{scopes:?}")));
            let (good, bad) = (
                sample.send(key, &things).await,
                sample.send_bad(key, &things).await,
            );
            if scopes.contains(&needed) || scopes.contains(&Scope::All) {
                // Nobody's workspace is in no run's folder, and nobody's inbox is none: both are refused once the key
                // is let in.
                let named = ["/workDir", "/inboxId"];
                let is_open =
                    good.status == 400 && named.iter().any(|path| good.text.contains(path));
                assert!(
                    is_open || [200, 201, 204, 404].contains(&good.status),
                    "{what}: {}",
                    good.text
                );
                let style = sample.route.style;
                is_error(
                    &bad,
                    style,
                    400,
                    "BAD_REQUEST",
                    &format!("{what} and a bad body"),
                );
            } else {
                for refused in [good, bad] {
                    is_error(&refused, sample.route.style, 403, "FORBIDDEN", &what);
                    assert!(refused.text.contains(needed.as_str()), "{}", refused.text);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_scope_is_asked_for_before_the_rate_and_the_rate_before_the_body() {
    let service = quiet_service().await;
    let things = Things::of_nobody(&service);
    let (used_up, poor) = (
        service.key(&[Scope::All], Some(0)).await,
        service.key(&[], Some(0)).await,
    );
    for sample in samples::keyed() {
        let style = sample.route.style;
        let with = |what_else| what(&sample, what_else);
        for limited in [
            sample.send(&used_up, &things).await,
            sample.send_bad(&used_up, &things).await,
        ] {
            is_error(&limited, style, 429, "RATE_LIMITED", &with("no rate left"));
            let wait: u64 = limited.header("retry-after").parse().unwrap();
            assert!((1..=60).contains(&wait));
        }
        // A route for any key wants no scope.
        if sample.route.scopes().next().is_none() {
            continue;
        }
        let refused = sample.send_bad(&poor, &things).await;
        is_error(&refused, style, 403, "FORBIDDEN", &with("neither"));
    }
}

#[tokio::test]
async fn a_missing_path_and_a_missing_method_are_reported_to_every_key_and_to_keys_only() {
    let service = quiet_service().await;
    let things = Things::of_nobody(&service);
    let (poor, nobody) = (
        service.key(&[], Some(0)).await,
        service.client.with_key(None),
    );
    for sample in samples::all() {
        let (style, path) = (sample.route.style, sample.target(&things));
        let path = path.split('?').next().unwrap();
        let methods = methods_of(path);
        let what = what(&sample, "another method");
        let other = poor.send("PATCH", path, &[], b"not json".to_vec()).await;
        if methods.contains(&"PATCH") {
            continue;
        }
        is_error(&other, style, 405, "METHOD_NOT_ALLOWED", &what);
        let allowed: BTreeSet<&str> = other.header("allow").split(", ").collect();
        assert_eq!(allowed, methods.into_iter().collect(), "{what}");
        let unknown = format!("{path}/nothing/here");
        let missing = poor.send(sample.route.method, &unknown, &[], Vec::new());
        is_error(&missing.await, style, 404, "NOT_FOUND", &unknown);
        if sample.route.access == Access::Sender {
            // It has no key, and learns that only its method is wrong.
            let refused = nobody.send("PATCH", path, &[], Vec::new()).await;
            is_error(&refused, style, 405, "METHOD_NOT_ALLOWED", &what);
            continue;
        }
        for (method, path) in [("PATCH", path), (sample.route.method, &unknown)] {
            let refused = nobody.send(method, path, &[], Vec::new()).await;
            is_error(&refused, style, 401, "UNAUTHORIZED", path);
        }
    }
}
