use super::*;
use crate::webhook::schedule::MAX_ATTEMPTS;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_epoch_ms(ms)
}

fn after(progress: DeliveryProgress, event: DeliveryEvent) -> DeliveryProgress {
    progress.after(event).expect("an event that can happen")
}

fn begun(progress: DeliveryProgress, now: Timestamp) -> DeliveryProgress {
    let id = AttemptId::new(now, 1);
    after(progress, DeliveryEvent::Begun(id, now))
}

fn ended(progress: DeliveryProgress, status: u16, now: Timestamp) -> DeliveryProgress {
    let report = SendReport {
        outcome: AttemptOutcome::Answered(status),
        started_at: now,
        duration_ms: 2_000,
        error: None,
    };
    let next = progress.next(&report, &RetrySchedule::default(), 0);
    after(progress, DeliveryEvent::Ended(report, next))
}

#[test]
fn an_attempt_that_nobody_ended_has_failed_when_its_time_is_over_and_is_never_made_up_for() {
    let schedule = RetrySchedule::default();
    let mut progress = DeliveryProgress::new(at(0));
    let mut now = at(1_000);
    for number in 1..=MAX_ATTEMPTS {
        assert_eq!(progress.standing(now), DeliveryStanding::Due);
        progress = begun(progress, now);
        let over = now.plus_ms(UNDER_WAY_MS);
        assert_eq!(progress.standing(now), DeliveryStanding::Waits(over));
        assert_eq!(progress.unseen_end(now, &schedule, 0), None);
        let ended_at = now.plus_ms(ANSWER_LIMIT_MS);
        let unseen = progress.unseen_end(over, &schedule, 0);
        progress = after(progress, unseen.expect("its time is over"));
        assert_eq!(progress.under_way_until(), None);
        match progress.next_attempt_at {
            Some(next) => {
                assert!(next >= ended_at.plus_ms(60_000));
                now = next;
            }
            None => assert_eq!(number, MAX_ATTEMPTS),
        }
    }
    assert_eq!(progress.standing(now), DeliveryStanding::Over);
    assert_eq!(progress.status, DeliveryStatus::Abandoned);
    assert_eq!(progress.attempts.len(), 5);
}

#[test]
fn an_attempt_that_was_recorded_and_not_made_is_withdrawn_and_not_counted() {
    let new = DeliveryProgress::new(at(0));
    let back = after(begun(new.clone(), at(5)), DeliveryEvent::Withdrawn);
    let next_attempt_at = Some(at(5));
    assert_eq!(
        back,
        DeliveryProgress {
            next_attempt_at,
            ..new
        }
    );
    assert_eq!(back.standing(at(5)), DeliveryStanding::Due);
    let again = begun(back, at(10));
    assert_eq!((again.attempts.len(), again.attempts[0].number), (1, 1));
}

#[test]
fn a_delivery_waits_for_its_time_and_is_over_with_its_success() {
    let failed = ended(begun(DeliveryProgress::new(at(0)), at(0)), 503, at(0));
    let next = at(62_000);
    assert_eq!(failed.standing(at(61_999)), DeliveryStanding::Waits(next));
    assert_eq!(failed.standing(next), DeliveryStanding::Due);
    let delivered = ended(begun(failed, next), 204, next);
    assert_eq!(delivered.status, DeliveryStatus::Delivered);
    assert_eq!(delivered.standing(at(70_000)), DeliveryStanding::Over);
    assert_eq!(delivered.attempts.len(), 2);
}

#[test]
fn each_state_has_its_events_and_no_other() {
    let waiting = DeliveryProgress::new(at(0));
    let under_way = begun(waiting.clone(), at(0));
    let over = ended(under_way.clone(), 410, at(0));
    let report = SendReport {
        outcome: AttemptOutcome::Unanswered,
        started_at: at(0),
        duration_ms: 1,
        error: None,
    };
    let events = [
        (
            DeliveryEvent::Begun(AttemptId::new(at(0), 2), at(0)),
            [true, false],
        ),
        (
            DeliveryEvent::Abandoned("it is deleted".to_owned()),
            [true, false],
        ),
        (DeliveryEvent::Withdrawn, [false, true]),
        (DeliveryEvent::Ended(report, Next::Abandoned), [false, true]),
        (DeliveryEvent::Unseen(Next::Abandoned), [false, true]),
    ];
    for (event, [when_waiting, when_under_way]) in events {
        let can = |from: &DeliveryProgress| from.clone().after(event.clone()).is_some();
        assert_eq!(can(&waiting), when_waiting, "{event:?}");
        assert_eq!(can(&under_way), when_under_way, "{event:?}");
        assert!(!can(&over), "{event:?}");
    }
}
