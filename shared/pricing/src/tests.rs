use super::*;

fn at() -> Timestamp {
    Timestamp::from_epoch_ms(1_792_800_000_000)
}

fn usage(model: &str) -> ModelUsage {
    ModelUsage {
        model: model.to_owned(),
        input_tokens: 1_000_000,
        output_tokens: 100_000,
        cached_input_tokens: 200_000,
        cache_write_tokens: 0,
        cost_usd: Some(999.0),
    }
}

fn input(tokens: u64) -> Counts {
    Counts {
        input: tokens,
        ..Counts::default()
    }
}

fn usd(nano: i64) -> Option<NanoUsd> {
    Some(NanoUsd::from_nano(nano))
}

#[test]
fn an_unknown_model_has_no_price_and_a_reported_cost_is_no_price() {
    let prices = Prices::default();
    assert_eq!(
        prices.reported(&usage("nobody-knows-this-model"), at()),
        None
    );
    assert_eq!(
        prices.call("nobody-knows-this-model", &input(1), at()),
        None
    );
    assert!(prices.reported(&usage("gpt-4o"), at()).is_some());
}

#[test]
fn a_call_has_the_price_of_its_own_size() {
    let prices = Prices::default();
    let cost = |tokens| prices.call("claude-sonnet-4-5", &input(tokens), at());
    assert_eq!(cost(60_000), usd(180_000_000), "3 $ a million");
    assert_eq!(cost(200_001), usd(1_200_006_000), "6 $ above 200,000");
}

#[test]
fn usage_without_calls_is_priced_at_the_base_tier() {
    let prices = Prices::default();
    for model in ["claude-sonnet-4-5", "claude-haiku-5-5", "gpt-5.5"] {
        let reported = ModelUsage {
            input_tokens: 2_400_000,
            output_tokens: 40_000,
            cached_input_tokens: 400_000,
            ..usage(model)
        };
        let call = Counts {
            input: 60_000,
            cached: 10_000,
            output: 1_000,
            ..Counts::default()
        };
        let calls = prices.call(model, &call, at()).unwrap().nano() * 40;
        let difference = prices.reported(&reported, at()).unwrap().nano() - calls;
        assert!(difference.abs() <= 40, "{model}: {difference}");
    }
}

#[test]
fn what_cannot_be_true_costs_the_largest_amount_and_not_nothing() {
    let huge = ModelUsage {
        input_tokens: awo_domain::usage::MAX_TOKENS,
        output_tokens: awo_domain::usage::MAX_TOKENS,
        ..usage("claude-opus-4-1")
    };
    assert_eq!(Prices::default().reported(&huge, at()), Some(NanoUsd::MAX));
}

#[test]
fn what_is_written_to_the_cache_costs_what_its_provider_asks_for_it() {
    // As Claude Code itself reported for these counts.
    let call = Counts {
        input: 1_200,
        cached: 600,
        written: 400,
        output: 40,
        ..Counts::default()
    };
    let prices = Prices::default();
    let claude = |counts| prices.call("claude-sonnet-4-5", &counts, at());
    assert_eq!(claude(call), usd(2_880_000));
    let for_an_hour = Counts {
        written_for_an_hour: 400,
        ..call
    };
    assert_eq!(claude(for_an_hour), usd(3_780_000), "6 $ instead of 3.75");
    let unwritten = Counts { written: 0, ..call };
    let gpt = |counts| prices.call("gpt-4o", &counts, at());
    assert_eq!(gpt(call), gpt(unwritten), "it asks no more for them");
    let own = br#"{"gpt-4o":{"inputUsdPerMillion":1,"outputUsdPerMillion":1,"cacheWriteUsdPerMillion":2}}"#;
    let own = Prices::parse(own).unwrap();
    assert_eq!(own.call("gpt-4o", &call, at()), usd(1_640_000));
}

