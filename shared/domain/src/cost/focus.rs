//! Charges as FOCUS 1.2 (FinOps Open Cost and Usage Specification) has them: a row for each run, model and
//! meter, for compute, for refunds and for purchases.
//!
//! Credits are prepaid: a purchase is billed and has no effective cost; usage has effective cost and is not
//! billed. A refund is usage with a negative sign. So the effective cost in credits of all rows of usage is
//! deductions less refunds, to the micro-credit. A row depends on nothing but what was stored once, so it is
//! the same at each export.

mod row;

pub use row::{COLUMNS, FocusCell, FocusRow};

use super::measures::{Measures, apportion};
use super::record::{COMPUTE, CostRecord, Part};
use crate::money::MicroCredits;
use crate::{OrgId, Timestamp, TransactionId};

/// The name of the service in a bill.
const PROVIDER: &str = "Agent Work Order Service";
/// The virtual currency, and the unit that is priced.
const CREDITS: &str = "Credits";
/// Places of a credit's price in dollars, and of a cost in dollars: a micro-credit at that price.
const PRICE_PLACES: usize = 12;
const COST_PLACES: usize = 18;
const HOUR_MS: i64 = 3_600_000;

/// By how much a token of a meter weighs where a model's credits are divided by meter. The ledger has one
/// amount of a run and model; a token that is read from a cache costs about a tenth, one of output about
/// five times as much as one of input.
const METERS: [(&str, &str, i64); 3] = [
    ("input", "Input Tokens", 10),
    ("cached-input", "Cached Input Tokens", 1),
    ("output", "Output Tokens", 50),
];

/// What a credit was worth, from its time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreditPrice {
    /// From this moment on.
    pub from: Timestamp,
    /// Credits for a dollar.
    pub credits_per_usd: MicroCredits,
}

/// The account that rows are of.
#[derive(Debug, Clone)]
pub struct Account<'a> {
    /// The organization.
    pub org: &'a OrgId,
    /// What a credit was worth, oldest first; before the first one, as then.
    pub prices: &'a [CreditPrice],
}

/// A purchase of credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FocusPurchase {
    /// The ledger entry's id.
    pub id: TransactionId,
    /// When it was made.
    pub at: Timestamp,
    /// What was bought.
    pub amount: MicroCredits,
    /// An invoice, an order, a ticket.
    pub reference: Option<String>,
}

/// What is charged in a row.
struct Line<'a> {
    sku: String,
    meter: &'a str,
    model: Option<&'a str>,
    /// Quantity and unit of what was consumed.
    consumed: Option<(i64, &'a str)>,
    /// Before a hold limited it, and what was charged.
    list_micro: i64,
    effective_micro: i64,
}

