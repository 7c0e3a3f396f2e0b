//! A walk through a list by cursors gets every item once, despite concurrent additions and changes,
//! and the total at each step.

use std::collections::BTreeSet;

use awo_domain::TransactionId;
use awo_domain::money::MicroCredits;
use awo_domain::stop::{Stop, StopKind};
use awo_store::ledger::credits::Booking;
use awo_store::work_orders::NewWorkOrder;
use awo_store::work_orders::cascades::FamilyStop;
use awo_tests::client::Client;
use awo_tests::seed::Seed;
use awo_tests::service::TestService;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::http_api::quiet_service;

const CASES: u32 = 40;
/// Longest walk, in pages.
const MAX_PAGES: usize = 200;
const TENANTS: [Option<&str>; 3] = [None, Some("a"), Some("b")];

/// A list with a filter.
#[derive(Debug, Clone, Copy, PartialEq)]
enum List {
    WorkOrders(Filter),
    Runs(Filter),
    Templates,
    Transactions { purchases: bool },
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Filter {
    status: Option<&'static str>,
    tenant: Option<&'static str>,
}

/// What happens between two pages.
#[derive(Debug, Clone, Copy)]
enum Move {
    Nothing,
    /// Something new, of a tenant.
    Add(usize),
    /// Something that waits, counted from the newest, is canceled.
    Cancel(usize),
}

/// A walk: what there is before it, page sizes, and what happens after each page.
#[derive(Debug, Clone)]
struct Walk {
    list: List,
    before: Vec<(usize, bool)>,
    limit: usize,
    moves: Vec<Move>,
}

fn filters() -> impl Strategy<Value = Filter> {
    let status = prop::option::of(prop::sample::select(vec!["queued", "canceled", "failed"]));
    let tenant = prop::option::of(prop::sample::select(vec!["a", "nobody"]));
    (status, tenant).prop_map(|(status, tenant)| Filter { status, tenant })
}

fn lists() -> impl Strategy<Value = List> {
    prop_oneof![
        3 => filters().prop_map(List::WorkOrders),
        3 => filters().prop_map(List::Runs),
        1 => Just(List::Templates),
        1 => any::<bool>().prop_map(|purchases| List::Transactions { purchases }),
    ]
}

fn walks() -> impl Strategy<Value = Walk> {
    let one = prop_oneof![
        Just(Move::Nothing),
        (0..TENANTS.len()).prop_map(Move::Add),
        (0..20_usize).prop_map(Move::Cancel),
    ];
    let before = prop::collection::vec((0..TENANTS.len(), any::<bool>()), 0..25);
    let moves = prop::collection::vec(one, 1..8);
    (lists(), before, 1..8_usize, moves).prop_map(|(list, before, limit, moves)| Walk {
        list,
        before,
        limit,
        moves,
    })
}

/// What the test knows to be there.
struct Item {
    id: String,
    tenant: Option<&'static str>,
    status: &'static str,
    made: Option<NewWorkOrder>,
}

struct Scene<'a> {
    service: &'a TestService,
    org: awo_domain::OrgId,
    client: Client,
    list: List,
    items: Vec<Item>,
}

impl List {
    fn path(self) -> String {
        let filtered = |path: &str, of: Filter| {
            let status = of.status.map(|s| format!("&status={s}"));
            let tenant = of.tenant.map(|t| format!("&tenantId={t}"));
            [
                path,
                &status.unwrap_or_default(),
                &tenant.unwrap_or_default(),
            ]
            .concat()
        };
        match self {
            List::WorkOrders(of) => filtered("/v1/work-orders?", of),
            List::Runs(of) => filtered("/v1/runs?", of),
            List::Templates => "/v1/templates?".to_owned(),
            List::Transactions { purchases: true } => "/v1/credits/usage?type=purchase".to_owned(),
            List::Transactions { purchases: false } => "/v1/credits/usage?".to_owned(),
        }
    }

    fn fields(self) -> (&'static str, &'static str) {
        match self {
            List::WorkOrders(_) => ("workOrders", "id"),
            List::Runs(_) => ("runs", "runId"),
            List::Templates => ("templates", "id"),
            List::Transactions { .. } => ("transactions", "id"),
        }
    }

    fn shows(self, item: &Item) -> bool {
        match self {
            List::WorkOrders(of) | List::Runs(of) => {
                of.status.is_none_or(|status| status == item.status)
                    && of.tenant.is_none_or(|tenant| item.tenant == Some(tenant))
            }
            List::Templates | List::Transactions { .. } => true,
        }
    }
}

