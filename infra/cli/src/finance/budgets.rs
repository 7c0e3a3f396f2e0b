//! `awo finance budgets`: what may be spent, and how far it is.

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answers;
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::output::Output;
use crate::paint::clean_line;
use crate::quantity::{self, Credits};
use crate::read::field;
use crate::submit::idempotency_key;

const PATH: &str = "/v1/budgets";
/// More than an organization has.
const ALL: &str = "100";

#[derive(Debug, Args)]
pub struct Budgets {
    #[command(subcommand)]
    pub action: Option<BudgetsAction>,
}

#[derive(Debug, Subcommand)]
pub enum BudgetsAction {
    /// List the budgets, newest first
    List,
    /// Show a budget
    Show {
        /// Budget: bud_…
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Create a budget; earlier charges of its period count
    Create(BudgetContent),
    /// Replace a budget; fields that are not given are reset
    Update {
        /// Budget: bud_…
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        content: BudgetContent,
    },
    /// Delete a budget
    Delete {
        /// Budget: bud_…
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("scope").multiple(false))]
pub struct BudgetContent {
    /// Display name
    #[arg(long)]
    pub name: String,
    /// Maximum of spent and reserved credits in a period
    #[arg(long, value_name = "CREDITS", value_parser = quantity::credits)]
    pub limit: Credits,
    /// Period of the budget; once never ends
    #[arg(long, value_parser = ["day", "month", "quarter", "once"], default_value = "month")]
    pub period: String,
    /// Effect on a run that would exceed the limit: it is refused, waits, or begins
    #[arg(long, value_parser = ["block", "wait", "alert"], default_value = "block")]
    pub on_limit: String,
    /// Percentages of the limit at which webhooks get budget.threshold [default: 50,80,100]
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=100))]
    pub alerts_at: Option<Vec<u8>>,
    /// Only runs of this tenant
    #[arg(long, value_name = "ID", group = "scope")]
    pub tenant: Option<String>,
    /// Only runs of this user of the tenant
    #[arg(long, value_name = "ID", requires = "tenant")]
    pub tenant_user: Option<String>,
    /// Only runs of work orders that the key with this id created
    #[arg(long, value_name = "ID", group = "scope")]
    pub key: Option<String>,
    /// Only runs with this value of a cost label, such as team=red
    #[arg(long, value_name = "NAME=VALUE", group = "scope", value_parser = label)]
    pub label: Option<(String, String)>,
}

fn label(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or("must be a cost label, = and a value, such as team=red")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl BudgetContent {
    fn body(&self) -> Value {
        let mut scope = Map::new();
        let ids = [
            ("tenantId", &self.tenant),
            ("tenantUserId", &self.tenant_user),
            ("keyId", &self.key),
        ];
        for (name, id) in ids {
            if let Some(id) = id {
                scope.insert(name.to_owned(), json!(id));
            }
        }
        if let Some((name, value)) = &self.label {
            scope.insert("label".to_owned(), json!({ "name": name, "value": value }));
        }
        let mut body = json!({
            "name": self.name,
            "scope": scope,
            "period": self.period,
            "limitCredits": self.limit,
            "onLimit": self.on_limit,
        });
        if let Some(alerts) = &self.alerts_at {
            body["alertsAt"] = json!(alerts);
        }
        body
    }
}

#[derive(Debug, Deserialize)]
struct List {
    budgets: Vec<Budget>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Budget {
    id: String,
    name: String,
    scope: Map<String, Value>,
    period: String,
    on_limit: String,
    alerts_at: Vec<u8>,
    period_start: String,
    period_end: Option<String>,
    limit_credits: f64,
    spent_credits: f64,
    reserved_credits: f64,
    remaining_credits: f64,
    forecast_credits: f64,
}

/// Executes the subcommand; the default lists the budgets.
pub async fn run(client: &Client, wanted: &Budgets, output: &Output) -> Result<(), Failure> {
    match wanted.action.as_ref().unwrap_or(&BudgetsAction::List) {
        BudgetsAction::List => list(client, output).await,
        BudgetsAction::Show { id } => show(&client.get(&path(id), &[]).await?, output),
        BudgetsAction::Create(content) => {
            let (body, key) = (content.body(), idempotency_key(None));
            show(&client.post(PATH, Some(&body), &key).await?, output)
        }
        BudgetsAction::Update { id, content } => {
            show(&client.put(&path(id), &content.body()).await?, output)
        }
        BudgetsAction::Delete { id } => client.delete(&path(id)).await.map(drop),
    }
}

fn path(id: &str) -> String {
    format!("{PATH}/{id}")
}

async fn list(client: &Client, output: &Output) -> Result<(), Failure> {
    let text = client.get(PATH, &[("limit", ALL.to_owned())]).await?;
    if output.is_json() {
        return output.line(&text);
    }
    let answer: List = answers::read(&text)?;
    let mut grid = Grid::new(&[
        Column::whole("budget", 0),
        Column::cut("name", 0),
        Column::cut("scope", 2),
        Column::whole("period", 1),
        Column::whole("on limit", 3),
        Column::number("spent", 0),
        Column::number("reserved", 1),
        Column::number("limit", 0),
        Column::number("forecast", 2),
        Column::bar("share"),
    ]);
    for budget in &answer.budgets {
        let committed = budget.spent_credits + budget.reserved_credits;
        grid.row(vec![
            Entry::text(&budget.id),
            Entry::text(&budget.name),
            Entry::text(scope(&budget.scope)),
            Entry::text(&budget.period),
            Entry::text(&budget.on_limit),
            Entry::text(budget.spent_credits),
            Entry::text(budget.reserved_credits),
            Entry::text(budget.limit_credits),
            Entry::text(budget.forecast_credits),
            Entry::bar(committed.min(budget.limit_credits), budget.limit_credits),
        ]);
    }
    grid.show_rows("budgets", output)
}

fn scope(of: &Map<String, Value>) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let part = |(name, value): (&String, &Value)| match name.as_str() {
        "label" => format!("{}={}", text(&value["name"]), text(&value["value"])),
        name => format!("{}={}", name.trim_end_matches("Id"), text(value)),
    };
    if of.is_empty() {
        "organization".to_owned()
    } else {
        of.iter().map(part).collect::<Vec<_>>().join(" ")
    }
}

fn show(text: &str, output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.line(text);
    }
    let budget: Budget = answers::read(text)?;
    let until = budget.period_end.as_deref().unwrap_or("no end");
    let alerts: Vec<String> = budget.alerts_at.iter().map(|p| format!("{p} %")).collect();
    field(output, "budget", clean_line(&budget.id))?;
    field(output, "name", clean_line(&budget.name))?;
    field(output, "scope", clean_line(&scope(&budget.scope)))?;
    let period = format!("{}: {} to {until}", budget.period, budget.period_start);
    field(output, "period", clean_line(&period))?;
    field(
        output,
        "limit",
        format!("{} credits, {}", budget.limit_credits, budget.on_limit),
    )?;
    field(output, "spent", format!("{} credits", budget.spent_credits))?;
    field(
        output,
        "reserved",
        format!("{} credits", budget.reserved_credits),
    )?;
    field(
        output,
        "remaining",
        format!("{} credits", budget.remaining_credits),
    )?;
    field(
        output,
        "forecast",
        format!("{} credits", budget.forecast_credits),
    )?;
    field(output, "alerts at", alerts.join(", "))
}
