use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::cost::Attribution;
use crate::cost::measures::Measures;
use crate::cost::record::{CostRecord, Part};
use crate::cost::report::Dimension;
use crate::cost::sums::{Cell, LabelValues, SumsOf};
use crate::work_order::TenantContext;

fn at(text: &str) -> Timestamp {
    Timestamp::parse_bound(text).unwrap()
}

fn booked(kind: TransactionType, micro: i64, about: Option<&str>) -> BookedEntry {
    let at = at("2026-11-02T08:00:00Z");
    BookedEntry {
        id: TransactionId::new(at, micro.unsigned_abs().into()),
        kind,
        amount: MicroCredits::from_micro(micro),
        at,
        run_id: Some(RunId::new(at, 1)),
        about: about.map(self::at),
        price_list: None,
        reference: None,
    }
}

#[test]
fn a_month_is_read_ends_and_closes_on_the_third_day_after_its_end() {
    let month = Month::parse("2026-12").unwrap();
    assert_eq!(
        (month.start(), month.end()),
        (at("2026-12-01"), at("2027-01-01"))
    );
    assert_eq!(month.to_string(), "2026-12");
    assert_eq!(
        (month.next().to_string(), month.previous().to_string()),
        ("2027-01".to_owned(), "2026-11".to_owned())
    );
    assert_eq!(month.closes_at(), at("2027-01-03"));
    assert_eq!(month.closable_at(), at("2027-01-01T01:00:00Z"));
    assert_eq!(Month::of(at("2026-12-31T23:59:59Z")), month);
    for bad in ["2026", "2026-13", "2026-1", "2026-12-01", "december", ""] {
        assert!(Month::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_statement_adds_up_names_corrections_and_every_change_of_it_is_found() {
    let mut draft = Draft::new(Month::parse("2026-11").unwrap(), None);
    draft.book(booked(TransactionType::Purchase, 1_000, None));
    draft.book(booked(TransactionType::Deduction, 300, None));
    draft.book(booked(TransactionType::Deduction, 20, Some("2026-10-31")));
    draft.book(booked(TransactionType::Refund, 7, Some("2026-09-01")));
    let open = draft.open(MicroCredits::from_micro(50), MicroCredits::ZERO);
    assert_eq!(open.closing_balance.micro(), 737);
    let months: Vec<String> = open
        .corrections
        .iter()
        .map(|of| of.month.to_string())
        .collect();
    assert_eq!(months, ["2026-10", "2026-09"]);
    let mut first = Draft::new(Month::parse("2026-10").unwrap(), None);
    first.book(booked(TransactionType::Purchase, 50, None));
    let zero = MicroCredits::ZERO;
    let first = first
        .open(zero, zero)
        .closed(None, at("2026-11-03"))
        .unwrap();
    let second = open.closed(Some(&first), at("2026-12-03")).unwrap();
    assert_eq!(first.fault(None).unwrap(), None);
    assert_eq!(second.fault(Some(&first)).unwrap(), None);
    assert_eq!(second.previous_hash, first.hash);
    let one = MicroCredits::from_micro(1);
    let changes: [fn(&mut Statement, MicroCredits); 6] = [
        |of, one| of.purchases = of.purchases.plus(one),
        |of, one| of.opening_balance = of.opening_balance.plus(one),
        |of, one| of.open_holds = of.open_holds.plus(one),
        |of, one| of.rows[0].credits = of.rows[0].credits.plus(one),
        |of, _| of.corrections.clear(),
        |of, _| of.previous_hash = None,
    ];
    for change in changes {
        let mut changed = second.clone();
        change(&mut changed, one);
        assert!(
            changed.fault(Some(&first)).unwrap().is_some(),
            "{changed:?}"
        );
    }
    assert!(
        second.fault(None).unwrap().is_some(),
        "without the month before it"
    );
}

#[test]
fn a_statement_that_is_written_reads_back_as_it_was_below_zero_and_beyond_what_a_caller_may_ask_for()
 {
    let mut draft = Draft::new(Month::parse("2026-11").unwrap(), None);
    let billion = MicroCredits::from_credits(crate::money::MAX_CREDITS).micro();
    draft.book(booked(TransactionType::Purchase, billion, None));
    draft.book(booked(TransactionType::Purchase, billion, None));
    draft.book(booked(
        TransactionType::Deduction,
        1_234_567,
        Some("2026-10-31"),
    ));
    let below = MicroCredits::from_micro(-2_500_001);
    let open = draft.open(below, MicroCredits::ZERO);
    let closed = open.closed(None, at("2026-12-03")).unwrap();
    assert_eq!(closed.opening_balance, below);
    let text = serde_json::to_string(&closed).unwrap();
    let read: Statement = serde_json::from_str(&text).unwrap();
    assert_eq!(read, closed, "{text}");
    assert_eq!(read.fault(None).unwrap(), None);
}

fn record(tenant: Option<&str>, team: Option<&str>, models: &[(String, i64)]) -> CostRecord {
    let at = at("2026-11-02T08:00:00Z");
    let part = |(model, micro): &(String, i64)| Part {
        model: model.clone(),
        measures: Measures {
            credits_micro: *micro,
            ..Measures::default()
        },
    };
    CostRecord {
        verification_id: None,
        id: TransactionId::new(at, 7),
        at,
        run_id: RunId::new(at, 1),
        work_order_id: None,
        outcome: None,
        tenant_context: tenant.map(|tenant| TenantContext {
            tenant_id: tenant.to_owned(),
            tenant_user_id: None,
        }),
        attribution: team.map(|team| Attribution {
            labels: [("team".to_owned(), team.to_owned())].into(),
            ..Attribution::default()
        }),
        is_refund: false,
        price_list: Some("p1".to_owned()),
        parts: models.iter().map(part).collect(),
    }
}

/// The statement of the month of these records, of which so many are in sums.
fn by_sums(records: &[CostRecord], summed: usize) -> Statement {
    let (mut sums, mut values) = (BTreeMap::new(), LabelValues::default());
    for record in &records[..summed] {
        for cell in Cell::all_of(record, &mut values) {
            let sums = sums.entry(cell.clone()).or_insert_with(|| cell.empty());
            cell.add(sums, record);
        }
    }
    let mut draft = Draft::new(Month::parse("2026-11").unwrap(), Some("team".to_owned()));
    for (cell, sums) in sums.iter().filter(|(cell, _)| cell.period.len() == 7) {
        match &cell.of {
            SumsOf::All => draft.everything(sums),
            SumsOf::Dimension(Dimension::Tenant) => draft.tenant(sums),
            SumsOf::Dimension(_) => {}
            SumsOf::Statement => draft.labelled(sums),
        }
    }
    for record in &records[summed..] {
        draft.charge(record, &mut values);
    }
    draft.open(MicroCredits::ZERO, MicroCredits::ZERO)
}

fn by_entries(records: &[CostRecord]) -> Statement {
    let mut values = LabelValues::default();
    let mut draft = Draft::new(Month::parse("2026-11").unwrap(), Some("team".to_owned()));
    for record in records {
        draft.book(BookedEntry {
            price_list: record.price_list.clone(),
            ..booked(
                TransactionType::Deduction,
                record.total().credits_micro,
                None,
            )
        });
        draft.attribute(record, &mut values);
    }
    draft.open(MicroCredits::ZERO, MicroCredits::ZERO)
}

proptest! {
    #[test]
    fn a_statement_by_sums_is_the_one_by_entries_however_many_records_are_in_sums(
        runs in proptest::collection::vec(
            (
                proptest::option::of(0..4u8),
                proptest::option::of(0..4u8),
                proptest::collection::vec((0..5u8, 0..1_000_000i64), 0..4),
            ),
            0..30,
        ),
        share in 0.0..1.0f64,
    ) {
        let name = |of: Option<u8>| of.map(|of| format!("n{of}"));
        let records: Vec<CostRecord> = runs
            .iter()
            .map(|(tenant, team, models)| {
                let models: Vec<_> =
                    models.iter().map(|(model, micro)| (format!("m{model}"), *micro)).collect();
                record(name(*tenant).as_deref(), name(*team).as_deref(), &models)
            })
            .collect();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a part of thirty"
        )]
        let summed = (records.len() as f64 * share) as usize;
        prop_assert_eq!(by_sums(&records, summed), by_entries(&records));
    }
}

#[test]
fn more_models_than_sums_name_change_no_sum_of_a_tenant_and_no_row_is_below_zero() {
    let models = |from: usize| -> Vec<(String, i64)> {
        (from..from + 60)
            .map(|model| (format!("m{model}"), 7))
            .collect()
    };
    let all = [
        record(None, None, &models(0)),
        record(Some("a"), None, &models(30)),
        record(Some("a"), Some("red"), &models(90)),
        record(Some("b"), None, &models(140)),
    ];
    let (sums, entries) = (by_sums(&all, 4), by_entries(&all));
    let of_tenants = |of: &Statement| {
        let mut sums: BTreeMap<(String, String), i64> = BTreeMap::new();
        for row in &of.rows {
            assert!(row.credits.micro() > 0, "{row:?}");
            *sums
                .entry((row.tenant.clone(), row.label.clone()))
                .or_default() += row.credits.micro();
        }
        sums
    };
    assert_eq!(of_tenants(&sums), of_tenants(&entries));
    assert_eq!(sums.deductions, entries.deductions);
}