impl Account<'_> {
    /// The rows of a settlement or a refund. `corrects` states that a refund's run was charged in an earlier
    /// billing period.
    #[must_use]
    pub fn charges(&self, record: &CostRecord, corrects: bool) -> Vec<FocusRow> {
        let lines = record.parts.iter().flat_map(|part| {
            if record.is_refund {
                vec![refund(part)]
            } else {
                lines(part)
            }
        });
        let rows = lines.map(|line| {
            let mut row = self.row(&record.id, record.at, &line);
            row.text("ChargeCategory", "Usage");
            row.text("ChargeFrequency", "Usage-Based");
            row.number("BilledCost", 0, 0);
            row.number(
                "PricingCurrencyEffectiveCost",
                line.effective_micro.into(),
                6,
            );
            let effective = self.usd(record.at, line.effective_micro);
            row.number("EffectiveCost", effective, COST_PLACES);
            if corrects {
                row.text("ChargeClass", "Correction");
            }
            service(&mut row, line.model);
            attribute(&mut row, record);
            row
        });
        rows.collect()
    }

    /// The row of a purchase.
    #[must_use]
    pub fn purchase(&self, purchase: &FocusPurchase) -> FocusRow {
        let amount = purchase.amount.micro();
        let line = Line {
            sku: "credits/purchase".to_owned(),
            meter: "Credits",
            model: None,
            consumed: None,
            list_micro: amount,
            effective_micro: 0,
        };
        let mut row = self.row(&purchase.id, purchase.at, &line);
        row.text("ChargeCategory", "Purchase");
        row.text("ChargeFrequency", "One-Time");
        row.text("ChargeDescription", "Purchase of credits");
        row.number("BilledCost", self.usd(purchase.at, amount), COST_PLACES);
        row.number("EffectiveCost", 0, 0);
        row.number("PricingCurrencyEffectiveCost", 0, 0);
        row.text("ServiceName", "Credits");
        row.text("ServiceCategory", "Other");
        row.text("ServiceSubcategory", "Other (Other)");
        row.some_text("x_Reference", purchase.reference.as_deref());
        row
    }

    /// What all rows have.
    fn row(&self, id: &TransactionId, at: Timestamp, line: &Line<'_>) -> FocusRow {
        let mut row = FocusRow::default();
        for column in ["ProviderName", "PublisherName", "InvoiceIssuerName"] {
            row.text(column, PROVIDER);
        }
        for column in ["BillingAccountId", "BillingAccountName"] {
            row.text(column, self.org.as_str());
        }
        row.text("BillingAccountType", "Organization");
        let hour = at.plus_ms(-at.epoch_ms().rem_euclid(HOUR_MS));
        let periods = [
            ("BillingPeriodStart", super::report::month(at, 0)),
            ("BillingPeriodEnd", super::report::month(at, 1)),
            ("ChargePeriodStart", hour),
            ("ChargePeriodEnd", hour.plus_ms(HOUR_MS)),
        ];
        for (column, moment) in periods {
            // To the second, as FOCUS has it.
            let text = moment.to_string();
            row.text(column, format!("{}Z", &text[..text.len() - ".000Z".len()]));
        }
        let price = self.price(at);
        let list = i128::from(line.list_micro) * price;
        for column in ["ListCost", "ContractedCost"] {
            row.number(column, list, COST_PLACES);
        }
        for column in ["ListUnitPrice", "ContractedUnitPrice"] {
            row.number(column, price, PRICE_PLACES);
        }
        let in_credits = "PricingCurrencyListUnitPrice";
        for column in ["PricingCurrencyContractedUnitPrice", in_credits] {
            row.number(column, 1, 0);
        }
        row.text("PricingCategory", "Standard");
        row.number("PricingQuantity", line.list_micro.into(), 6);
        row.text("PricingUnit", CREDITS);
        row.text("PricingCurrency", CREDITS);
        row.text("BillingCurrency", "USD");
        if let Some((quantity, unit)) = line.consumed {
            row.number("ConsumedQuantity", quantity.into(), 0);
            row.text("ConsumedUnit", unit);
        }
        row.text("SkuId", &line.sku);
        row.text("SkuPriceId", &line.sku);
        row.text("SkuMeter", line.meter);
        row.text("x_TransactionId", id.as_str());
        row
    }

    /// What a credit was worth in dollars, in units of [`PRICE_PLACES`].
    fn price(&self, at: Timestamp) -> i128 {
        let known = self.prices.iter().rev().find(|price| price.from <= at);
        let price = known.or(self.prices.first());
        let micro = price.map_or(0, |price| i128::from(price.credits_per_usd.micro()));
        match micro {
            0 => 0,
            micro => (1_000_000_000_000_000_000 + micro / 2) / micro,
        }
    }

    fn usd(&self, at: Timestamp, micro: i64) -> i128 {
        i128::from(micro) * self.price(at)
    }
}

