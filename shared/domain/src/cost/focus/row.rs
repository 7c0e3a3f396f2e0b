//! A row of an export: cells by the names of FOCUS 1.2.

use std::collections::BTreeMap;

/// The columns, in the order of a row's cells: all that FOCUS 1.2 has, then this service's own.
pub const COLUMNS: [&str; 67] = [
    "ProviderName",
    "PublisherName",
    "InvoiceIssuerName",
    "InvoiceId",
    "BillingAccountId",
    "BillingAccountName",
    "BillingAccountType",
    "SubAccountId",
    "SubAccountName",
    "SubAccountType",
    "BillingPeriodStart",
    "BillingPeriodEnd",
    "ChargePeriodStart",
    "ChargePeriodEnd",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
    "BilledCost",
    "EffectiveCost",
    "ListCost",
    "ContractedCost",
    "ListUnitPrice",
    "ContractedUnitPrice",
    "PricingCategory",
    "PricingQuantity",
    "PricingUnit",
    "PricingCurrency",
    "PricingCurrencyContractedUnitPrice",
    "PricingCurrencyEffectiveCost",
    "PricingCurrencyListUnitPrice",
    "BillingCurrency",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ServiceName",
    "ServiceCategory",
    "ServiceSubcategory",
    "SkuId",
    "SkuMeter",
    "SkuPriceId",
    "SkuPriceDetails",
    "ResourceId",
    "ResourceName",
    "ResourceType",
    "RegionId",
    "RegionName",
    "AvailabilityZone",
    "CommitmentDiscountId",
    "CommitmentDiscountName",
    "CommitmentDiscountCategory",
    "CommitmentDiscountType",
    "CommitmentDiscountStatus",
    "CommitmentDiscountQuantity",
    "CommitmentDiscountUnit",
    "CapacityReservationId",
    "CapacityReservationStatus",
    "Tags",
    "x_TransactionId",
    "x_WorkOrderId",
    "x_Model",
    "x_Outcome",
    "x_TenantUserId",
    "x_Repository",
    "x_Agent",
    "x_Harness",
    "x_KeyId",
    "x_Reference",
];

/// A cell: text may be anything that a client sent; a number is only digits, a sign and a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FocusCell {
    /// Nothing.
    Null,
    /// Text.
    Text(String),
    /// A number.
    Number(String),
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FocusRow {
    cells: BTreeMap<&'static str, FocusCell>,
}

impl FocusRow {
    /// Its cells, in the order of [`COLUMNS`].
    pub fn cells(&self) -> impl Iterator<Item = &FocusCell> {
        let null = &FocusCell::Null;
        COLUMNS
            .iter()
            .map(move |name| self.cells.get(name).unwrap_or(null))
    }

    /// A cell by its column.
    #[must_use]
    pub fn cell(&self, column: &str) -> Option<&FocusCell> {
        self.cells.get(column)
    }

    pub(super) fn text(&mut self, column: &'static str, text: impl Into<String>) {
        self.cells.insert(column, FocusCell::Text(text.into()));
    }

    pub(super) fn some_text(&mut self, column: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(column, text);
        }
    }

    pub(super) fn number(&mut self, column: &'static str, units: i128, places: usize) {
        let number = FocusCell::Number(decimal(units, places));
        self.cells.insert(column, number);
    }
}

/// Exact, without an exponent and with one place at least: a column of which each value is whole is read as one
/// of decimals, too.
fn decimal(units: i128, places: usize) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", units.unsigned_abs(), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    let part = part.trim_end_matches('0');
    let part = if part.is_empty() { "0" } else { part };
    format!("{sign}{whole}.{part}")
}
