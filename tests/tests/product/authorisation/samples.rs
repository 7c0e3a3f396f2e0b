//! A valid call of each route. A route whose documented example is none fails the tests of [`super`];
//! a way of calling it in `ways.rs` is enough to cover it.

mod inboxes;
mod receivers;
mod schedules;
mod triggers;
mod ways;

use std::sync::atomic::{AtomicU32, Ordering};

use awo_domain::statement::Month;
use awo_domain::webhook::DeliveryStatus;
use awo_domain::{
    BudgetId, DeliveryId, InboxDeliveryId, InboxId, OrgId, RunId, ScheduleId, TriggerId, WebhookId,
    WorkOrderId,
};
use awo_http::routes::{ROUTES, Route};
use awo_tests::client::{Answer, Client};
use awo_tests::seed::Seed;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use crate::http_api::order;
use inboxes::{a_processed_delivery, an_inbox, inbox, signature};
use receivers::{a_budget, a_webhook, budget, webhook};
use schedules::{a_schedule, schedule};
use triggers::a_trigger;

/// The things that a path or a query can name.
#[derive(Debug, Clone)]
pub struct Things {
    pub org: OrgId,
    pub work_order: String,
    pub run: String,
    pub tenant: String,
    pub template: String,
    pub environment: String,
    pub plugin: String,
    /// A workspace of the service's organization, whatever the owner of the others.
    pub work_dir: String,
    pub profile: String,
    pub webhook: String,
    pub budget: String,
    pub schedule: String,
    pub month: String,
    /// A delivery of it that is over.
    pub delivery: String,
    pub inbox: String,
    /// A delivery to it that was processed.
    pub inbox_delivery: String,
    pub trigger: String,
}

impl Things {
    /// Ids that nobody has.
    pub fn of_nobody(service: &TestService) -> Things {
        let (mint, now) = (
            &service.service.cloud.mint,
            service.service.cloud.clock.now(),
        );
        let org = OrgId::new(now, mint.random(now));
        Things {
            tenant: format!("tenant-{org}"),
            org,
            work_order: WorkOrderId::new(now, mint.random(now)).to_string(),
            run: RunId::new(now, mint.random(now)).to_string(),
            template: new_name(),
            environment: new_name(),
            plugin: format!("custom:{}", new_name()),
            work_dir: work_dir(service, RunId::new(now, mint.random(now)).as_str()),
            profile: new_name(),
            webhook: WebhookId::new(now, mint.random(now)).to_string(),
            budget: BudgetId::new(now, mint.random(now)).to_string(),
            schedule: ScheduleId::new(now, mint.random(now)).to_string(),
            month: "2001-01".to_owned(),
            delivery: DeliveryId::new(now, mint.random(now)).to_string(),
            inbox: InboxId::new(now, mint.random(now)).to_string(),
            trigger: TriggerId::new(now, mint.random(now)).to_string(),
            inbox_delivery: InboxDeliveryId::new(now, mint.random(now)).to_string(),
        }
    }

    /// A new waiting work order and all that comes with it.
    pub async fn of(service: &TestService) -> Things {
        let tenant = format!("tenant-{}", service.org);
        let mut body = order();
        body["tenantContext"] = json!({ "tenantId": tenant });
        let order = service.client.post("/v1/work-orders", &body).await;
        assert_eq!(order.status, 201, "{}", order.text);
        let id = |name: &str| order.body[name].as_str().unwrap().to_owned();
        // One of each, made anew if a sample has deleted it: an organization may have few.
        for (path, body) in [
            ("/v1/templates", template(THING)),
            ("/v1/environments", environment(THING)),
            ("/api/v1/profiles", json!({ "name": THING })),
            (
                "/api/v1/verification/plugins",
                plugin(&format!("custom:{THING}")),
            ),
        ] {
            let made = service.client.post(path, &body).await;
            assert!([201, 409].contains(&made.status), "{}", made.text);
        }
        let webhook = a_webhook(service).await;
        // Nothing that a sample calls makes one that is over.
        let seed = Seed::of(&service.service.cloud, &service.org);
        let delivery = seed.delivery(&webhook, DeliveryStatus::Delivered).await;
        let inbox = an_inbox(service).await;
        Things {
            webhook: webhook.to_string(),
            budget: a_budget(service).await,
            schedule: a_schedule(service).await,
            month: this_month(service),
            delivery: delivery.id.to_string(),
            inbox_delivery: a_processed_delivery(service, &inbox).await,
            trigger: a_trigger(service, &inbox).await,
            inbox: inbox.to_string(),
            profile: THING.to_owned(),
            org: service.org.clone(),
            work_order: id("id"),
            run: id("runId"),
            tenant,
            plugin: format!("custom:{THING}"),
            template: THING.to_owned(),
            environment: THING.to_owned(),
            work_dir: work_dir(service, &id("runId")),
        }
    }

