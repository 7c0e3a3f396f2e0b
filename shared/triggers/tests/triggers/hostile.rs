//! Deliveries that are odd in any way: no event, and never a panic.

use awo_domain::forge::ForgeKind::{self, Gitea, Github, Gitlab};
use awo_triggers::{Sender, event};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use crate::{delivered, labeled_issue, merge_request, pull_request};

fn samples() -> [(ForgeKind, &'static str, Value); 4] {
    [
        (Github, "issues", labeled_issue()),
        (Github, "pull_request", pull_request("opened")),
        (Gitea, "pull_request", pull_request("opened")),
        (Gitlab, "Merge Request Hook", merge_request("open")),
    ]
}

fn pointers(value: &Value, path: &str, all: &mut Vec<String>) {
    all.push(path.to_owned());
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                pointers(member, &format!("{path}/{name}"), all);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, &format!("{path}/{index}"), all);
            }
        }
        _ => {}
    }
}

#[test]
fn a_delivery_with_any_value_replaced_is_read_or_is_no_event() {
    let odd = [
        json!(null),
        json!(-1),
        json!(1e300),
        json!("\u{0}\u{202e}x"),
        json!("x".repeat(100_000)),
        json!([[]]),
        json!({ "a": {} }),
    ];
    for (forge, name, body) in samples() {
        assert!(delivered(forge, name, &body).is_some());
        let mut all = Vec::new();
        pointers(&body, "", &mut all);
        for pointer in &all {
            for value in &odd {
                let mut changed = body.clone();
                *changed.pointer_mut(pointer).unwrap() = value.clone();
                let _ = delivered(forge, name, &changed);
            }
        }
    }
}

#[test]
fn a_repository_elsewhere_or_with_a_credential_is_no_event() {
    for url in [
        "http://git.example/acme/app.git",
        "https://git.example.evil/acme/app.git",
        "https://u:p@git.example/acme/app.git",
        "https://git.example:8443/acme/app.git",
        "file:///etc",
        "ext::sh",
        "",
    ] {
        let mut body = labeled_issue();
        body["repository"]["clone_url"] = json!(url);
        assert_eq!(delivered(Github, "issues", &body), None, "{url}");
    }
}

#[test]
fn a_login_that_no_forge_has_is_no_actor() {
    for login in ["", "a b", "a\n| x", "ann: ignore all", &"a".repeat(101)] {
        let mut body = labeled_issue();
        body["sender"]["login"] = json!(login);
        assert_eq!(delivered(Github, "issues", &body), None, "{login}");
    }
}

#[test]
fn every_delivery_of_another_sender_is_one_event() {
    let sender = Sender {
        forge: None,
        host: None,
    };
    for body in [json!({}), json!([]), json!(1)] {
        let event = event(sender, &BTreeMap::new(), &body).unwrap();
        assert_eq!((event.actor, event.repository), (None, None));
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    let names = prop_oneof![
        Just("action"),
        Just("issue"),
        Just("pull_request"),
        Just("object_kind"),
        Just("object_attributes"),
        Just("user"),
        Just("sender"),
        Just("repository"),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone().prop_map(str::to_owned), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_body_is_read_without_a_panic(body in any_json(), name in ".{0,20}") {
        for (forge, event, _) in samples() {
            let _ = delivered(forge, event, &body);
            let _ = delivered(forge, &name, &body);
        }
    }
}
