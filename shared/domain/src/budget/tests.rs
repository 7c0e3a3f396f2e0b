use super::*;
use crate::cost::Attribution;
use crate::work_order::TenantContext;
use proptest::prelude::*;

fn at(text: &str) -> Timestamp {
    Timestamp::parse_bound(text).unwrap()
}

fn budget(period: Period, scope: ScopeParts, now: &str) -> Budget {
    let content = Content {
        name: "b".to_owned(),
        scope: BudgetScope::of(scope).unwrap(),
        period,
        limit_micro: 1_000,
        on_limit: OnLimit::Block,
        alerts_at: AlertsAt::default(),
    };
    Budget::new(BudgetId::new(at(now), 1), content, at(now))
}

fn standing(spent: i64, reserved: i64) -> Standing {
    Standing {
        spent: MicroCredits::from_micro(spent),
        reserved: MicroCredits::from_micro(reserved),
    }
}

#[test]
fn names_are_read_as_they_are_written() {
    for period in Period::ALL {
        assert_eq!(Period::parse(period.as_str()), Some(period));
        assert_eq!(
            serde_json::json!(period),
            serde_json::json!(period.as_str())
        );
    }
    for on_limit in OnLimit::ALL {
        assert_eq!(OnLimit::parse(on_limit.as_str()), Some(on_limit));
        assert_eq!(
            serde_json::json!(on_limit),
            serde_json::json!(on_limit.as_str())
        );
    }
    assert_eq!(OnLimit::parse("Block"), None);
}

#[test]
fn periods_begin_and_end_with_days_months_and_quarters_and_once_never_ends() {
    for (period, now, start, end) in [
        (
            Period::Day,
            "2026-11-20T23:59:59Z",
            "2026-11-20",
            "2026-11-21",
        ),
        (
            Period::Month,
            "2026-12-31T23:59:59Z",
            "2026-12-01",
            "2027-01-01",
        ),
        (
            Period::Quarter,
            "2026-12-31T23:59:59Z",
            "2026-10-01",
            "2027-01-01",
        ),
        (Period::Quarter, "2026-02-28", "2026-01-01", "2026-04-01"),
        (Period::Quarter, "2026-04-01", "2026-04-01", "2026-07-01"),
    ] {
        let of = budget(period, ScopeParts::default(), now);
        assert_eq!(
            (of.period_start(at(now)), of.period_end(at(now))),
            (at(start), Some(at(end)))
        );
        assert_eq!(of.counted_from, at(start));
    }
    let once = budget(Period::Once, ScopeParts::default(), "2026-11-20T08:00:00Z");
    assert_eq!(
        once.period_start(at("2027-03-01")),
        at("2026-11-20T08:00:00Z")
    );
    assert_eq!(once.period_end(at("2027-03-01")), None);
}

