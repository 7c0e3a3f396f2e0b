//! No name leads to an address that is not public, whatever its name server answers. Here only
//! loopback is allowed; the traps are forms of it that are not allowed, and that would lead there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::Mutex;

use awo_domain::webhook::address::{Reach, special};
use awo_domain::webhook::schedule::AttemptOutcome;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio::net::TcpStream;

use crate::authority::NAME;
use crate::name_server::Reply;
use crate::receiver::{Receiver, answer};
use crate::world::{LOOPBACK, World};

const GOOD: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// Both lead to 127.0.0.1, and neither is loopback to the guard.
const TRAPS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0x7f00, 1)),
];

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[tokio::test]
async fn the_traps_of_these_tests_would_lead_to_the_receiver() {
    let (_, trap) = Receiver::pair(GOOD, LOOPBACK).await;
    for address in TRAPS {
        assert!(Reach::PublicAndLoopback.admit(address).is_err());
        TcpStream::connect((address, trap.port)).await.unwrap();
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while trap.connections() < TRAPS.len() {
        assert!(std::time::Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
}

/// A name server that answers well when it is first asked, and badly from then on.
#[tokio::test]
async fn a_name_that_rebinds_gets_no_connection_to_where_it_rebinds() {
    for trap in TRAPS {
        let zone = move |_: &str, nth| Reply::Addresses(vec![if nth == 0 { GOOD } else { trap }]);
        let world = World::with(Reach::PublicAndLoopback, zone).await;
        let (good, trapped) = Receiver::pair(GOOD, LOOPBACK).await;
        let first = world.send(&good).await;
        assert_eq!(first.outcome, AttemptOutcome::Answered(200), "{first:?}");
        // Of another organization, so that it must connect and so resolve anew.
        let url = format!("https://{NAME}:{}/", good.port);
        let org = awo_domain::OrgId::new(crate::world::at(0), 2);
        let second = world.send_for(&org, &url, crate::world::at(0)).await;
        assert_eq!(second.outcome, AttemptOutcome::Unanswered);
        assert!(
            second
                .error
                .unwrap()
                .starts_with("the name leads to an address that is in")
        );
        assert_eq!(
            (good.connections(), trapped.connections()),
            (1, 0),
            "{trap}"
        );
    }
}

#[tokio::test]
async fn one_forbidden_answer_rejects_the_name() {
    let mixed = |trap| Reply::Addresses(vec![GOOD, trap]);
    let replies = [
        mixed(TRAPS[0]),
        mixed(TRAPS[1]),
        Reply::Addresses(vec![TRAPS[0], GOOD]),
        Reply::Alias("inside.example.com.", vec![TRAPS[0]]),
        Reply::Alias("inside.example.com.", vec![GOOD, TRAPS[1]]),
        Reply::Elsewhere("chain.example.com."),
    ];
    for reply in replies {
        let answer = reply.clone();
        let zone = move |name: &str, _| match name {
            NAME => answer.clone(),
            "chain.example.com" => Reply::Elsewhere("end.example.com."),
            _ => Reply::Addresses(vec![TRAPS[0]]),
        };
        let world = World::with(Reach::PublicAndLoopback, zone).await;
        let (good, trap) = Receiver::pair(GOOD, LOOPBACK).await;
        let sent = world.send(&good).await;
        assert_eq!(sent.outcome, AttemptOutcome::Unanswered, "{reply:?}");
        let error = sent.error.unwrap();
        assert!(
            error.starts_with("the name leads to an address that is in"),
            "{error}"
        );
        for address in ["127.0", "0.0.0.0", "::"] {
            assert!(!error.contains(address), "an address is shown: {error}");
        }
        assert_eq!(
            (good.connections(), trap.connections()),
            (0, 0),
            "{reply:?}"
        );
    }
}

#[tokio::test]
async fn an_alias_that_leads_to_a_good_address_is_followed() {
    let zone = |name: &str, _| match name {
        NAME => Reply::Elsewhere("end.example.com."),
        _ => Reply::Addresses(vec![LOOPBACK]),
    };
    let world = World::with(Reach::PublicAndLoopback, zone).await;
    let receiver = Receiver::start(answer(200, "", "")).await;
    let sent = world.send(&receiver).await;
    assert_eq!(sent.outcome, AttemptOutcome::Answered(200), "{sent:?}");
    assert_eq!(receiver.requests()[0].server_name.as_deref(), Some(NAME));
}

#[tokio::test]
async fn without_the_setting_not_even_loopback_is_reached() {
    let receiver = Receiver::start(answer(200, "", "")).await;
    for address in [
        "127.0.0.1",
        "::1",
        "10.0.0.1",
        "169.254.169.254",
        "fd00:ec2::254",
    ] {
        let zone = move |_: &str, _| Reply::Addresses(vec![ip(address)]);
        let world = World::with(Reach::Public, zone).await;
        let sent = world.send(&receiver).await;
        assert_eq!(sent.outcome, AttemptOutcome::Unanswered, "{address}");
        let error = sent.error.unwrap();
        assert!(error.contains("not public"), "{address}: {error}");
        assert!(!error.contains(address), "{error}");
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_name_without_an_address_is_reported_as_such() {
    for (reply, error) in [
        (Reply::NoSuchName, "the name has no address"),
        (Reply::Addresses(Vec::new()), "the name has no address"),
        (Reply::Broken, "the name could not be resolved"),
        (
            Reply::Elsewhere("hooks.example.com."),
            "the name has no address",
        ),
    ] {
        let answer = reply.clone();
        let world = World::with(Reach::Public, move |_, _| answer.clone()).await;
        let sent = world.send_to(&format!("https://{NAME}/")).await;
        assert_eq!(sent.outcome, AttemptOutcome::Unanswered);
        assert_eq!(sent.error.as_deref(), Some(error), "{reply:?}");
    }
}

fn is_forbidden(address: &IpAddr) -> bool {
    special(*address).is_some() && !address.is_loopback()
}

/// What a name server may answer to one question: what may be reached, the traps, and anything
/// that is special; nothing public, since these tests speak to this machine only.
fn addresses() -> impl Strategy<Value = Vec<IpAddr>> {
    let special_v4 = any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from(bits)));
    let special_v6 = any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from(bits)));
    let one = prop_oneof![
        6 => Just(GOOD),
        2 => proptest::sample::select(&TRAPS[..]),
        1 => special_v4.prop_filter("special", is_forbidden),
        1 => special_v6.prop_filter("special", is_forbidden),
    ];
    proptest::collection::vec(one, 0..4)
}

#[test]
fn whatever_a_name_server_answers_nothing_forbidden_is_connected_to() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let answers: Arc<Mutex<Vec<Vec<IpAddr>>>> = Arc::default();
    let reported = Arc::clone(&answers);
    let zone = move |name: &str, nth: usize| {
        let answers = reported.lock().unwrap();
        let case: usize = name.split('.').next().unwrap()[1..].parse().unwrap();
        Reply::Addresses(answers[case * 2 + nth.min(1)].clone())
    };
    let world = runtime.block_on(World::with(Reach::PublicAndLoopback, zone));
    let (good, trap) = runtime.block_on(Receiver::pair(GOOD, LOOPBACK));
    let mut runner = TestRunner::new(Config::with_cases(200));
    let held = runner.run(&(addresses(), addresses()), |(first, second)| {
        let case = answers.lock().unwrap().len() / 2;
        answers
            .lock()
            .unwrap()
            .extend([first.clone(), second.clone()]);
        for answered in [first, second] {
            let before = good.connections();
            let url = format!("https://n{case}.example.com:{}/", good.port);
            let sent = runtime.block_on(world.send_to(&url));
            let may_connect = !answered.is_empty() && answered.iter().all(|one| *one == GOOD);
            prop_assert_eq!(
                sent.outcome,
                AttemptOutcome::Unanswered,
                "the certificate is another's"
            );
            prop_assert_eq!(good.connections() - before, usize::from(may_connect));
            prop_assert_eq!(trap.connections(), 0);
        }
        Ok(())
    });
    held.unwrap();
    assert!(good.connections() > 10);
}
