//! Whose runs a budget counts.

use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::cost::Attribution;
use crate::cost::record::NONE;
use crate::cost::report::Dimension;
use crate::work_order::TenantContext;

/// Whom the cost of a run is put down to.
#[derive(Debug, Clone, Copy)]
pub struct Spender<'a> {
    /// The client's customer.
    pub tenant: Option<&'a TenantContext>,
    /// Its other dimensions.
    pub attribution: Option<&'a Attribution>,
}

/// A cost label with a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LabelValue {
    /// The cost label.
    pub name: String,
    /// Its value; `(none)` is that of work orders without the label.
    pub value: String,
}

/// The fields of a scope that a client sets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopeParts {
    /// A tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// A user of that tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_user_id: Option<String>,
    /// The id of a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// A cost label with a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<LabelValue>,
}

/// Whose runs count: the organization's, or those of one tenant, user, key or value of a label.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BudgetScope(ScopeParts);

impl BudgetScope {
    /// Reads a scope.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(parts: ScopeParts) -> Result<BudgetScope, Fault> {
        let fault = |path: &str, message: &str| Fault {
            path: format!("/scope{path}"),
            message: message.to_owned(),
        };
        if parts.tenant_user_id.is_some() && parts.tenant_id.is_none() {
            return Err(fault("/tenantId", "is missing: a user belongs to a tenant"));
        }
        let named = [
            parts.tenant_id.is_some(),
            parts.key_id.is_some(),
            parts.label.is_some(),
        ];
        match named.into_iter().filter(|is| *is).count() {
            0 | 1 => Ok(BudgetScope(parts)),
            _ => Err(fault(
                "",
                "must name one of tenantId (with tenantUserId or without), keyId and label",
            )),
        }
    }

    /// What it names.
    #[must_use]
    pub fn parts(&self) -> &ScopeParts {
        &self.0
    }

    /// The dimension of reports that selects its runs, and the value; none for all runs.
    #[must_use]
    pub fn dimension(&self) -> Option<(Dimension, &str)> {
        let ScopeParts {
            tenant_id,
            tenant_user_id,
            key_id,
            label,
        } = &self.0;
        let of = |dimension, value: &'_ Option<String>| value.is_some().then_some(dimension);
        if let Some(label) = label {
            return Some((Dimension::Label(label.name.clone()), &label.value));
        }
        let dimension = of(Dimension::TenantUser, tenant_user_id)
            .or(of(Dimension::Tenant, tenant_id))
            .or(of(Dimension::Key, key_id))?;
        let value = tenant_user_id
            .as_deref()
            .or(tenant_id.as_deref())
            .or(key_id.as_deref())?;
        Some((dimension, value))
    }

    /// True if what they spend counts.
    #[must_use]
    pub fn includes(&self, of: Spender<'_>) -> bool {
        let parts = &self.0;
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        let tenant = of.tenant.map(|tenant| tenant.tenant_id.as_str());
        let user = of
            .tenant
            .and_then(|tenant| tenant.tenant_user_id.as_deref());
        let key = of.attribution.and_then(|of| of.key_id.as_deref());
        let writer = of.attribution.and_then(|of| of.written_by.as_deref());
        let label = parts.label.as_ref().is_none_or(|wanted| {
            let labels = of.attribution.map(|of| &of.labels);
            let value = labels.and_then(|labels| labels.get(&wanted.name));
            value.map_or(NONE, String::as_str) == wanted.value
        });
        is(&parts.tenant_id, tenant)
            && is(&parts.tenant_user_id, user)
            && (is(&parts.key_id, key) || is(&parts.key_id, writer))
            && label
    }
}
