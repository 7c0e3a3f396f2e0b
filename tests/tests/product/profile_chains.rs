//! Profiles that depend on each other: chains, concurrent changes, repeated creates, the maximum
//! number.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::http_api::quiet_service;
use crate::profiles::{JSON, PROFILES, bad, delete, fails, make, put, resolved, validate};

#[tokio::test]
async fn chains_have_an_end_and_no_cycle_and_a_parent_outlives_its_children() {
    let service = quiet_service().await;
    let client = &service.client;
    make(client, &json!({ "name": "p1", "loopStrategy": { "baseIterations": 9, "params": { "a": { "x": 1, "y": [1] } } } })).await;
    for i in 2..=10 {
        let body = json!({ "name": format!("p{i}"), "extends": format!("p{}", i - 1) });
        make(client, &body).await;
    }
    let over = json!({ "loopStrategy": { "params": { "a": { "y": [2], "z": 3 } } } });
    let mut last = over.clone();
    last["extends"] = json!("p9");
    assert_eq!(put(client, "p10", &last).await.status, 200);
    let whole = resolved(client, "p10").await;
    assert_eq!(whole["loopStrategy"]["baseIterations"], 9);
    assert_eq!(
        whole["loopStrategy"]["params"],
        json!({ "a": { "x": 1, "y": [2], "z": 3 } })
    );

    let eleventh = json!({ "name": "p11", "extends": "p10" });
    bad(&client.post(PROFILES, &eleventh).await, &["/extends"]);
    for parent in ["p1", "p4", "p10", "ci-focused"] {
        let cycle = put(client, "p1", &json!({ "extends": parent })).await;
        bad(&cycle, &["/extends"]);
    }
    let judged = validate(client, "p1", Some(&json!({ "extends": "p3" }))).await;
    assert_eq!(judged.status, 200, "{}", judged.text);
    let judged = &judged.body["data"];
    assert_eq!(
        (&judged["valid"], &judged["errors"][0]["path"]),
        (&json!(false), &json!("/extends"))
    );
    assert!(
        judged["errors"][0]["message"]
            .as_str()
            .unwrap()
            .contains("cycle"),
        "{judged}"
    );
    let good = validate(
        client,
        "p1",
        Some(&json!({ "verification": { "levels": [] } })),
    )
    .await;
    assert_eq!(good.body["data"]["valid"], true);
    assert_eq!(
        good.body["data"]["warnings"][0]["path"],
        "/verification/levels"
    );
    let refused = validate(client, "p1", Some(&json!({ "gitOps": { "x": 1 } }))).await;
    assert_eq!(
        refused.body["data"]["errors"][0]["path"], "/gitOps/x",
        "{}",
        refused.text
    );

    let stored = delete(client, "p9").await;
    fails(&stored, 409, "CONFLICT");
    assert!(stored.text.contains("p10"), "{}", stored.text);
    for i in (1..=10).rev() {
        assert_eq!(delete(client, &format!("p{i}")).await.status, 204);
    }
}

#[tokio::test]
async fn rivals_never_make_a_cycle_or_an_orphan() {
    let service = quiet_service().await;
    let client = &service.client;
    for round in 0..5 {
        let name = |i: usize| format!("r{round}-{}", i % 4);
        for i in 0..4 {
            make(client, &json!({ "name": name(i) })).await;
        }
        let child = format!("r{round}-child");
        let bodies: Vec<Value> = (0..4).map(|i| json!({ "extends": name(i + 1) })).collect();
        let puts = (0..4).map(|i| {
            let (name, body) = (name(i), &bodies[i]);
            async move { put(client, &name, body).await.status }
        });
        let parent = name(2);
        let orphan = json!({ "name": child, "extends": parent });
        let (statuses, made, gone) = tokio::join!(
            join_all(puts),
            client.post(PROFILES, &orphan),
            delete(client, &parent)
        );
        assert!(
            statuses.contains(&400) || gone.status == 204,
            "{statuses:?}"
        );
        let expected = [200, 400, 404, 409];
        assert!(
            statuses.iter().all(|status| expected.contains(status)),
            "{statuses:?}"
        );
        assert!(!(made.status == 201 && gone.status == 204), "an orphan");
        let all = client.get(PROFILES).await.body["data"]["items"].clone();
        for item in all.as_array().unwrap() {
            let valid = validate(client, item["name"].as_str().unwrap(), None).await;
            assert_eq!(valid.body["data"]["valid"], true, "{}", valid.text);
        }
    }
}

#[tokio::test]
async fn a_repeated_create_is_answered_as_the_first_whatever_has_become_of_the_profile() {
    let service = quiet_service().await;
    let client = &service.client;
    make(client, &json!({ "name": "parent" })).await;
    let body = json!({ "name": "child", "extends": "parent" });
    let send = |body: Value| async move {
        let headers = [JSON, ("idempotency-key", "k1")];
        client
            .send("POST", PROFILES, &headers, body.to_string().into_bytes())
            .await
    };
    let first = send(body.clone()).await;
    assert_eq!(first.status, 201, "{}", first.text);
    for gone in [None, Some("child"), Some("parent")] {
        if let Some(name) = gone {
            assert_eq!(delete(client, name).await.status, 204);
        }
        let again = send(body.clone()).await;
        assert_eq!((again.status, &again.text), (201, &first.text), "{gone:?}");
        assert_eq!(again.header("idempotent-replayed"), "true");
    }
    let other = send(json!({ "name": "another" })).await;
    fails(&other, 422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(client.get(PROFILES).await.body["data"]["total"], 4);
}

#[tokio::test]
async fn an_organization_has_no_more_profiles_than_it_may() {
    let service = quiet_service().await;
    let client = &service.client;
    for i in 0..100 {
        make(client, &json!({ "name": format!("n{i}") })).await;
    }
    let more = client.post(PROFILES, &json!({ "name": "n100" })).await;
    fails(&more, 409, "CONFLICT");
    assert_eq!(delete(client, "n50").await.status, 204);
    make(client, &json!({ "name": "n100" })).await;
    let listed = client.get(PROFILES).await.body["data"].clone();
    assert_eq!(
        (&listed["total"], &listed["items"][0]["name"]),
        (&json!(104), &json!("n100"))
    );
}
