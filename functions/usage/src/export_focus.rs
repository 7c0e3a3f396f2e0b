//! `GET /v1/exports/focus`: the charges of a month or a day as FOCUS 1.2 has them, as CSV, streamed. Each
//! row comes of what was stored once, and rows stand in the order of time, so a day that is over is exported
//! byte for byte the same each time.

use std::sync::Arc;

use awo_cloud::{Cloud, Mint, SetupError, settings};
use awo_domain::cost::focus::{Account, COLUMNS, CreditPrice, FocusCell, FocusPurchase, FocusRow};
use awo_domain::cost::report::month;
use awo_domain::money::MicroCredits;
use awo_domain::span::Span;
use awo_domain::time::DAY_MS;
use awo_domain::{Error, OrgId, Timestamp, TransactionId};
use awo_http::query::Query;
use awo_http::{Call, Reply, StreamingFunction, routes};
use awo_store::Store;
use awo_store::capacity::call_permits::LongCall;
use awo_store::ledger::charges::{ChargeEntry, ChargePage};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};

use awo_domain::csv::cell;

const CSV: &str = "text/csv; charset=utf-8; header=present";
const MONTH: &str = "must be a month such as 2026-11";
const DAY: &str = "must be a day of the month in two digits, such as 20";
/// The last line of an export that broke off: it is no row, so that nothing takes the rest for all.
const INCOMPLETE: &str = "# incomplete: the export failed here; please repeat the request\r\n";

struct State {
    store: Store,
    mint: Mint,
    credits_per_usd: MicroCredits,
}

/// The inputs of an export's rows.
struct Export {
    store: Store,
    org: OrgId,
    span: Span,
    prices: Vec<CreditPrice>,
}

/// The function `export-focus`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<StreamingFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        mint: cloud.mint.clone(),
        credits_per_usd: settings::rates(&cloud.environment)?.credits_per_usd,
    };
    StreamingFunction::keyed(cloud, &routes::EXPORT_FOCUS, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Reply, Error> {
    let query = call.query();
    let span = span(&query);
    query.finish()?;
    let span = span.unwrap_or_default();
    let (store, org) = (state.store.clone(), call.org().clone());
    let holder = format!("{}-{}", call.request_id, state.mint.secret());
    let permit = store
        .take_call_permit(&org, LongCall::Export, &holder, call.now)
        .await?;
    // What fails at the first page fails with a status.
    let first = tokio::try_join!(store.credit_prices(), store.charges(&org, span, None));
    let (prices, first) = match first {
        Ok(first) => first,
        Err(error) => {
            permit.give_back().await;
            return Err(error);
        }
    };
    let export = Export {
        prices: prices_or_present(prices, state.credits_per_usd),
        store,
        org,
        span,
    };
    let header = Bytes::from(format!("{}\r\n", COLUMNS.join(",")));
    let pieces = stream::iter([header]).chain(rows(export, first));
    Ok(Reply::stream(CSV, permit.until_end_of(pieces)))
}

/// A month, or a day of it.
fn span(query: &Query) -> Option<Span> {
    let from = query.parsed("month", MONTH, |text| {
        let day = Timestamp::parse_bound(&format!("{text}-01")).ok()?;
        (text.len() == "2026-11".len()).then_some(day)
    });
    let day = query.parsed("day", DAY, |text| {
        let number: i64 = text.parse().ok()?;
        (text.len() == 2 && (1..=31).contains(&number)).then_some(number)
    });
    let Some(from) = from else {
        query.fault("month", MONTH);
        return None;
    };
    let until = month(from, 1);
    let span = |from, until| Span {
        from: Some(from),
        until: Some(until),
    };
    let Some(day) = day else {
        return Some(span(from, until));
    };
    let from = from.plus_ms((day - 1) * DAY_MS);
    if from >= until {
        query.fault("day", "is not a day of this month");
        return None;
    }
    Some(span(from, from.plus_ms(DAY_MS)))
}

/// The present rate, where no sweep has noted one.
fn prices_or_present(prices: Vec<CreditPrice>, present: MicroCredits) -> Vec<CreditPrice> {
    if !prices.is_empty() {
        prices
    } else {
        vec![CreditPrice {
            from: Timestamp::from_epoch_ms(0),
            credits_per_usd: present,
        }]
    }
}

/// Page by page, each as one piece.
fn rows(export: Export, first: ChargePage) -> impl Stream<Item = Bytes> + Send {
    stream::unfold(Some((export, first)), |at| async {
        let (export, page) = at?;
        let text = export.text(&page.charges);
        let Some(next) = page.next else {
            return Some((text.into(), None));
        };
        match export.page(&next).await {
            Ok(page) => Some((text.into(), Some((export, page)))),
            Err(error) => {
                tracing::error!(
                    event = "export_failed",
                    ?error,
                    "an export ended before its last page"
                );
                Some((format!("{text}{INCOMPLETE}").into(), None))
            }
        }
    })
}

impl Export {
    async fn page(&self, after: &TransactionId) -> Result<ChargePage, Error> {
        self.store.charges(&self.org, self.span, Some(after)).await
    }

    fn text(&self, charges: &[ChargeEntry]) -> String {
        let account = Account {
            org: &self.org,
            prices: &self.prices,
        };
        let rows = charges.iter().flat_map(|charge| match charge {
            ChargeEntry::Usage(record, corrects) => account.charges(record, *corrects),
            ChargeEntry::Purchase(entry) => vec![account.purchase(&FocusPurchase {
                id: entry.id.clone(),
                at: entry.created_at,
                amount: MicroCredits::from_micro(entry.amount_micro),
                reference: entry.booking.reference.clone(),
            })],
        });
        rows.map(|row| line(&row)).collect()
    }
}

fn line(row: &FocusRow) -> String {
    let cells = row.cells().map(|of| match of {
        FocusCell::Null => String::new(),
        FocusCell::Text(text) => cell(text),
        FocusCell::Number(number) => number.clone(),
    });
    format!("{}\r\n", cells.collect::<Vec<_>>().join(","))
}