    /// The id for the parameter after this part of a path; the path begins with the name of its resource.
    fn after(&self, resource: &str, part: &str) -> &str {
        match part {
            "inboxes" | "hooks" => &self.inbox,
            "deliveries" if resource == "inboxes" => &self.inbox_delivery,
            "work-orders" | "position" | "threads" => &self.work_order,
            "runs" => &self.run,
            "templates" => &self.template,
            "environments" => &self.environment,
            "secrets" => SECRET,
            "plugins" => &self.plugin,
            "verifications" => VERIFICATION,
            "profiles" => &self.profile,
            "webhooks" => &self.webhook,
            "budgets" => &self.budget,
            "schedules" => &self.schedule,
            "triggers" => &self.trigger,
            "statements" => &self.month,
            "deliveries" => &self.delivery,
            "control" => self.org.as_str(),
            "docs" => "page.js",
            "console" => "console.js",
            _ => panic!("say in {} what a path names after /{part}/", file!()),
        }
    }

    fn named_in(&self, query: &str) -> String {
        let named = query.replace("{workOrder}", &self.work_order);
        let named = named.replace("{run}", &self.run);
        // Ids begin with their time.
        let made = WorkOrderId::parse(&self.work_order).map(|id| id.made_at().day());
        let day = made.unwrap_or_else(|_| "2026-11-20".to_owned());
        let named = named
            .replace("{month}", &day[..7])
            .replace("{day}", &day[8..]);
        named.replace("{tenant}", &self.tenant)
    }
}

/// A good call of a route.
#[derive(Debug, Clone)]
pub struct Sample {
    pub route: &'static Route,
    query: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    body: Option<Value>,
}

/// Every way in which every route is called.
pub fn all() -> Vec<Sample> {
    ROUTES.iter().flat_map(ways::of).collect()
}

/// Those whose callers have keys.
pub fn keyed() -> Vec<Sample> {
    let keyed = |sample: &Sample| sample.route.is_keyed();
    all().into_iter().filter(keyed).collect()
}

/// The name of what an organization has.
const THING: &str = "thing";
/// The secret of the environment.
const SECRET: &str = "TOKEN";

/// A name that nothing has.
fn new_name() -> String {
    static NAMES: AtomicU32 = AtomicU32::new(0);
    format!("name-{}", NAMES.fetch_add(1, Ordering::Relaxed))
}

/// An empty workspace of a run.
pub fn work_dir(service: &TestService, run: &str) -> String {
    let org = service
        .dir
        .path()
        .join("workspaces")
        .join(service.org.as_str());
    let dir = org.join(run).join("workspace");
    std::fs::create_dir_all(&dir).unwrap();
    dir.display().to_string()
}

fn this_month(service: &TestService) -> String {
    Month::of(service.service.cloud.clock.now()).to_string()
}

fn plugin(id: &str) -> Value {
    json!({ "id": id, "command": ["true"] })
}

fn environment(name: &str) -> Value {
    json!({ "name": name, "secrets": [{ "name": SECRET, "phases": ["setup"] }] })
}

fn template(id: &str) -> Value {
    let source = json!({ "type": "git", "repository": "https://git.invalid/a.git" });
    json!({ "id": id, "name": "Ours", "source": source })
}

/// One way of calling each route whose callers have keys.
pub fn of_each_route() -> Vec<Sample> {
    let mut samples = keyed();
    samples.dedup_by_key(|sample| (sample.route.method, sample.route.path));
    samples
}

/// The id of a verification that nobody has asked for.
const VERIFICATION: &str = "ver_01k00000000000000000000000";
const ONCE: (&str, &str) = ("idempotency-key", "one-key");
const LIVE: (&str, &str) = ("accept", "text/event-stream");
/// The signature of the body that is sent.
const SIGNED: (&str, &str) = (inboxes::HEADER, "{signature}");
/// The gzip of nothing, in Base64.
pub const EMPTY_GZIP: &str = "H4sIAAAAAAACAwMAAAAAAAAAAAA=";

