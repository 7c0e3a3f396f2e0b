//! `awo schedules`: work orders that the service creates at times of a timetable.

pub mod arguments;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::answers;
use crate::client::{Client, segment};
use crate::document;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::paint::clean_line;
use crate::submit::idempotency_key;
use arguments::{Action, ScheduleId};

const PATH: &str = "/v1/schedules";
/// As many as an organization has, and as many firings as a page has.
const MOST: u32 = 100;

#[derive(Deserialize)]
struct SchedulePage {
    schedules: Vec<Schedule>,
    total: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Schedule {
    id: String,
    name: String,
    cron: String,
    timezone: String,
    enabled: bool,
    next: Vec<String>,
    consecutive_failures: u32,
    #[serde(default)]
    paused_reason: Option<String>,
}

#[derive(Deserialize)]
struct FiringPage {
    firings: Vec<Firing>,
    total: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Firing {
    scheduled_for: String,
    result: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    work_order_id: Option<String>,
    #[serde(default)]
    count: Option<u32>,
    #[serde(default)]
    to: Option<String>,
}

impl Schedule {
    fn state(&self) -> String {
        match &self.paused_reason {
            Some(reason) => format!("paused: {reason}"),
            None if !self.enabled => "disabled".to_owned(),
            None if self.next.is_empty() => "ended".to_owned(),
            None => "active".to_owned(),
        }
    }
}

impl Firing {
    fn cause(&self) -> String {
        match (&self.reason, self.count, &self.to) {
            (Some(reason), ..) => reason.clone(),
            (None, Some(count), Some(to)) => format!("{count} until {to}"),
            _ => String::new(),
        }
    }
}

/// Executes the subcommand.
pub async fn run(client: &Client, action: &Action, output: &Output) -> Result<(), Failure> {
    match action {
        Action::List => list(client, output).await,
        Action::Get(schedule) => shown(&client.get(&path_of(schedule), &[]).await?, output),
        Action::Create { file } => {
            let body = Value::Object(document::read(file)?);
            let made = client.post(PATH, Some(&body), &idempotency_key(None)).await;
            written(&made.map_err(|f| f.of_file(file))?, "created", output)
        }
        Action::Update { schedule, file } => {
            let body = Value::Object(document::read(file)?);
            let put = client.put(&path_of(schedule), &body).await;
            written(&put.map_err(|f| f.of_file(file))?, "replaced", output)
        }
        Action::Fire(schedule) => fire(client, schedule, output).await,
        Action::Resume(schedule) => {
            let path = format!("{}/resume", path_of(schedule));
            let resumed = client
                .post(&path, Some(&json!({})), &idempotency_key(None))
                .await;
            written(&resumed?, "resumed", output)
        }
        Action::Firings(schedule) => firings(client, schedule, output).await,
        Action::Delete(schedule) => {
            client.delete(&path_of(schedule)).await?;
            output.remark(&format!("deleted {}", clean_line(&schedule.id)));
            Ok(())
        }
    }
}

fn path_of(schedule: &ScheduleId) -> String {
    format!("{PATH}/{}", segment(&schedule.id))
}

async fn list(client: &Client, output: &Output) -> Result<(), Failure> {
    let text = client.get(PATH, &[("limit", MOST.to_string())]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let page: SchedulePage = answers::read(&text)?;
    let mut grid = Grid::new(&[
        Column::whole("schedule", 0),
        Column::whole("cron", 1),
        Column::whole("time zone", 2),
        Column::whole("state", 0),
        Column::whole("next", 1),
        Column::number("failures", 3),
        Column::cut("name", 0),
    ]);
    for schedule in &page.schedules {
        let next = schedule.next.first().map(String::as_str);
        grid.row(vec![
            Entry::text(&schedule.id),
            Entry::text(&schedule.cron),
            Entry::text(&schedule.timezone),
            Entry::text(schedule.state()),
            next.map_or_else(|| Entry::text(""), |time| Entry::time(time, output)),
            Entry::text(schedule.consecutive_failures),
            Entry::text(&schedule.name),
        ]);
    }
    grid.show(page.total, "schedules", output)
}

fn shown(text: &str, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    let schedule: Value = answers::read(text)?;
    document::pretty(&schedule)
        .iter()
        .try_for_each(|line| output.line(line))
}

fn written(text: &str, what: &str, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    let schedule: Schedule = answers::read(text)?;
    output.line(&format!("{what} {}", clean_line(&schedule.id)))?;
    match schedule.next.first() {
        Some(next) => output.hint(&format!("It fires next at {}.", clean_line(next))),
        None => output.hint(&format!(
            "It does not fire: {}.",
            clean_line(&schedule.state())
        )),
    }
}

async fn fire(client: &Client, schedule: &ScheduleId, output: &Output) -> Result<(), Failure> {
    let path = format!("{}/fire", path_of(schedule));
    let fired = client
        .post(&path, Some(&json!({})), &idempotency_key(None))
        .await;
    let text = fired?;
    if output.is_json() {
        return output.line(&text);
    }
    let firing: Firing = answers::read(&text)?;
    let order = clean_line(firing.work_order_id.as_deref().unwrap_or_default());
    output.line(&format!("created {order}"))?;
    output.hint(&format!("To follow it: awo follow {order}"))
}

async fn firings(client: &Client, schedule: &ScheduleId, output: &Output) -> Result<(), Failure> {
    let path = format!("{}/firings", path_of(schedule));
    let text = client.get(&path, &[("limit", MOST.to_string())]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let page: FiringPage = answers::read(&text)?;
    let mut grid = Grid::new(&[
        Column::whole("scheduled for", 0),
        Column::whole("result", 0),
        Column::whole("work order", 1),
        Column::cut("reason", 0),
    ]);
    for firing in &page.firings {
        grid.row(vec![
            Entry::time(&firing.scheduled_for, output),
            Entry::text(&firing.result),
            Entry::text(firing.work_order_id.as_deref().unwrap_or_default()),
            Entry::text(firing.cause()),
        ]);
    }
    grid.show(page.total, "firings", output)
}
