use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp::parse_bound(text).unwrap()
}

fn booked(kind: TransactionType, micro: i64, about: Option<&str>) -> Booked {
    let at = at("2026-11-02T08:00:00Z");
    Booked {
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
