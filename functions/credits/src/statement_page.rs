//! A statement as a page for print. It names what clients wrote (tenants, labels, models,
//! references): all of it is text.

use awo_domain::OrgId;
use awo_domain::statement::Statement;

use crate::statement_csv::{amount, status, sums};

const STYLE: &str = "body{font:12pt/1.4 system-ui,sans-serif;margin:2cm auto;max-width:24cm;padding:0 1cm}\
    table{border-collapse:collapse;width:100%;margin:.5cm 0}caption{text-align:left;font-weight:bold}\
    th,td{text-align:left;padding:.1cm .3cm;border-bottom:1px solid #999;overflow-wrap:anywhere}\
    .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}code{font-size:9pt}\
    @media print{body{margin:0}tr{break-inside:avoid}}";

/// The page.
pub fn page(of: &Statement, org: &OrgId) -> String {
    let title = format!("Statement {} of {org}", of.month);
    let holds = match of.closed_at {
        Some(_) => "Open holds at the end",
        None => "Open holds",
    };
    let named = [
        "Opening balance",
        "Purchases",
        "Deductions",
        "Refunds",
        "Closing balance",
        holds,
    ];
    let totals = named.into_iter().zip(sums(of));
    let totals = totals.map(|(name, (_, credits))| vec![name.to_owned(), amount(credits)]);
    let rows = of.rows.iter().map(|row| {
        let (tenant, label, model) = (row.tenant.clone(), row.label.clone(), row.model.clone());
        vec![tenant, label, model, amount(row.credits)]
    });
    let purchases = of.purchase_entries.iter().map(|one| {
        let reference = one.reference.clone().unwrap_or_default();
        vec![
            one.created_at.day(),
            one.id.to_string(),
            reference,
            amount(one.credits),
        ]
    });
    let corrections = of.corrections.iter().map(|one| {
        let (kind, run) = (one.kind.as_str().to_owned(), one.run_id.to_string());
        vec![one.month.to_string(), kind, run, amount(one.credits)]
    });
    let label = of.label.as_deref().unwrap_or("label");
    let mut body = format!(
        "<h1>{}</h1><p>{}. All amounts are credits.</p>",
        text(&title),
        standing(of)
    );
    body += &table("Totals", &["", "credits"], totals);
    body += &table("Deductions", &["tenant", label, "model", "credits"], rows);
    body += &table(
        "Purchases",
        &["day", "entry", "reference", "credits"],
        purchases,
    );
    body += &table(
        "Corrections of earlier months",
        &["month", "type", "run", "credits"],
        corrections,
    );
    body += &format!("<p>Price lists: {}</p>", text(&of.price_lists.join(", ")));
    body += &format!(
        "<p>Hash: <code>{}</code></p>",
        text(of.hash.as_deref().unwrap_or_default())
    );
    if let Some(previous) = &of.previous_hash {
        body += &format!(
            "<p>Hash of the month before: <code>{}</code></p>",
            text(previous)
        );
    }
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\
         <style>{STYLE}</style></head><body>{body}</body></html>\n",
        text(&title)
    )
}

fn standing(of: &Statement) -> String {
    match of.closed_at {
        Some(at) => format!("Closed at {at}: it does not change any more"),
        None => {
            let counted = of
                .as_of
                .map(|at| format!("; charges are counted up to {at}"));
            let counted = counted.unwrap_or_default();
            format!("This month is {}: it still changes{counted}", status(of))
        }
    }
}

/// A table whose last column is of numbers; nothing if it has no rows.
fn table(caption: &str, header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let row = |cells: &[String], tag: &str| {
        let last = cells.len().saturating_sub(1);
        let cells = cells.iter().enumerate().map(|(nth, cell)| {
            let class = if nth == last { " class=\"n\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", text(cell))
        });
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let body: String = rows.map(|cells| row(&cells, "td")).collect();
    if body.is_empty() {
        return String::new();
    }
    let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
    let header = row(&header, "th");
    let caption = text(caption);
    format!(
        "<table><caption>{caption}</caption><thead>{header}</thead><tbody>{body}</tbody></table>"
    )
}

/// Text that is nothing else.
fn text(of: &str) -> String {
    let mut escaped = String::with_capacity(of.len());
    for c in of.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