/// What a run is charged for a model, by meter, or for compute.
fn lines(part: &Part) -> Vec<Line<'_>> {
    let of = &part.measures;
    if part.model == COMPUTE {
        let line = Line {
            sku: "compute/time".to_owned(),
            meter: "Compute Time",
            model: None,
            consumed: Some((of.compute_seconds, "Seconds")),
            list_micro: of.compute_micro,
            effective_micro: of.credits_micro,
        };
        return if is_nothing(&line) {
            Vec::new()
        } else {
            vec![line]
        };
    }
    let fresh = of.input_tokens - of.cached_input_tokens;
    let tokens = [fresh, of.cached_input_tokens, of.output_tokens];
    if tokens == [0; 3] {
        return vec![of_model(
            part,
            ("use", "Model Use"),
            (0, of.model_micro, of.credits_micro),
        )];
    }
    let weigh = |(tokens, (_, _, weight)): (&i64, &(_, _, i64))| tokens.saturating_mul(*weight);
    let weights: Vec<i64> = tokens.iter().zip(&METERS).map(weigh).collect();
    let list = apportion(of.model_micro, &weights);
    let effective = apportion(of.credits_micro, &list);
    let meters = METERS
        .iter()
        .zip(tokens)
        .zip(list.into_iter().zip(effective));
    let lines = meters.map(|(((sku, meter, _), tokens), (list, effective))| {
        of_model(part, (sku, meter), (tokens, list, effective))
    });
    lines.filter(|line| !is_nothing(line)).collect()
}

fn is_nothing(line: &Line<'_>) -> bool {
    (line.list_micro, line.effective_micro) == (0, 0) && line.consumed.is_none_or(|of| of.0 == 0)
}

fn of_model<'a>(
    part: &'a Part,
    (sku, meter): (&str, &'a str),
    (tokens, list_micro, effective_micro): (i64, i64, i64),
) -> Line<'a> {
    Line {
        sku: format!("model/{}/{sku}", part.model),
        meter,
        model: Some(&part.model),
        consumed: Some((tokens, "Tokens")),
        list_micro,
        effective_micro,
    }
}

/// What is given back of a part.
fn refund(part: &Part) -> Line<'_> {
    let Measures { refunds_micro, .. } = part.measures;
    let model = Some(part.model.as_str()).filter(|model| *model != COMPUTE);
    let of = model.map_or("compute".to_owned(), |model| format!("model/{model}"));
    Line {
        sku: format!("{of}/refund"),
        meter: "Refund",
        model,
        consumed: Some((0, if model.is_some() { "Tokens" } else { "Seconds" })),
        list_micro: -refunds_micro,
        effective_micro: -refunds_micro,
    }
}

fn service(row: &mut FocusRow, model: Option<&str>) {
    let (name, category, subcategory) = match model {
        Some(_) => ("Models", "AI and Machine Learning", "Generative AI"),
        None => ("Compute", "Compute", "Containers"),
    };
    row.text("ServiceName", name);
    row.text("ServiceCategory", category);
    row.text("ServiceSubcategory", subcategory);
    row.some_text("x_Model", model);
}

/// Its run, and the run's dimensions.
fn attribute(row: &mut FocusRow, record: &CostRecord) {
    let meter = match row.cell("SkuMeter") {
        Some(FocusCell::Text(meter)) => meter.clone(),
        _ => String::new(),
    };
    let of = match row.cell("x_Model") {
        Some(FocusCell::Text(model)) => format!("{model}: "),
        _ => String::new(),
    };
    let run = record.run_id.as_str();
    let (kind, described) = match &record.verification_id {
        None => ("Run", run.to_owned()),
        Some(verification) => ("Verification", format!("{verification} of {run}")),
    };
    row.text("ChargeDescription", format!("{of}{meter} of {described}"));
    row.text("ResourceId", record.settled_as());
    row.text("ResourceType", kind);
    if let Some(tenant) = &record.tenant_context {
        row.text("SubAccountId", &tenant.tenant_id);
        row.text("SubAccountName", &tenant.tenant_id);
        row.text("SubAccountType", "Tenant");
        row.some_text("x_TenantUserId", tenant.tenant_user_id.as_deref());
    }
    let order = record.work_order_id.as_ref().map(|id| id.as_str());
    row.some_text("x_WorkOrderId", order);
    row.some_text("x_Outcome", record.outcome_name());
    if let Some(of) = &record.attribution {
        row.text("x_Repository", &of.repository);
        row.text("x_Agent", &of.agent);
        row.text("x_Harness", &of.harness);
        row.some_text("x_KeyId", of.key_id.as_deref());
        if !of.labels.is_empty() {
            // Text by text always serialises.
            row.text(
                "Tags",
                serde_json::to_string(&of.labels).unwrap_or_default(),
            );
        }
    }
}

#[cfg(test)]
mod tests;
