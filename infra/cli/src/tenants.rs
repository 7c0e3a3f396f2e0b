//! `awo usage --by tenant`: each tenant's charges, summed up from the ledger's entries.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::answers::{self, Transactions};
use crate::arguments::{Part, Usage};
use crate::client::Client;
use crate::failure::Failure;
use crate::grid::{Column, Entry, Grid};
use crate::list::pages;
use crate::output::Output;
use crate::read::field;
use crate::screen::Screen;

const PATH: &str = "/v1/credits/usage";
const EVERYTHING: Part = Part {
    limit: 100,
    all: true,
};
/// What stands for work orders without a tenant.
const NOBODY: &str = "(no tenant)";

/// What a tenant was charged, in micro-credits.
#[derive(Debug, Default, PartialEq)]
struct Charged {
    runs: u64,
    deducted: i64,
    refunded: i64,
}

/// Shows what tenants were charged in a period.
pub async fn run(client: &Client, wanted: &Usage, output: &Output) -> Result<(), Failure> {
    if wanted.csv || wanted.model.is_some() || wanted.run.is_some() || wanted.work_order.is_some() {
        let why = "--by tenant sums up the ledger: only --from and --to narrow it";
        return Err(Failure::Usage(why.to_owned()));
    }
    let dates = [("startDate", &wanted.from), ("endDate", &wanted.to)];
    let dates = dates.into_iter();
    let query = dates.filter_map(|(name, value)| Some((name, value.clone()?)));
    let reading = pages(client, PATH, "transactions", query.collect(), &EVERYTHING);
    let text = Screen::during(output, "reading the ledger".to_owned(), reading).await?;
    let tenants = by_tenant(&answers::read(&text)?);
    if output.is_json() {
        return output.line(&shape(&tenants).to_string());
    }
    show(&tenants, output)
}

fn by_tenant(entries: &Transactions) -> BTreeMap<String, Charged> {
    let mut tenants: BTreeMap<String, Charged> = BTreeMap::new();
    for entry in &entries.transactions {
        let name = entry.tenant_id.as_deref().unwrap_or(NOBODY);
        let of = |tenants: &mut BTreeMap<String, Charged>| {
            std::mem::take(tenants.entry(name.to_owned()).or_default())
        };
        let amount = micro(entry.amount);
        let charged = match entry.kind.as_str() {
            "deduction" => {
                let so_far = of(&mut tenants);
                Charged {
                    runs: so_far.runs + 1,
                    deducted: so_far.deducted + amount,
                    ..so_far
                }
            }
            "refund" => {
                let so_far = of(&mut tenants);
                Charged {
                    refunded: so_far.refunded + amount,
                    ..so_far
                }
            }
            _ => continue,
        };
        tenants.insert(name.to_owned(), charged);
    }
    tenants
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "credits have at most six places and stay far below 2^53 micro-credits"
)]
fn micro(credits: f64) -> i64 {
    (credits * 1e6).round() as i64
}

#[expect(clippy::cast_precision_loss, reason = "sums are shown, not added up")]
fn credits(micro: i64) -> f64 {
    micro as f64 / 1e6
}

fn shape(tenants: &BTreeMap<String, Charged>) -> Value {
    let one = |(name, charged): (&String, &Charged)| {
        json!({
            "tenantId": (name != NOBODY).then_some(name),
            "runs": charged.runs,
            "credits": credits(charged.deducted),
            "refunded": credits(charged.refunded),
        })
    };
    json!({ "tenants": tenants.iter().map(one).collect::<Vec<_>>() })
}

fn show(tenants: &BTreeMap<String, Charged>, output: &Output) -> Result<(), Failure> {
    let most = tenants.values().map(|of| of.deducted).max().unwrap_or(0);
    let mut grid = Grid::new(&[
        Column::cut("tenant", 0),
        Column::number("runs", 0),
        Column::number("credits", 0),
        Column::number("refunded", 1),
        Column::bar("share"),
    ]);
    for (name, charged) in tenants {
        grid.row(vec![
            Entry::text(name),
            Entry::text(charged.runs),
            Entry::text(credits(charged.deducted)),
            Entry::text(credits(charged.refunded)),
            Entry::bar(credits(charged.deducted), credits(most)),
        ]);
    }
    grid.show_rows("charges", output)?;
    if output.is_for_programs() {
        return Ok(());
    }
    output.line("")?;
    let all: i64 = tenants.values().map(|of| of.deducted - of.refunded).sum();
    field(output, "charged", format!("{} credits", credits(all)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deductions_and_refunds_are_added_up_by_tenant_and_purchases_are_not_theirs() {
        let entry = |kind: &str, amount: f64, tenant: Option<&str>| json!({ "id": "txn_1", "type": kind, "amount": amount, "createdAt": "x", "tenantId": tenant });
        let entries = json!({ "total": 5, "transactions": [
            entry("deduction", 0.1, Some("a")),
            entry("deduction", 0.2, Some("a")),
            entry("refund", 0.05, Some("a")),
            entry("deduction", 1.0, None),
            entry("purchase", 100.0, None),
        ] });
        let tenants = by_tenant(&answers::read(&entries.to_string()).unwrap());
        let a = Charged {
            runs: 2,
            deducted: 300_000,
            refunded: 50_000,
        };
        let nobody = Charged {
            runs: 1,
            deducted: 1_000_000,
            refunded: 0,
        };
        let wanted = [("a".to_owned(), a), (NOBODY.to_owned(), nobody)];
        assert_eq!(tenants, wanted.into());
        assert_eq!(shape(&tenants)["tenants"][0]["tenantId"], Value::Null);
    }
}
