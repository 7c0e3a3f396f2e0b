use super::*;

pub(crate) fn trigger(per_hour: u32) -> Trigger {
    let now = Timestamp::from_epoch_ms(1_800_000_000_000);
    Trigger {
        id: TriggerId::new(now, 1),
        content: TriggerContent {
            name: "Agent".to_owned(),
            inbox_id: InboxId::new(now, 1),
            events: vec![TriggerEvent::Push],
            repositories: vec!["github.com/acme/*".to_owned()],
            filter: TriggerFilter::default(),
            who: TriggerActors {
                permission: TriggerPermission::Write,
                users: Vec::new(),
                exclude_users: Vec::new(),
                bots: Vec::new(),
            },
            action: TriggerAction::Create,
            on_foreign: OnForeign::Ignore,
            settle_seconds: 0,
            work_order: "{}".to_owned(),
            limits: TriggerLimits {
                per_subject: 20,
                per_hour,
            },
            enabled: true,
        },
        created_by: KeyId::parse("0123456789ab").unwrap(),
        created_at: now,
        updated_at: None,
        last_fired_at: None,
        consecutive_refusals: 0,
        paused: None,
        recent: Vec::new(),
    }
}

#[test]
fn a_trigger_creates_so_many_work_orders_in_any_hour() {
    let mut trigger = trigger(2);
    let start = trigger.created_at;
    for minutes in [0, 30] {
        let now = start.plus_ms(minutes * 60_000);
        assert!(!trigger.is_at_hourly_limit(now));
        trigger = trigger.fired(now);
    }
    assert!(trigger.is_at_hourly_limit(start.plus_ms(59 * 60_000)));
    let later = start.plus_ms(60 * 60_000);
    assert!(!trigger.is_at_hourly_limit(later));
    trigger = trigger.fired(later);
    assert_eq!(trigger.recent.len(), 2);
}

#[test]
fn ten_refusals_in_a_row_pause_and_a_work_order_sets_back() {
    let mut paused = trigger(1);
    for _ in 1..PAUSE_AFTER {
        paused = paused.refused();
        assert!(paused.is_active());
    }
    let now = paused.created_at;
    assert_eq!(paused.clone().fired(now).consecutive_refusals, 0);
    let paused = paused.refused();
    assert_eq!(paused.paused, Some(TriggerPauseReason::Refusals));
    assert!(!paused.is_active());
}

#[test]
fn each_forge_sends_the_events_that_the_page_lists() {
    use ForgeKind::{Gitea, Github, Gitlab};
    for event in TriggerEvent::ALL {
        let senders: &[Option<ForgeKind>] = match event {
            TriggerEvent::Received => &[None],
            TriggerEvent::CheckRerequested => &[Some(Github)],
            TriggerEvent::CheckFailed => &[Some(Github), Some(Gitlab)],
            _ => &[Some(Github), Some(Gitlab), Some(Gitea)],
        };
        for forge in [None, Some(Github), Some(Gitlab), Some(Gitea)] {
            assert_eq!(
                event.is_sent_by(forge),
                senders.contains(&forge),
                "{event:?} {forge:?}"
            );
        }
    }
}

#[test]
fn a_permission_is_met_by_itself_and_by_higher_ones() {
    use TriggerPermission as Least;
    for (least, has, is_met) in [
        (Least::Triage, ForgePermission::Read, false),
        (Least::Triage, ForgePermission::Triage, true),
        (Least::Write, ForgePermission::Triage, false),
        (Least::Write, ForgePermission::Write, true),
        (Least::Write, ForgePermission::Admin, true),
        (Least::Maintain, ForgePermission::Write, false),
        (Least::Admin, ForgePermission::Maintain, false),
        (Least::Admin, ForgePermission::Admin, true),
    ] {
        assert_eq!(least.is_met_by(has), is_met, "{least:?} {has:?}");
    }
}
