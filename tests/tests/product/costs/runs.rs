//! A run from its work order to its slot's return: each invocation of each function.

use awo_domain::WebhookId;
use awo_domain::webhook::EventType;
use awo_domain::webhook::WebhookContent;
use awo_domain::webhook::WebhookKind;
use awo_domain::webhook::address::Reach;
use awo_domain::webhook::headers::SecretHeaders;
use awo_domain::webhook::target::WebhookUrl;
use awo_store::webhooks::Webhook;
use awo_tests::functions::Functions;
use awo_tests::receiver::{Answer, Receiver};
use awo_tests::recorder::Recorder;
use awo_tests::world::World;
use serde_json::{Value, json};

use super::{Row, table, table_with_sum};
use crate::authorisation::samples::EMPTY_GZIP;
use crate::story::Step::{
    self, Cancel, Claim, Create, Dispatch, Finish, Report, Start, Stopped, TaskStopped,
};
use crate::story::Story;

const RUN: [Step; 6] = [Create, Dispatch, Claim, Report, Finish, TaskStopped];
const CANCELED: [Step; 7] = [Create, Start, Claim, Report, Cancel, Stopped, TaskStopped];

pub async fn write(text: &mut String) {
    let all = [
        (
            "A run",
            "Every invocation of a run that succeeds in one iteration, with the messages that come of it.",
            &RUN[..],
            &[][..],
        ),
        (
            "A run with a webhook",
            "The same for an organization with one webhook, which gets the run's end.",
            &RUN,
            &[EventType::RunCompleted],
        ),
        (
            "A run with a webhook of all events",
            "The same with one webhook that gets every event.",
            &RUN,
            &EventType::ALL,
        ),
        (
            "A run that is started and canceled",
            "A client starts what waits, and cancels it while it runs.",
            &CANCELED,
            &[],
        ),
    ];
    for (title, says, steps, events) in all {
        table_with_sum(text, title, says, &measured(steps, events).await);
    }
    let says = "Nothing is due: what each minute costs a deployment in which nothing happens.";
    table(text, "The schedule", says, &[sweep().await]);
}

async fn sweep() -> Row {
    let (world, recorder) = (World::new().await, Recorder::default());
    let functions = world.functions(recorder.client(world.http.clone()));
    functions.sweep().await.unwrap();
    ("sweep".to_owned(), recorder.take())
}

/// The story, measured.
struct MeasuredStory<'a> {
    story: Story<'a>,
    functions: Functions,
    recorder: Recorder,
    rows: Vec<Row>,
}

/// These steps in a world of their own, in an organization with one webhook of these events, or
/// none.
async fn measured(steps: &[Step], events: &[EventType]) -> Vec<Row> {
    let (world, receiver) = (
        World::new().await,
        Receiver::start(&[Answer::Status(204)]).await,
    );
    let recorder = Recorder::default();
    let mut measured_story = MeasuredStory {
        story: Story::new(&world).await,
        functions: world.functions(recorder.client(world.http.clone())),
        recorder,
        rows: Vec::new(),
    };
    measured_story.begin_window().await;
    if !events.is_empty() {
        measured_story.webhook(&receiver, events).await;
    }
    for step in steps {
        measured_story.goes(*step).await;
    }
    measured_story.rows
}

fn report(number: u32, event: &Value) -> Value {
    let at = "2026-11-20T08:00:02.000Z";
    json!({ "events": [{ "number": number, "at": at, "event": event }] })
}

impl MeasuredStory<'_> {
    /// The key is used in a window of the rate limit that has some time left.
    async fn begin_window(&self) {
        let (world, org) = (self.story.world, &self.story.org);
        let clock = &world.cloud.clock;
        clock.advance(60_000 - clock.now().epoch_ms() % 60_000);
        world
            .sound
            .cancel(org, "wo_01k00000000000000000000000")
            .await;
    }

    async fn webhook(&self, receiver: &Receiver, events: &[EventType]) {
        let (world, org) = (self.story.world, &self.story.org.id);
        let (cloud, now) = (&world.cloud, world.cloud.clock.now());
        let content = WebhookContent {
            url: WebhookUrl::parse(&receiver.url, Reach::PublicAndLoopback).unwrap(),
            events: events.to_vec(),
            description: None,
            kind: WebhookKind::Events,
            headers: SecretHeaders::default(),
        };
        let id = WebhookId::new(now, cloud.mint.random(now));
        let webhook = Webhook::new(id, content, cloud.mint.webhook_secret(), now);
        let made = world.store.create_webhook(org, &webhook, None).await;
        made.unwrap();
    }

    fn note(&mut self, what: &str) {
        self.rows.push((what.to_owned(), self.recorder.take()));
    }

    /// A step, and the workers that it wakes. A start or a dispatch is the step that gives the slot.
    async fn goes(&mut self, step: Step) {
        self.story.prepare(step).await;
        self.recorder.take();
        let done = match step {
            Finish => {
                self.finish(&json!({ "type": "succeeded", "commit": "c1" }))
                    .await
            }
            Stopped => {
                self.finish(&json!({ "type": "stopped", "forced": false }))
                    .await
            }
            _ => self.story.once(step, &self.functions).await,
        };
        assert!(done, "{step:?}");
        self.note(match step {
            Create => "create-work-order",
            Start => "start-run",
            Dispatch => "dispatch-runs",
            Claim => "control: claim",
            Report => "control: report that the first iteration starts",
            Finish | Stopped => "control: finish",
            Cancel => "cancel-work-order",
            _ => "task-stopped",
        });
        if step == Report {
            self.runs().await;
        }
        self.deliveries().await;
        if step == TaskStopped {
            self.story.world.deliver_wake_ups(&self.functions).await;
            self.note("dispatch-runs, of the slot that came back");
        } else if step != Create {
            self.story.world.lose_wake_ups().await;
        }
    }

    /// What a runner sends while it runs.
    async fn runs(&mut self) {
        let finished = json!({
            "type": "agentFinished", "iteration": 1, "completed": true, "durationMs": 5, "usage": [],
        });
        let diff = json!({
            "iteration": 1, "baseCommit": "c0", "commit": "c1", "diff": EMPTY_GZIP, "bytes": 0,
        });
        let log = json!({ "iteration": 1, "output": EMPTY_GZIP, "bytes": 0 });
        let sent = [
            ("a heartbeat", "report", json!({ "events": [] })),
            ("report of one event", "report", report(3, &finished)),
            ("log of an iteration", "logs", log),
            ("diff of an iteration", "diff", diff),
        ];
        for (title, what, body) in sent {
            assert!(
                self.story.sends(&self.functions, what, &body).await,
                "{title}"
            );
            self.note(&format!("control: {title}"));
        }
    }

    /// The runner's last report, with an event in it.
    async fn finish(&self, outcome: &Value) -> bool {
        let mut body = report(4, &json!({ "type": "deliverySkipped", "reason": "test" }));
        body["outcome"] = outcome.clone();
        body["iterations"] = json!(1);
        body["usage"] = json!([{
            "usage": { "model": "gpt-4o", "inputTokens": 1000, "outputTokens": 100 },
            "costUsdNano": 3_500_000,
        }]);
        self.story.sends(&self.functions, "finish", &body).await
    }

    /// The deliverer, as often as there are messages for it.
    async fn deliveries(&mut self) {
        while self
            .story
            .world
            .deliver_notifications(&self.functions)
            .await
        {
            self.note("deliver-webhooks");
        }
    }
}
