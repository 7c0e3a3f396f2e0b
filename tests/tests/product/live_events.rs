//! Live streams of a run's events, as a client reads them.

use std::time::{Duration, Instant};

use awo_domain::api_key::Scope;
use awo_store::capacity::call_permits::{CallPermit, FUNCTION_MS, LongCall, MAX_STREAMS};
use awo_tests::agents;
use awo_tests::client::{Client, LiveStream};
use awo_tests::driven::DrivenRun;
use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::{order, quiet_service};

/// It is a quarter of a second at most, and longer on a machine that has much to do.
const SLOWEST: Duration = Duration::from_secs(5);

async fn submit(service: &TestService) -> (Value, String) {
    let made = service.client.post("/v1/work-orders", &order()).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/v1/runs/{}/events", made.body["runId"].as_str().unwrap());
    (made.body, path)
}

/// The events of a run as a page has them.
async fn page(service: &TestService, path: &str) -> Vec<Value> {
    let page = service.client.get(path).await.body;
    page["events"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_live_stream_sends_past_and_new_events_and_ends_with_the_run() {
    let service = quiet_service().await;
    let (made, path) = submit(&service).await;
    let mut live = service.client.watch(&path, &[]).await.unwrap();
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-store"),
        ("x-ratelimit-limit", "1000000"),
    ] {
        assert_eq!(live.headers[name], value, "{name}");
    }
    assert!(live.headers.contains_key("x-request-id"));
    assert_eq!(live.next().await.unwrap().kind, "run.created");
    assert_eq!(live.others, ["retry: 1000"]);

    let mut run = DrivenRun::of(&service, &made).await;
    assert_eq!(live.next().await.unwrap().kind, "run.building");
    for iteration in 1..=5 {
        run.iterate(iteration).await;
        let stored_at = Instant::now();
        let mut event = live.next().await.unwrap();
        if event.kind == "run.started" {
            event = live.next().await.unwrap();
        }
        assert_eq!(event.data["data"]["iteration"], iteration);
        println!(
            "an event was seen {:?} after it was stored",
            stored_at.elapsed()
        );
        assert!(stored_at.elapsed() < SLOWEST);
    }
    run.succeed().await;
    let end = live.next().await.unwrap();
    assert_eq!(end.kind, "run.completed");
    assert_eq!(live.next().await, None, "the stream ends with the run");

    let wanted = page(&service, &path).await;
    let mut again = service.client.watch(&path, &[]).await.unwrap();
    let replayed = again.rest().await;
    assert_eq!(replayed.last(), Some(&end));
    for (event, wanted) in replayed.iter().zip(&wanted) {
        assert_eq!(&event.data, wanted);
        assert_eq!(json!(event.id), wanted["sequence"]);
        assert_eq!(json!(event.kind), wanted["type"]);
    }
    assert_eq!(replayed.len(), wanted.len());
}

#[tokio::test]
async fn a_stream_goes_on_after_the_event_that_the_client_saw_last() {
    let service = quiet_service().await;
    let (made, path) = submit(&service).await;
    let mut run = DrivenRun::of(&service, &made).await;
    run.iterate(1).await;
    run.succeed().await;
    let all = page(&service, &path).await.len() as u64;
    assert_eq!(all, 5);
    let ids = async |query: &str, headers: &[(&str, &str)]| {
        let path = format!("{path}{query}");
        let mut live = service.client.watch(&path, headers).await.unwrap();
        let events = live.rest().await;
        events.iter().map(|event| event.id).collect::<Vec<_>>()
    };
    let last = |id| [("last-event-id", id)];
    assert_eq!(ids("", &last("2")).await, [3, 4, 5]);
    assert_eq!(ids("?after=3", &[]).await, [4, 5]);
    assert_eq!(
        ids("?after=1", &last("4")).await,
        [5],
        "the header is newer"
    );
    // A client that has seen the end, or more than there is, has nothing to connect again for.
    let stream = ("accept", "text/event-stream");
    for (query, header) in [
        ("", "5"),
        ("?after=1", "7"),
        ("?after=5", ""),
        ("?after=4294967295", ""),
    ] {
        let mut headers = vec![stream];
        if !header.is_empty() {
            headers.push(("last-event-id", header));
        }
        let path = format!("{path}{query}");
        let none = service
            .client
            .send("GET", &path, &headers, Vec::new())
            .await;
        assert_eq!(
            (none.status, none.text.as_str()),
            (204, ""),
            "{path} {header}"
        );
    }
    let page = service.client.get(&format!("{path}?after=5")).await;
    assert_eq!(
        (page.status, &page.body["events"]),
        (200, &json!([])),
        "a page is a page"
    );
}

#[tokio::test]
async fn an_event_source_stops_by_itself_at_the_end_of_a_run() {
    let service = quiet_service().await;
    let (made, path) = submit(&service).await;
    let mut run = DrivenRun::of(&service, &made).await;
    run.iterate(1).await;
    let reading = tokio::spawn(event_source(service.client.clone(), path));
    run.succeed().await;
    let (seen, connections) = tokio::time::timeout(Duration::from_secs(30), reading)
        .await
        .expect("it stops")
        .unwrap();
    assert_eq!(seen.last().map(String::as_str), Some("run.completed"));
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert_eq!(connections, 2, "the second is answered 204");
}

/// What the HTML standard has an EventSource do: it connects again after each end with the id that
/// it saw last, and stops at any status but 200. Answers what it saw, and how often it connected.
async fn event_source(client: Client, path: String) -> (Vec<String>, u32) {
    let (mut seen, mut last) = (Vec::new(), None::<String>);
    for connections in 1..=10 {
        let header = last.as_deref().map(|id| ("last-event-id", id));
        let headers: Vec<(&str, &str)> = header.into_iter().collect();
        let Ok(mut stream) = client.watch(&path, &headers).await else {
            return (seen, connections);
        };
        for event in stream.rest().await {
            seen.push(event.kind);
            last = Some(event.id.to_string());
        }
    }
    panic!("it connects again and again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_one_machine_a_stream_whose_client_is_gone_gives_its_permit_back_at_once() {
    let service = quiet_service().await;
    let (_, path) = submit(&service).await;
    let mut streams = Vec::new();
    for _ in 0..MAX_STREAMS {
        streams.push(service.client.watch(&path, &[]).await.expect("a permit"));
    }
    assert!(
        service.client.watch(&path, &[]).await.is_err(),
        "all are held"
    );
    drop(streams);
    let began = Instant::now();
    let mut again = Vec::new();
    while again.len() < MAX_STREAMS as usize {
        match service.client.watch(&path, &[]).await {
            Ok(stream) => again.push(stream),
            Err(refused) => {
                assert_eq!(refused.status, 429, "{}", refused.text);
                let limit = Duration::from_secs(15);
                assert!(began.elapsed() < limit, "{} came back", again.len());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

#[tokio::test]
async fn a_fault_of_a_stream_is_reported_as_on_every_other_route() {
    let service = quiet_service().await;
    let (_, path) = submit(&service).await;
    let (_, stranger) = service.another_org(10).await;
    let reader = service.key(&[Scope::WorkOrdersRead], None).await;
    let nobody = service.client.with_key(None);
    let own = &service.client;
    let cases = [
        (&stranger, path.clone(), "1", 404, "RUN_NOT_FOUND"),
        (
            own,
            "/v1/runs/x/events".to_owned(),
            "1",
            404,
            "RUN_NOT_FOUND",
        ),
        (&reader, path.clone(), "1", 403, "FORBIDDEN"),
        (&nobody, path.clone(), "1", 401, "UNAUTHORIZED"),
        (own, path.clone(), "-1", 400, "BAD_REQUEST"),
        (own, path.clone(), "1x", 400, "BAD_REQUEST"),
        (own, path.clone(), "4294967296", 400, "BAD_REQUEST"),
        (own, format!("{path}?after=x"), "1", 400, "BAD_REQUEST"),
        (own, format!("{path}?limit=1"), "1", 400, "BAD_REQUEST"),
    ];
    for (client, path, last, status, code) in cases {
        let answer = client.watch(&path, &[("last-event-id", last)]).await;
        let answer = answer.map(drop).unwrap_err();
        assert_eq!(answer.status, status, "{}", answer.text);
        assert_eq!(answer.body["error"]["code"], code);
        assert_eq!(answer.header("content-type"), "application/json");
    }
    let plain = [("accept", "text/event-stream;q=0, application/json")];
    let page = own.send("GET", &path, &plain, Vec::new()).await;
    assert_eq!(page.body["events"][0]["type"], "run.created");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organization_has_twenty_live_streams_at_once_and_its_places_come_back() {
    let service = quiet_service().await;
    let (made, path) = submit(&service).await;
    let watchers = (0..MAX_STREAMS).map(|_| {
        let (client, path) = (service.client.clone(), path.clone());
        tokio::spawn(async move { client.watch(&path, &[]).await })
    });
    let mut streams: Vec<LiveStream> = Vec::new();
    for watcher in watchers.collect::<Vec<_>>() {
        streams.push(watcher.await.unwrap().expect("a place"));
    }
    let refused = service.client.watch(&path, &[]).await;
    let refused = refused.map(drop).unwrap_err();
    assert_eq!(
        (refused.status, &refused.body["error"]["code"]),
        (429, &json!("RATE_LIMITED")),
        "{}",
        refused.text
    );
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 0);
    assert_eq!(
        service.client.get(&path).await.status,
        200,
        "pages are no streams"
    );

    let mut run = DrivenRun::of(&service, &made).await;
    run.succeed().await;
    for stream in &mut streams {
        assert_eq!(stream.rest().await.last().unwrap().kind, "run.completed");
    }
    // A place is given back before its stream ends, so nobody waits here.
    for _ in 0..=MAX_STREAMS {
        let mut again = service.client.watch(&path, &[]).await.expect("a place");
        assert_eq!(again.rest().await.len(), 5);
    }
}

#[tokio::test]
async fn a_place_is_free_when_its_stream_is_dropped_or_its_time_is_up() {
    let service = quiet_service().await;
    let cloud = &service.service.cloud;
    let (store, now) = (cloud.store().unwrap(), cloud.clock.now());
    let (stranger, _) = service.another_org(1).await;
    let mut places: Vec<CallPermit> = Vec::new();
    let take = async |holder: &str, at| {
        store
            .take_call_permit(&service.org, LongCall::Stream, holder, at)
            .await
    };
    for number in 0..MAX_STREAMS {
        places.push(take(&format!("a{number}"), now).await.unwrap());
    }
    assert!(take("b", now).await.is_err());
    let elsewhere = store
        .take_call_permit(&stranger, LongCall::Stream, "b", now)
        .await
        .unwrap();
    elsewhere.give_back().await;

    drop(places.pop());
    let began = Instant::now();
    let dropped = loop {
        if let Ok(place) = take("b", now).await {
            break place;
        }
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "a dropped place is given back"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(take("c", now).await.is_err());

    // Those who hold expired places cannot give back what somebody else has taken since.
    let later = now.plus_ms(FUNCTION_MS);
    let mut taken = Vec::new();
    for number in 0..MAX_STREAMS {
        taken.push(take(&format!("d{number}"), later).await.unwrap());
    }
    dropped.give_back().await;
    for place in places {
        place.give_back().await;
    }
    assert!(take("e", later).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_writes_is_seen_while_it_works() {
    let service = TestService::start(1_000_000, &[]).await;
    let repository = Repository::with(&[("Makefile", "test:\n\t@true\n"), ("a", "b\n")]);
    // It ends once somebody has seen what it wrote.
    let script = "echo 'who reads this?'; until [ -e go ]; do sleep 0.05; done; rm go";
    let order = agents::order(&repository.url(), script);
    let made = agents::submit(&service.client, &order).await;
    let run = format!("/v1/runs/{}", made["runId"].as_str().unwrap());
    let path = format!("{run}/events");
    let mut live = service.client.watch(&path, &[]).await.unwrap();
    let reported = loop {
        let event = live.next().await.expect("the run goes on");
        if event.kind == "agent.output" {
            break event.data["data"].clone();
        }
        assert_ne!(event.kind, "agent.finished");
    };
    assert_eq!(reported["text"], "who reads this?\n");
    assert_eq!(
        (&reported["iteration"], &reported["leftOutBytes"]),
        (&json!(1), &json!(0))
    );
    let work_dir = service.client.get(&run).await.body["workDir"].clone();
    let go = std::path::Path::new(work_dir.as_str().unwrap()).join("go");
    std::fs::write(go, "").unwrap();
    assert_eq!(live.rest().await.last().unwrap().kind, "run.completed");
    service.client.finished_run(&made).await;
}
