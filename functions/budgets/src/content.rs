//! The body of a budget, read and checked.

use awo_domain::Error;
use awo_domain::budget::{AlertsAt, BudgetScope, Content, MAX_ALERTS, MAX_NAME, OnLimit, Period};
use awo_domain::budget::{LabelValue, ScopeParts};
use awo_domain::money::MicroCredits;
use awo_http::body::{Object, Value};

/// Longest id and longest value of a label, in characters.
const MAX_VALUE: usize = 1_000;

/// Reads the body of a create and of a change, which replaces all of it.
pub fn read_content(mut body: Object) -> Result<Content, Error> {
    let name = body.required("name", |v| v.text(1..=MAX_NAME));
    let scope = body.optional("scope", scope).unwrap_or_default();
    let period = body.required("period", |v| {
        v.parsed(|name| {
            Period::parse(name).ok_or("must be one of day, month, quarter, once".to_owned())
        })
    });
    let limit = body.required("limitCredits", limit);
    let on_limit = body.required("onLimit", |v| {
        v.parsed(|name| OnLimit::parse(name).ok_or("must be one of block, wait, alert".to_owned()))
    });
    let alerts = body.optional("alertsAt", |v| v.list(0..=MAX_ALERTS, |v| v.whole(1..=100)));
    let alerts_at = alerts.map_or_else(
        || Some(AlertsAt::default()),
        |percentages| match AlertsAt::of(&percentages) {
            Ok(alerts) => Some(alerts),
            Err(why) => {
                body.fault("alertsAt", why);
                None
            }
        },
    );
    let scope = match BudgetScope::of(scope) {
        Ok(scope) => Some(scope),
        Err(fault) => {
            body.faults([fault]);
            None
        }
    };
    let read = (|| {
        Some(Content {
            name: name?,
            scope: scope?,
            period: period?,
            limit_micro: limit?.micro(),
            on_limit: on_limit?,
            alerts_at: alerts_at?,
        })
    })();
    body.finish(read)
}

fn limit(value: Value) -> Option<MicroCredits> {
    value.decimal(|credits| match MicroCredits::from_decimal(credits)? {
        MicroCredits::ZERO => Err("must be more than 0".to_owned()),
        credits => Ok(credits),
    })
}

fn scope(value: Value) -> Option<ScopeParts> {
    let text = |v: Value| v.text(1..=MAX_VALUE);
    value.object(|o| {
        Some(ScopeParts {
            tenant_id: o.optional("tenantId", text),
            tenant_user_id: o.optional("tenantUserId", text),
            key_id: o.optional("keyId", text),
            label: o.optional("label", |v| {
                v.object(|o| {
                    let name = o.required("name", text);
                    let value = o.required("value", text);
                    let label = name.zip(value);
                    label.map(|(name, value)| LabelValue { name, value })
                })
            }),
        })
    })
}
