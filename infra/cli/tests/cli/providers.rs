//! An operator's settings of model providers, on the tables of a real local service.

use serde_json::Value;

use crate::admin::World;

async fn shown(world: &World, org: &str) -> (Value, Value, Value) {
    let org = world.admin(&["show-org", "--org", org]).await.json();
    let of = |name: &str| org[name].clone();
    (
        of("messagesProvider"),
        of("anthropicBaseUrl"),
        of("openaiBaseUrl"),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_is_set_shown_and_reset() {
    let world = World::start().await;
    let (org, _, _) = world.org_with_key().await;
    let set = async |args: &[&str]| {
        let args = [&["set-provider", "--org", &org], args].concat();
        world.admin(&args).await
    };
    assert_eq!(
        shown(&world, &org).await,
        (Value::Null, Value::Null, Value::Null)
    );
    let gateway = "https://gateway.example.com/openai/";
    let done = set(&["--provider", "openai", "--base-url", gateway])
        .await
        .json();
    assert_eq!(done["openaiBaseUrl"], "https://gateway.example.com/openai");
    let here = "http://127.0.0.1:8080";
    set(&["--provider", "anthropic", "--base-url", here])
        .await
        .json();
    let all = |who: &str| {
        let text = |of: &str| Value::from(of);
        (
            text(who),
            text(here),
            text("https://gateway.example.com/openai"),
        )
    };
    assert_eq!(shown(&world, &org).await, all("anthropic"));
    set(&["--provider", "bedrock"]).await.json();
    assert_eq!(
        shown(&world, &org).await,
        all("bedrock"),
        "the base URL stays"
    );
    // Without one, at the provider's own or the deployment's.
    set(&["--provider", "openai"]).await.json();
    assert_eq!(shown(&world, &org).await.2, Value::Null);
    let reset = set(&["--reset"]).await.json();
    assert_eq!(reset, serde_json::json!({ "orgId": org }));
    assert_eq!(
        shown(&world, &org).await,
        (Value::Null, Value::Null, Value::Null)
    );
    world.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_lead_keys_astray_is_refused() {
    let world = World::start().await;
    let (org, _, _) = world.org_with_key().await;
    for (args, word) in [
        (
            "--provider openai --base-url http://gateway.example.com",
            "https",
        ),
        (
            "--provider openai --base-url https://u:p@gateway.example.com",
            "user",
        ),
        (
            "--provider openai --base-url https://gateway.example.com/v1",
            "/v1",
        ),
        (
            "--provider bedrock --base-url https://gateway.example.com",
            "region",
        ),
        ("--provider gemini", "anthropic"),
        ("--base-url https://gateway.example.com", "--provider"),
        ("--provider openai --reset", "--reset"),
        ("", "--provider"),
    ] {
        let args: Vec<&str> = args.split_whitespace().collect();
        let args = [&["set-provider", "--org", &org], &args[..]].concat();
        let refused = world.admin(&args).await;
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(word), "{word}: {refused:?}");
    }
    let stranger = [
        "set-provider",
        "--org",
        "org_01k0000000000000000000000z",
        "--provider",
        "bedrock",
    ];
    assert_eq!(world.admin(&stranger).await.code, 3);
    assert_eq!(
        shown(&world, &org).await,
        (Value::Null, Value::Null, Value::Null)
    );
    world.service.stop().await;
}
