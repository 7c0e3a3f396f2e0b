//! Rows are exact: their credits are the ledger's.

use proptest::prelude::*;

use super::*;
use crate::RunId;
use crate::cost::Attribution;
use crate::run::RunStatus;
use crate::work_order::TenantContext;

fn record(parts: Vec<Part>, is_refund: bool) -> CostRecord {
    let at = Timestamp::parse("2026-11-20T08:31:07.250Z").unwrap();
    CostRecord {
        id: TransactionId::new(at, 1),
        at,
        run_id: RunId::new(at, 2),
        verification_id: None,
        work_order_id: None,
        outcome: Some(RunStatus::Succeeded),
        tenant_context: Some(TenantContext {
            tenant_id: "acme".to_owned(),
            tenant_user_id: None,
        }),
        attribution: Some(Attribution {
            labels: [("team".to_owned(), "r\"ed".to_owned())].into(),
            ..Attribution::default()
        }),
        is_refund,
        price_list: None,
        parts,
    }
}

fn prices() -> Vec<CreditPrice> {
    let price = |from: &str, credits: i64| CreditPrice {
        from: Timestamp::parse_bound(from).unwrap(),
        credits_per_usd: MicroCredits::from_credits(credits),
    };
    vec![price("2026-10-01", 100), price("2026-11-20", 300)]
}

fn text(row: &FocusRow, column: &str) -> String {
    match row.cell(column) {
        Some(FocusCell::Text(text) | FocusCell::Number(text)) => text.clone(),
        _ => String::new(),
    }
}

/// A number as units of so many places.
fn units(text: &str, places: usize) -> i128 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = part.trim_end_matches('0');
    let digits = format!("{whole}{part:0<places$}");
    digits.parse().unwrap()
}

fn part(model: &str, measures: Measures) -> Part {
    Part {
        model: model.to_owned(),
        measures,
    }
}

#[test]
fn a_row_has_the_columns_of_focus_and_says_whose_it_is() {
    let org = OrgId::new(Timestamp::from_epoch_ms(0), 7);
    let account = Account {
        org: &org,
        prices: &prices(),
    };
    let measures = Measures {
        input_tokens: 1_200,
        cached_input_tokens: 800,
        output_tokens: 340,
        model_micro: 654_000,
        capped_micro: 54_000,
        credits_micro: 600_000,
        ..Measures::default()
    };
    let rows = account.charges(&record(vec![part("gpt-4o", measures)], false), false);
    let all = |column: &str| rows.iter().map(|row| text(row, column)).collect::<Vec<_>>();
    assert_eq!(
        all("SkuMeter"),
        ["Input Tokens", "Cached Input Tokens", "Output Tokens"]
    );
    assert_eq!(all("ConsumedQuantity"), ["400.0", "800.0", "340.0"]);
    // In the proportion of 400 × 10, 800 × 1 and 340 × 50.
    assert_eq!(all("PricingQuantity"), ["0.12", "0.024", "0.51"]);
    let row = &rows[0];
    assert_eq!(row.cells().count(), COLUMNS.len());
    for (column, wanted) in [
        ("ChargePeriodStart", "2026-11-20T08:00:00Z"),
        ("ChargePeriodEnd", "2026-11-20T09:00:00Z"),
        ("BillingPeriodStart", "2026-11-01T00:00:00Z"),
        ("BillingPeriodEnd", "2026-12-01T00:00:00Z"),
        ("ListUnitPrice", "0.003333333333"),
        ("ListCost", "0.00039999999996"),
        ("SubAccountId", "acme"),
        ("Tags", r#"{"team":"r\"ed"}"#),
        ("ChargeClass", ""),
    ] {
        assert_eq!(text(row, column), wanted, "{column}");
    }
}

#[test]
fn a_purchase_is_billed_and_has_no_effective_cost() {
    let org = OrgId::new(Timestamp::from_epoch_ms(0), 7);
    let account = Account {
        org: &org,
        prices: &prices(),
    };
    // Before the first price that is known.
    let at = Timestamp::parse_bound("2026-09-30").unwrap();
    let row = account.purchase(&FocusPurchase {
        id: TransactionId::new(at, 3),
        at,
        amount: MicroCredits::from_credits(500),
        reference: Some("INV-7".to_owned()),
    });
    for (column, wanted) in [
        ("BilledCost", "5.0"),
        ("EffectiveCost", "0.0"),
        ("PricingCurrencyEffectiveCost", "0.0"),
        ("PricingQuantity", "500.0"),
        ("ConsumedQuantity", ""),
        ("x_Reference", "INV-7"),
    ] {
        assert_eq!(text(&row, column), wanted, "{column}");
    }
}

proptest! {
    #[test]
    fn rows_of_a_record_are_what_it_charged_or_gave_back_and_each_cost_is_price_times_quantity(
        models in proptest::collection::vec((0i64..9_000, 0i64..9_000, 0i64..9_000, 0i64..2_000_000_000), 0..5),
        compute in (0i64..4_000, 0i64..50_000_000),
        thousandths in 0i64..=1_000,
        is_refund in any::<bool>(),
    ) {
        let share = |micro: i64| micro / 1_000 * thousandths;
        let mut parts: Vec<Part> = Vec::new();
        for (at, (fresh, cached, output, micro)) in models.iter().enumerate() {
            parts.push(part(&format!("m{at}"), if is_refund { Measures { refunds_micro: share(*micro), ..Measures::default() } } else { Measures {
                input_tokens: fresh + cached,
                cached_input_tokens: *cached,
                output_tokens: *output,
                model_micro: *micro,
                capped_micro: micro - share(*micro),
                credits_micro: share(*micro),
                ..Measures::default()
            } }));
        }
        if !is_refund {
            parts.push(part(COMPUTE, Measures {
                compute_seconds: compute.0,
                compute_micro: compute.1,
                capped_micro: compute.1 - share(compute.1),
                credits_micro: share(compute.1),
                ..Measures::default()
            }));
        }
        let org = OrgId::new(Timestamp::from_epoch_ms(0), 7);
        let prices = prices();
        let account = Account { org: &org, prices: &prices };
        let record = record(parts, is_refund);
        let rows = account.charges(&record, is_refund);
        let sum = |column: &str| rows.iter().map(|row| units(&text(row, column), 6)).sum::<i128>();
        let total = record.total();
        let net = i128::from(total.credits_micro - total.refunds_micro);
        prop_assert_eq!(sum("PricingCurrencyEffectiveCost"), net);
        let tokens = |unit: &str| {
            let of = rows.iter().filter(|row| text(row, "ConsumedUnit") == unit);
            of.map(|row| units(&text(row, "ConsumedQuantity"), 0)).sum::<i128>()
        };
        prop_assert_eq!(tokens("Tokens"), i128::from(total.input_tokens + total.output_tokens));
        prop_assert_eq!(tokens("Seconds"), i128::from(total.compute_seconds));
        for row in &rows {
            let quantity = units(&text(row, "PricingQuantity"), 6);
            let price = units(&text(row, "ListUnitPrice"), 12);
            prop_assert_eq!(units(&text(row, "ListCost"), 18), quantity * price);
            let effective = units(&text(row, "PricingCurrencyEffectiveCost"), 6);
            prop_assert!(effective.abs() <= quantity.abs());
            prop_assert_eq!(text(row, "ChargeClass") == "Correction", is_refund);
        }
    }
}
