//! `GET /v1/usage/report`: the bookings of a period, by model or by another dimension of costs;
//! also as CSV.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError};
use awo_contract::usage::report::UsageReportShape;
use awo_domain::cost::report::{Bucket, Dimension, ReportQuery};
use awo_domain::{Error, Timestamp};
use awo_http::page::Paging;
use awo_http::query::Query;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_store::Store;

use crate::period::span;
use crate::report;

/// Rows of a page where no number is asked for.
const DEFAULT_LIMIT: u32 = 100;
const GROUPS: &str = "must be one of model, tenant, tenantUser, repository, agent, harness, key, \
                      outcome and label:<name>, or model and one of the others with a comma between";
/// The function `get-usage-report`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    HttpFunction::keyed(cloud, &routes::GET_USAGE_REPORT, cloud.store()?, handle)
}

async fn handle(store: Arc<Store>, call: Call) -> Result<Answer, Error> {
    let query = call.query();
    let asked = asked(&query, call.now);
    let paging = Paging::of(&call, &query, DEFAULT_LIMIT, &format!("{asked:?}"));
    query.finish()?;
    let report = store.cost_report(call.org(), &asked, call.now);
    if call.accepts("text/csv") {
        return Ok(Answer::csv(report::csv(&asked, &report.await?)));
    }
    let (report, policy) = tokio::try_join!(report, store.cost_policy(call.org()))?;
    let after = paging.after.as_deref().and_then(|at| at.parse().ok());
    let first: usize = after.unwrap_or(paging.offset as usize);
    let end = first.saturating_add(paging.limit as usize);
    let next = (end < report.rows.len()).then(|| paging.cursor(&end.to_string()));
    let shape = UsageReportShape::of(
        &asked,
        (&report, &policy.labels),
        first..end,
        next.flatten(),
        call.now,
    );
    Answer::ok(shape)
}

fn asked(query: &Query, now: Timestamp) -> ReportQuery {
    let groups = query.parsed("groupBy", GROUPS, groups);
    let (by_model, by) = groups.unwrap_or((true, None));
    let fixed = Dimension::FIXED.into_iter().filter_map(|dimension| {
        let value = query.text(&dimension.name())?;
        Some((dimension, value))
    });
    let mut only: Vec<(Dimension, String)> = fixed.collect();
    for (name, value) in query.beginning_with("label:") {
        match Dimension::parse(&name) {
            Some(label) => only.push((label, value)),
            None => query.fault(&name, "must name a cost label"),
        }
    }
    let buckets = "must be one of none, day, month";
    ReportQuery {
        span: span(query, now),
        by_model,
        by,
        bucket: query
            .parsed("bucket", buckets, Bucket::parse)
            .unwrap_or(Bucket::None),
        model: query.text("model"),
        only,
    }
}

/// `model`, a dimension, or both.
fn groups(text: &str) -> Option<(bool, Option<Dimension>)> {
    match text {
        "model" => Some((true, None)),
        one => match one.strip_prefix("model,").or(one.strip_suffix(",model")) {
            Some(other) => Some((true, Some(Dimension::parse(other)?))),
            None => Some((false, Some(Dimension::parse(one)?))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grouping_is_one_dimension_or_the_model_and_one_other() {
        let label = || Some(Dimension::Label("team".to_owned()));
        for (text, wanted) in [
            ("model", Some((true, None))),
            ("tenant", Some((false, Some(Dimension::Tenant)))),
            ("model,key", Some((true, Some(Dimension::Key)))),
            ("key,model", Some((true, Some(Dimension::Key)))),
            ("label:team", Some((false, label()))),
            ("model,label:team", Some((true, label()))),
            ("", None),
            ("model,", None),
            ("model,model", None),
            ("tenant,key", None),
            ("label:", None),
            ("Tenant", None),
        ] {
            assert_eq!(groups(text), wanted, "{text}");
        }
    }
}
