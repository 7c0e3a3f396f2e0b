//! The body of a budget, for a create and for a change, which replaces all of it.

use awo_domain::budget::{
    AlertsAt, BudgetScope, Content, LabelValue, MAX_ALERTS, MAX_NAME, OnLimit, Period, ScopeParts,
};

use crate::field::{Field, credits, list, one_of, text, typed, whole};
use crate::record::{Component, Members, Record};

/// Longest id and longest value of a label, in characters.
const MAX_VALUE: usize = 1_000;

/// The body.
#[derive(Debug)]
pub struct BudgetBody;

impl Record for BudgetBody {
    type Output = Content;

    fn members<M: Members>(&self, members: &mut M) -> Option<Content> {
        let name = members.required(
            "name",
            text(1..=MAX_NAME).described("Its name, for people."),
        );
        let scope = members.optional("scope", Scope).unwrap_or_default();
        let period = members.required(
            "period",
            typed::<Period, _, _>(|name| one_of(name, Period::ALL, Period::as_str)),
        );
        let limit = members.required(
            "limitCredits",
            credits().described("The limit of a period, in credits."),
        );
        let on_limit = members.required(
            "onLimit",
            typed::<OnLimit, _, _>(|name| one_of(name, OnLimit::ALL, OnLimit::as_str)),
        );
        let alerts = members.optional(
            "alertsAt",
            list(whole(1..=100), 0..=MAX_ALERTS).described(
                "Percentages of the limit at which webhooks get `budget.threshold`; the default is 50, 80 and 100.",
            ),
        );
        let alerts_at = alerts.map_or_else(|| Ok(AlertsAt::default()), |at| AlertsAt::of(&at));
        let alerts_at = alerts_at.map_err(|why| members.fault("alertsAt", why));
        let scope = BudgetScope::of(scope).map_err(|fault| members.faults([fault]));
        Some(Content {
            name: name?,
            scope: scope.ok()?,
            period: period?,
            limit_micro: limit?.micro(),
            on_limit: on_limit?,
            alerts_at: alerts_at.ok()?,
        })
    }
}

/// The runs that count.
struct Scope;

impl Record for Scope {
    const COMPONENT: Option<Component> = Some(Component {
        name: "BudgetScopeInput",
        description: "The runs that count: those of the organization (without it, or `{}`), or of one of these.",
    });
    type Output = ScopeParts;

    fn members<M: Members>(&self, members: &mut M) -> Option<ScopeParts> {
        Some(ScopeParts {
            tenant_id: members.optional("tenantId", id("A tenant.")),
            tenant_user_id: members.optional(
                "tenantUserId",
                id("A user of the tenant; together with `tenantId`."),
            ),
            key_id: members.optional("keyId", id("An API key.")),
            label: members.optional("label", Label),
        })
    }
}

struct Label;

impl Record for Label {
    const COMPONENT: Option<Component> = Some(Component {
        name: "BudgetLabelInput",
        description: "A cost label; the value `(none)` is that of runs without it.",
    });
    type Output = LabelValue;

    fn members<M: Members>(&self, members: &mut M) -> Option<LabelValue> {
        let name = members.required("name", id("The name of the label."));
        let value = members.required(
            "value",
            id("The value; `(none)` is that of runs without it."),
        );
        let label = name.zip(value);
        label.map(|(name, value)| LabelValue { name, value })
    }
}

fn id(description: &'static str) -> impl Field<Output = String> {
    text(1..=MAX_VALUE).described(description)
}