impl Scene<'_> {
    async fn add(&mut self, tenant: usize) {
        let cloud = &self.service.service.cloud;
        let (tenant, now) = (TENANTS[tenant], cloud.clock.now());
        let (id, made) = match self.list {
            List::WorkOrders(_) | List::Runs(_) => {
                let new = Seed::of(cloud, &self.org).waiting(now, tenant).await;
                let is_runs = matches!(self.list, List::Runs(_));
                let id = if is_runs {
                    new.run_id.to_string()
                } else {
                    new.id.to_string()
                };
                (id, Some(new))
            }
            List::Templates => {
                let id = format!("t-{}", self.items.len());
                let source =
                    json!({ "type": "git", "repository": "https://git.example.com/x.git" });
                let body = json!({ "id": id, "name": "x", "source": source });
                let made = self.client.post("/v1/templates", &body).await;
                assert_eq!(made.status, 201, "{}", made.text);
                (id, None)
            }
            List::Transactions { .. } => {
                let (store, id) = (
                    cloud.store().unwrap(),
                    TransactionId::new(now, cloud.mint.random(now)),
                );
                store
                    .grant(
                        &self.org,
                        &id,
                        MicroCredits::from_credits(1),
                        &Booking::default(),
                    )
                    .await
                    .unwrap();
                (id.to_string(), None)
            }
        };
        let status = "queued";
        self.items.push(Item {
            id,
            tenant,
            status,
            made,
        });
    }

    async fn cancel(&mut self, nth: usize) {
        let cloud = &self.service.service.cloud;
        let (store, now) = (cloud.store().unwrap(), cloud.clock.now());
        let mut waiting = self
            .items
            .iter_mut()
            .rev()
            .filter(|item| item.status == "queued");
        let Some(item) = waiting.nth(nth) else { return };
        let Some(made) = &item.made else { return };
        let run = store.run(&self.org, &made.run_id).await.unwrap().unwrap();
        let stop = Stop {
            kind: StopKind::Cancel,
            reason: None,
            requested_at: now,
        };
        let stopping = FamilyStop {
            stop: &stop,
            children: None,
        };
        let order = made.work_order();
        let canceled = store.cancel_waiting(&self.org, (&order, &run), &stopping, now);
        assert!(canceled.await.unwrap());
        item.status = "canceled";
    }

    fn shown(&self) -> BTreeSet<String> {
        let shown = self.items.iter().filter(|item| self.list.shows(item));
        shown.map(|item| item.id.clone()).collect()
    }

    /// Of a cursor: it is good for nothing else.
    async fn is_refused_elsewhere(&self, cursor: &str, path: &str, stranger: &Client) {
        let mut tampered = cursor.as_bytes().to_vec();
        let middle = tampered.len() / 2;
        tampered[middle] = if tampered[middle] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(tampered).unwrap();
        let other_list = match self.list {
            List::WorkOrders(_) => "/v1/runs?",
            _ => "/v1/work-orders?",
        };
        for (client, path, cursor) in [
            (&self.client, path, tampered.as_str()),
            (&self.client, path, &cursor[1..]),
            (&self.client, path, ""),
            (stranger, path, cursor),
            (&self.client, other_list, cursor),
            (&self.client, &format!("{other_list}&tenantId=zz"), cursor),
        ] {
            let answer = client.get(&format!("{path}&cursor={cursor}")).await;
            assert_eq!(answer.status, 400, "{path} {cursor}: {}", answer.text);
        }
    }
}

/// A new organization, with what it has from the start: a first purchase, or built-in templates.
async fn scene(service: &TestService, list: List) -> Scene<'_> {
    let (org, client) = service.another_org(1_000).await;
    let (plural, id_field) = list.fields();
    let known = client.get(&format!("{}&limit=100", list.path())).await.body;
    let known = known[plural].as_array().unwrap().iter().rev();
    let items = known.map(|item| Item {
        id: item[id_field].as_str().unwrap().to_owned(),
        tenant: None,
        status: "",
        made: None,
    });
    Scene {
        service,
        org,
        list,
        items: items.collect(),
        client,
    }
}

async fn walk(service: &TestService, walk: Walk) {
    let (_, stranger) = service.another_org(1).await;
    let ((plural, id_field), path) = (walk.list.fields(), walk.list.path());
    let mut scene = scene(service, walk.list).await;
    let client = scene.client.clone();
    for (tenant, canceled) in walk.before {
        scene.add(tenant).await;
        if canceled {
            scene.cancel(0).await;
        }
    }
    let (before, mut ever) = (scene.shown(), scene.shown());
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    let mut moves = walk.moves.iter().cycle();
    for pages in 0.. {
        assert!(pages < MAX_PAGES, "the walk does not end");
        let page = client
            .get(&format!("{path}&limit={}{cursor}", walk.limit))
            .await;
        assert_eq!(page.status, 200, "{}", page.text);
        assert_eq!(page.body["total"], scene.shown().len(), "{}", page.text);
        let items = page.body[plural].as_array().unwrap();
        seen.extend(
            items
                .iter()
                .map(|item| item[id_field].as_str().unwrap().to_owned()),
        );
        let Some(next) = page.body["nextCursor"].as_str() else {
            break;
        };
        assert_eq!(items.len(), walk.limit, "{}", page.text);
        if pages == 0 {
            scene.is_refused_elsewhere(next, &path, &stranger).await;
        }
        cursor = format!("&cursor={next}");
        match moves.next() {
            Some(Move::Add(tenant)) => scene.add(*tenant).await,
            Some(Move::Cancel(nth)) => scene.cancel(*nth).await,
            Some(Move::Nothing) | None => {}
        }
        ever.extend(scene.shown());
    }
    let unique: BTreeSet<String> = seen.iter().cloned().collect();
    assert_eq!(unique.len(), seen.len(), "an item came twice: {seen:?}");
    assert!(unique.is_subset(&ever), "{unique:?} {ever:?}");
    let stayed: BTreeSet<String> = before.intersection(&scene.shown()).cloned().collect();
    assert!(
        stayed.is_subset(&unique),
        "missed: {:?}",
        stayed.difference(&unique)
    );
    if !matches!(walk.list, List::Templates) {
        assert!(seen.is_sorted_by(|newer, older| newer > older), "{seen:?}");
    }
}

#[test]
fn a_walk_by_cursors_visits_everything_once_whatever_happens_on_the_way() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let service = runtime.block_on(quiet_service());
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&walks(), |one| {
        runtime.block_on(walk(&service, one));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