#[test]
fn a_run_counts_in_the_period_of_its_reservation_and_not_before_the_budgets_first() {
    let of = budget(Period::Month, ScopeParts::default(), "2026-11-20");
    let all = Spender {
        tenant: None,
        attribution: None,
    };
    assert_eq!(of.counts(all, at("2026-11-01")), Some(at("2026-11-01")));
    assert_eq!(of.counts(all, at("2026-12-24")), Some(at("2026-12-01")));
    assert_eq!(of.counts(all, at("2026-10-31T23:59:59Z")), None);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn a_scope_names_one_thing_and_includes_whom_it_names() {
    let tenant = |id: &str, user: Option<&str>| TenantContext {
        tenant_id: id.to_owned(),
        tenant_user_id: user.map(str::to_owned),
    };
    let attribution = Attribution {
        key_id: Some("key1".to_owned()),
        labels: [("team".to_owned(), "red".to_owned())].into(),
        ..Attribution::default()
    };
    let some = |text: &str| Some(text.to_owned());
    let label = |value: &str| {
        let (name, value) = ("team".to_owned(), value.to_owned());
        ScopeParts {
            label: Some(LabelValue { name, value }),
            ..ScopeParts::default()
        }
    };
    let of_tenant = ScopeParts {
        tenant_id: some("acme"),
        ..ScopeParts::default()
    };
    let of_user = ScopeParts {
        tenant_user_id: some("ann"),
        ..of_tenant.clone()
    };
    let of_key = ScopeParts {
        key_id: some("key1"),
        ..ScopeParts::default()
    };
    let acme = tenant("acme", Some("ann"));
    let bob = tenant("acme", Some("bob"));
    let other = tenant("other", Some("ann"));
    let known = |tenant| Spender {
        tenant: Some(tenant),
        attribution: Some(&attribution),
    };
    let unknown = Spender {
        tenant: None,
        attribution: None,
    };
    for (parts, of, wanted) in [
        (ScopeParts::default(), unknown, true),
        (of_tenant.clone(), known(&bob), true),
        (of_tenant.clone(), known(&other), false),
        (of_tenant, unknown, false),
        (of_user.clone(), known(&acme), true),
        (of_user.clone(), known(&bob), false),
        (of_user, known(&other), false),
        (of_key.clone(), known(&acme), true),
        (of_key, unknown, false),
        (label("red"), known(&acme), true),
        (label("blue"), known(&acme), false),
        (label("(none)"), known(&acme), false),
        (label("(none)"), unknown, true),
    ] {
        let scope = BudgetScope::of(parts).unwrap();
        assert_eq!(scope.includes(of), wanted, "{scope:?} {of:?}");
    }
    for (parts, path) in [
        (
            ScopeParts {
                tenant_user_id: some("ann"),
                ..ScopeParts::default()
            },
            "/scope/tenantId",
        ),
        (
            ScopeParts {
                tenant_id: some("a"),
                key_id: some("k"),
                ..ScopeParts::default()
            },
            "/scope",
        ),
        (
            ScopeParts {
                key_id: some("k"),
                ..label("red")
            },
            "/scope",
        ),
    ] {
        assert_eq!(BudgetScope::of(parts).unwrap_err().path, path);
    }
}

#[test]
fn alerts_are_up_to_five_percentages_each_once() {
    assert_eq!(AlertsAt::of(&[100, 1, 50]).unwrap().all(), [1, 50, 100]);
    assert!(AlertsAt::of(&[]).unwrap().all().is_empty());
    for bad in [&[0][..], &[101], &[50, 50], &[1, 2, 3, 4, 5, 6], &[1_000]] {
        assert!(AlertsAt::of(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn another_scope_or_period_counts_anew_and_another_limit_does_not() {
    let of = budget(Period::Month, ScopeParts::default(), "2026-11-20");
    let limit = Content {
        limit_micro: 5,
        ..of.content.clone()
    };
    let raised = of.clone().changed(limit, at("2026-12-02"));
    assert_eq!((raised.epoch, raised.counted_from), (0, at("2026-11-01")));
    let period = Content {
        period: Period::Day,
        ..of.content.clone()
    };
    let daily = of.changed(period, at("2026-12-02T08:00:00Z"));
    assert_eq!((daily.epoch, daily.counted_from), (1, at("2026-12-02")));
}

#[test]
fn a_forecast_goes_on_as_it_went_and_is_no_less_than_what_is_reserved() {
    let of = budget(Period::Day, ScopeParts::default(), "2026-11-20");
    let forecast = |spent, reserved, now| of.forecast(standing(spent, reserved), at(now)).micro();
    assert_eq!(forecast(100, 0, "2026-11-20T06:00:00Z"), 400);
    assert_eq!(forecast(100, 900, "2026-11-20T06:00:00Z"), 1_000);
    assert_eq!(forecast(100, 0, "2026-11-20T00:00:00.001Z"), 2_400);
    let once = budget(Period::Once, ScopeParts::default(), "2026-11-20");
    assert_eq!(once.forecast(standing(3, 4), at("2027-01-01")).micro(), 7);
}

proptest! {
    #[test]
    fn a_percentage_is_reached_exactly_when_so_much_of_the_limit_is_committed(
        limit in 1i64..2_000, spent in 0i64..1_500, reserved in 0i64..1_500,
        percents in proptest::collection::btree_set(1u64..=100, 0..5),
    ) {
        let mut of = budget(Period::Month, ScopeParts::default(), "2026-11-20");
        of.content.limit_micro = limit;
        let percents: Vec<u64> = percents.into_iter().collect();
        of.content.alerts_at = AlertsAt::of(&percents).unwrap();
        let now = standing(spent, reserved);
        let reached: Vec<u8> = of.reached(now).collect();
        for percent in percents {
            let is = (spent + reserved) * 100 >= limit * i64::try_from(percent).unwrap();
            prop_assert_eq!(reached.contains(&u8::try_from(percent).unwrap()), is);
        }
        prop_assert_eq!(of.remaining(now).micro(), (limit - spent - reserved).max(0));
    }
}