impl Sample {
    fn of(route: &'static Route) -> Sample {
        Sample {
            route,
            query: "",
            headers: Vec::new(),
            body: None,
        }
    }

    fn query(self, query: &'static str) -> Sample {
        Sample { query, ..self }
    }

    fn header(mut self, header: (&'static str, &'static str)) -> Sample {
        self.headers.push(header);
        self
    }

    fn body(self, body: Value) -> Sample {
        let body = Some(body);
        Sample { body, ..self }
    }

    /// True if the path names something that belongs to an organization.
    pub fn names_something(&self) -> bool {
        self.route.path.contains('{')
    }

    /// What is called, without ids.
    pub fn title(&self) -> String {
        let Route { method, path, .. } = self.route;
        let with = self.headers.iter().map(|(name, _)| format!(" + {name}"));
        let query = if self.query.is_empty() { "" } else { "?" };
        format!(
            "{method} {path}{query}{}{}",
            self.query,
            with.collect::<String>()
        )
    }

    /// True if a good call changes nothing.
    pub fn only_reads(&self) -> bool {
        self.route.method == "GET"
    }

    /// True if a good call is answered by a live stream.
    pub fn is_live(&self) -> bool {
        self.headers.contains(&LIVE)
    }

    /// Path and query, with these things named in them.
    pub fn target(&self, things: &Things) -> String {
        let mut before = "";
        let resource = self.route.path.split('/').nth(2).unwrap_or_default();
        let parts = self.route.path.split('/').map(|part| {
            let is_name = part.starts_with('{');
            let part = if is_name {
                things.after(resource, before)
            } else {
                part
            };
            before = if is_name { "" } else { part };
            part
        });
        let path = parts.collect::<Vec<_>>().join("/");
        match self.query {
            "" => path,
            query => format!("{path}?{}", things.named_in(query)),
        }
    }

    /// Its path with this for every name in it.
    pub fn with_id(&self, id: &str) -> String {
        let part = |part: &str| {
            if part.starts_with('{') {
                id.to_owned()
            } else {
                part.to_owned()
            }
        };
        let parts: Vec<String> = self.route.path.split('/').map(part).collect();
        parts.join("/")
    }

    /// Calls another path as it would be called.
    pub async fn send_to(&self, client: &Client, target: &str, things: &Things) -> Answer {
        let json = [("content-type", "application/json")];
        let headers = if self.body.is_some() { &json[..] } else { &[] };
        let sent = client.send(self.route.method, target, headers, self.sent(things));
        sent.await
    }

    /// The body as sent, with a nonce of these things and a name that nothing has where they are
    /// wanted.
    fn sent(&self, things: &Things) -> Vec<u8> {
        let nonce = format!("{}.{}.{}", things.org, things.run, "0".repeat(64));
        let text = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        let text = text.replace("{nonce}", &nonce);
        let text = text.replace("{org}", things.org.as_str());
        let text = text.replace("{workDir}", &things.work_dir);
        let text = text.replace("{inbox}", &things.inbox);
        text.replace("{new}", &new_name()).into_bytes()
    }

    /// Calls the route.
    pub async fn send(&self, client: &Client, things: &Things) -> Answer {
        self.send_with(client, things, &[]).await
    }

    /// Calls the route with more headers.
    pub async fn send_with(
        &self,
        client: &Client,
        things: &Things,
        more: &[(&str, &str)],
    ) -> Answer {
        let json = self
            .body
            .as_ref()
            .map(|_| ("content-type", "application/json"));
        let headers = self.headers.iter().copied().chain(json);
        let (target, body) = (self.target(things), self.sent(things));
        let signature = signature(&body);
        let signed = |(name, value)| {
            (
                name,
                if value == SIGNED.1 {
                    signature.as_str()
                } else {
                    value
                },
            )
        };
        let headers = headers.chain(more.iter().copied()).map(signed);
        let headers: Vec<(&str, &str)> = headers.collect();
        client
            .send(self.route.method, &target, &headers, body)
            .await
    }

    /// The same with a query that no route takes and, where there can be one, a broken body.
    pub async fn send_bad(&self, client: &Client, things: &Things) -> Answer {
        let target = self.target(things);
        let separator = if target.contains('?') { '&' } else { '?' };
        let target = format!("{target}{separator}nonsense=1");
        let body = if self.only_reads() { "" } else { "not json" };
        let headers = [("content-type", "application/json")];
        let sent = client.send(self.route.method, &target, &headers, body.into());
        sent.await
    }
}