#[test]
fn searches_and_service_tiers_have_their_prices() {
    let prices = Prices::default();
    let searches = Counts {
        web_searches: 3,
        ..Counts::default()
    };
    let cost = prices.call("claude-sonnet-4-5", &searches, at());
    assert_eq!(cost, usd(30_000_000), "10 $ a thousand");
    let tier = |tier| Counts {
        service_tier: tier,
        ..input(1_000_000)
    };
    let gpt = |counts| prices.call("gpt-5", &counts, at());
    assert_eq!(gpt(tier(None)), usd(1_250_000_000));
    assert_eq!(gpt(tier(Some(ServiceTier::Flex))), usd(625_000_000));
    assert_eq!(gpt(tier(Some(ServiceTier::Priority))), usd(2_500_000_000));
    let own = Prices::parse(br#"{"gpt-5":{"inputUsdPerMillion":1,"outputUsdPerMillion":1}}"#);
    let cost = own.unwrap().call("gpt-5", &searches, at());
    assert_eq!(cost, usd(30_000_000), "an own price is one of tokens");
}

#[test]
fn own_prices_read_back_as_they_were_written() {
    let json = br#"{"m":{"inputUsdPerMillion":1.5,"outputUsdPerMillion":10.0}}"#;
    let own = Prices::parse(json).unwrap().own();
    assert_eq!(serde_json::to_vec(&own).unwrap(), json);
    assert!(Prices::parse(&serde_json::to_vec(&Prices::default().own()).unwrap()).is_ok());
}

#[test]
fn the_operators_price_comes_first() {
    let prices = Prices::parse(
        br#"{"gpt-4o": {"inputUsdPerMillion": 1, "outputUsdPerMillion": 10, "cachedInputUsdPerMillion": 0.5}}"#,
    );
    assert_eq!(
        prices.unwrap().reported(&usage("gpt-4o"), at()),
        usd(1_900_000_000)
    );
    for bad in [
        r#"{"m": {"inputUsdPerMillion": -1, "outputUsdPerMillion": 0}}"#,
        r#"{"m": {"input": 1}}"#,
    ] {
        assert!(Prices::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn a_version_names_the_table_that_is_linked_and_the_operators_own_prices() {
    let pinned = include_str!("../../../Cargo.toml");
    assert!(pinned.contains(&format!("genai-prices = \"={TABLE_RELEASE}\"")));
    let plain = Prices::default().version();
    let own = |price: u32| {
        let json = format!(r#"{{"m":{{"inputUsdPerMillion":{price},"outputUsdPerMillion":1}}}}"#);
        Prices::parse(json.as_bytes()).unwrap().version()
    };
    assert!(own(1).starts_with(&plain) && own(1) != plain);
    assert_eq!(own(1), own(1));
    assert_ne!(own(1), own(2));
}

#[test]
fn the_list_has_what_is_asked_for_a_call_of_each_model_by_its_size() {
    let own = br#"{"gpt-4o":{"inputUsdPerMillion":1,"outputUsdPerMillion":10},"ours":{"inputUsdPerMillion":2,"outputUsdPerMillion":2}}"#;
    let prices = Prices::parse(own).unwrap();
    let list = prices.list(at());
    let of = |model: &str| {
        let mut found = list.iter().filter(|one| one.model == model);
        let one = found
            .next()
            .unwrap_or_else(|| panic!("{model} is in the list"));
        assert!(found.next().is_none(), "{model} stands once");
        one
    };
    let sonnet = of("claude-sonnet-4-5");
    assert_eq!(
        (sonnet.provider.as_str(), sonnet.source),
        ("anthropic", Source::BuiltIn)
    );
    assert_eq!((sonnet.rate.input, sonnet.rate.output), (3.0, 15.0));
    assert_eq!(
        (sonnet.rate.cached_input, sonnet.rate.cache_write),
        (Some(0.3), Some(3.75))
    );
    assert_eq!(sonnet.tiers.len(), 1);
    assert_eq!(sonnet.tiers[0].above_input_tokens, 200_000);
    assert_eq!(sonnet.tiers[0].rate.input, 6.0);
    let gpt = of("gpt-4o");
    assert_eq!(
        (gpt.provider.as_str(), gpt.source, gpt.rate.input),
        ("openai", Source::Operator, 1.0)
    );
    assert_eq!(of("ours").provider, "custom");
    for one in &list {
        let sizes = std::iter::once((1, one.rate));
        let tiers = one
            .tiers
            .iter()
            .map(|tier| (tier.above_input_tokens + 1, tier.rate));
        for (tokens, rate) in sizes.chain(tiers) {
            let asked = prices
                .call(&one.model, &input(tokens), at())
                .unwrap()
                .nano();
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                reason = "small"
            )]
            let listed = (rate.input * tokens as f64 * 1_000.0).round() as i64;
            assert!(
                (asked - listed).abs() <= 1 + asked / 1_000_000,
                "{one:?}: {asked}, {listed}"
            );
        }
    }
}

#[test]
fn bedrocks_models_have_anthropics_price_and_a_tenth_more_in_a_region() {
    let prices = Prices::default();
    let cost = |model: &str| prices.call(model, &input(1_000_000), at());
    let (id, own) = ("anthropic.claude-sonnet-4-6", "claude-sonnet-4-6");
    assert_eq!(cost(&format!("global.{id}")), usd(3_000_000_000));
    for regional in ["", "us.", "eu.", "apac.", "anywhere."] {
        let model = format!("{regional}{id}");
        assert_eq!(cost(&model), usd(3_300_000_000), "{model}");
    }
    // It is not the price of the model at Anthropic: that has tiers.
    assert!(cost(own).is_some());
    let older = "eu.anthropic.claude-sonnet-4-20250514-v1:0";
    assert_eq!(cost(older), usd(3_000_000_000), "no more before Sonnet 4.5");
    assert_eq!(cost("eu.anthropic.claude-of-tomorrow"), None);
    let own = Prices::parse(
        format!(r#"{{"eu.{id}":{{"inputUsdPerMillion":1,"outputUsdPerMillion":1}}}}"#).as_bytes(),
    );
    let cost = own
        .unwrap()
        .call(&format!("eu.{id}"), &input(1_000_000), at());
    assert_eq!(cost, usd(1_000_000_000), "the operator's price comes first");
}

#[test]
fn the_list_has_bedrocks_models_by_the_names_by_which_they_are_called() {
    let list = Prices::default().list(at());
    let of = |model: &str| {
        let found = list.iter().find(|one| one.model == model);
        found.map(|one| (one.provider.as_str(), one.rate.input, one.rate.cached_input))
    };
    let id = "anthropic.claude-sonnet-4-5-20250929-v1:0";
    let global = of(&format!("global.{id}"));
    assert_eq!(global, Some(("bedrock", 3.0, Some(0.3))));
    assert_eq!(of(id), Some(("bedrock", 3.3, Some(0.33))));
    let bedrock = list.iter().filter(|one| one.provider == "bedrock").count();
    assert!(bedrock > 30, "{bedrock}");
    assert!(list.iter().all(|one| !one.model.starts_with("regional.")));
}
