//! Statements as CSV (RFC 4180).

use awo_domain::csv::cell;
use awo_domain::money::MicroCredits;
use awo_domain::statement::Statement;

/// Months, one a row.
pub fn months(all: &[Statement]) -> String {
    let mut text =
        "month,status,openingBalance,purchases,deductions,refunds,closingBalance,openHolds,\
                    closedAt,hash,previousHash\r\n"
            .to_owned();
    for of in all {
        let sums = sums(of).map(|(_, credits)| amount(credits)).join(",");
        let closed = of.closed_at.map(|at| at.to_string()).unwrap_or_default();
        let hash = of.hash.as_deref().unwrap_or_default();
        let previous = of.previous_hash.as_deref().unwrap_or_default();
        let status = status(of);
        text += &format!(
            "{},{status},{sums},{closed},{hash},{previous}\r\n",
            of.month
        );
    }
    text
}

/// A month, one amount a row.
pub fn month(of: &Statement) -> String {
    let mut text = "kind,tenant,label,model,runId,month,reference,credits\r\n".to_owned();
    let mut row = |kind: &str, cells: [&str; 6], credits: MicroCredits| {
        let cells = cells.map(cell).join(",");
        text += &format!("{kind},{cells},{}\r\n", amount(credits));
    };
    for (name, credits) in sums(of) {
        row(name, [""; 6], credits);
    }
    for one in &of.rows {
        row(
            "deduction",
            [&one.tenant, &one.label, &one.model, "", "", ""],
            one.credits,
        );
    }
    for one in &of.purchase_entries {
        let reference = one.reference.as_deref().unwrap_or_default();
        row("purchase", ["", "", "", "", "", reference], one.credits);
    }
    for one in &of.corrections {
        let kind = format!("correction:{}", one.kind.as_str());
        let month = one.month.to_string();
        row(
            &kind,
            ["", "", "", one.run_id.as_str(), &month, ""],
            one.credits,
        );
    }
    text
}

/// The sums of a statement, by their names.
pub fn sums(of: &Statement) -> [(&'static str, MicroCredits); 6] {
    [
        ("openingBalance", of.opening_balance),
        ("purchases", of.purchases),
        ("deductions", of.deductions),
        ("refunds", of.refunds),
        ("closingBalance", of.closing_balance),
        ("openHolds", of.open_holds),
    ]
}

/// The status as it is shown.
pub fn status(of: &Statement) -> &'static str {
    match of.closed_at {
        Some(_) => "closed",
        None => "open",
    }
}

/// Exact, with six places.
pub fn amount(credits: MicroCredits) -> String {
    let micro = credits.micro();
    let (sign, micro) = (if micro < 0 { "-" } else { "" }, micro.unsigned_abs());
    format!("{sign}{}.{:06}", micro / 1_000_000, micro % 1_000_000)
}
