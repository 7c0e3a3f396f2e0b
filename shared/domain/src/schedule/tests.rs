use super::*;
use crate::work_order::WorkOrderStatus;

fn schedule(overlap: Overlap, open: u128) -> Schedule {
    let at = Timestamp::from_epoch_ms(1_800_000_000_000);
    Schedule {
        id: ScheduleId::new(at, 1),
        content: ScheduleContent {
            name: "Nightly".to_owned(),
            cron: "0 3 * * *".to_owned(),
            timezone: "UTC".to_owned(),
            work_order: "{}".to_owned(),
            overlap,
            catch_up: CatchUp::Latest,
            pause_after_failures: 2,
            starts_at: None,
            ends_at: None,
            enabled: true,
        },
        created_by: KeyId::parse("abcdefABC123").unwrap(),
        created_at: at,
        updated_at: None,
        next_at: Some(at.plus_ms(60_000)),
        last_fired_at: Some(at),
        consecutive_failures: 0,
        paused: None,
        open: (0..open).map(|nth| WorkOrderId::new(at, nth)).collect(),
    }
}

fn standing(schedule: &Schedule, statuses: &[Option<WorkOrderStatus>]) -> Vec<OrderStanding> {
    schedule
        .open
        .iter()
        .cloned()
        .zip(statuses.iter().copied())
        .collect()
}

#[test]
fn failures_in_a_row_pause_a_schedule_and_a_success_sets_back() {
    use WorkOrderStatus::{Canceled, Failed, Running, Succeeded};
    for (statuses, failures, paused) in [
        (vec![Some(Failed)], 1, None),
        (
            vec![Some(Failed), Some(Failed)],
            2,
            Some(PauseReason::Failures),
        ),
        (vec![Some(Failed), Some(Succeeded), Some(Failed)], 1, None),
        (vec![Some(Failed), Some(Canceled), None], 1, None),
        (vec![Some(Failed), Some(Running)], 1, None),
    ] {
        let schedule = schedule(Overlap::Queue, statuses.len() as u128);
        let orders = standing(&schedule, &statuses);
        let counted = schedule.counted(&orders);
        assert_eq!(counted.consecutive_failures, failures, "{statuses:?}");
        assert_eq!(counted.paused, paused, "{statuses:?}");
        assert_eq!(counted.next_at.is_none(), paused.is_some(), "{statuses:?}");
        let open = statuses.iter().filter(|status| **status == Some(Running));
        assert_eq!(counted.open.len(), open.count(), "{statuses:?}");
        assert_eq!(counted.clone().counted(&orders), counted, "counted once");
    }
}

#[test]
fn an_order_that_is_not_terminal_overlaps_and_one_may_wait_where_they_queue() {
    use WorkOrderStatus::{Queued, Running};
    for (overlap, statuses, overlaps) in [
        (Overlap::Skip, vec![], false),
        (Overlap::Skip, vec![Some(Running)], true),
        (Overlap::Queue, vec![Some(Running)], false),
        (Overlap::Queue, vec![Some(Running), Some(Queued)], true),
        (Overlap::Queue, vec![Some(Running); MAX_OPEN_ORDERS], true),
    ] {
        let schedule = schedule(overlap, statuses.len() as u128);
        let orders = standing(&schedule, &statuses);
        assert_eq!(schedule.overlaps(&orders), overlaps, "{statuses:?}");
    }
}

#[test]
fn a_schedule_is_due_at_its_next_time_or_while_an_order_of_it_is_open() {
    let idle = schedule(Overlap::Skip, 0);
    assert_eq!(idle.due_at(), idle.next_at);
    let working = schedule(Overlap::Skip, 1);
    assert_eq!(working.due_at(), working.last_fired_at);
    assert_eq!(idle.paused_for(PauseReason::KeyRevoked).due_at(), None);
}
