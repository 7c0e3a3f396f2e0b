//! Amounts: integers internally, decimals in JSON.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Micro-units in a unit.
const MICRO: i64 = 1_000_000;
/// The largest amount, in credits: a JSON number represents it exactly.
pub const MAX_CREDITS: i64 = 1_000_000_000;

/// Millionths of a credit. On the wire a decimal number of credits with up to six places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MicroCredits(i64);

impl MicroCredits {
    /// No amount.
    pub const ZERO: MicroCredits = MicroCredits(0);

    /// An amount by its millionths.
    #[must_use]
    pub const fn from_micro(micro: i64) -> Self {
        Self(micro)
    }

    /// An amount of whole credits.
    #[must_use]
    pub fn from_credits(credits: i64) -> Self {
        Self(credits.saturating_mul(MICRO))
    }

    /// Reads a decimal number of credits, 0 to [`MAX_CREDITS`], with at most six places.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn from_decimal(credits: f64) -> Result<Self, String> {
        let micro = (credits * 1e6).round();
        let exact = (micro / 1e6 - credits).abs() <= credits.abs() * 1e-15;
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "checked against MAX_CREDITS"
        )]
        match credits {
            c if !c.is_finite() || c < 0.0 || c > MAX_CREDITS as f64 => {
                Err(format!("must be between 0 and {MAX_CREDITS}"))
            }
            _ if !exact => Err("must not have more than six decimal places".to_owned()),
            _ => Ok(Self(micro as i64)),
        }
    }

    /// Millionths of a credit.
    #[must_use]
    pub fn micro(self) -> i64 {
        self.0
    }

    /// The decimal number of the wire.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "amounts stay below 2^53 micro-credits"
    )]
    pub fn to_decimal(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The sum, at the ends of the range if it would overflow.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, which may be negative.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Whole numbers are written without a point, as people write them.
fn write<S: Serializer>(whole_unit: i64, amount: i64, to: S) -> Result<S::Ok, S::Error> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "amounts stay below 2^53 of their smallest unit"
    )]
    if amount % whole_unit == 0 {
        to.serialize_i64(amount / whole_unit)
    } else {
        to.serialize_f64(amount as f64 / whole_unit as f64)
    }
}

impl Serialize for MicroCredits {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write(MICRO, self.0, to)
    }
}

impl<'de> Deserialize<'de> for MicroCredits {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        MicroCredits::from_decimal(f64::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Reads an amount that was written before, of any sign and size: for what is computed, where
/// [`MicroCredits`] themselves read what a caller may ask for.
///
/// # Errors
/// That it is no number.
pub fn computed<'de, D: Deserializer<'de>>(from: D) -> Result<MicroCredits, D::Error> {
    let credits = f64::deserialize(from)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a cast ends at the ends of the range, and amounts stay below 2^53"
    )]
    if credits.is_finite() {
        Ok(MicroCredits((credits * 1e6).round() as i64))
    } else {
        Err(D::Error::custom("is no amount"))
    }
}

/// Billionths of a US dollar; token prices need that much. On the wire a decimal number of USD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NanoUsd(i64);

impl NanoUsd {
    /// No amount.
    pub const ZERO: NanoUsd = NanoUsd(0);
    /// The largest amount: nine million dollars, which a JSON number represents exactly.
    pub const MAX: NanoUsd = NanoUsd(9_000_000_000_000_000);

    /// An amount by its billionths.
    #[must_use]
    pub fn from_nano(nano: i64) -> Self {
        Self(nano)
    }

    /// The same between nothing and the largest amount.
    #[must_use]
    pub fn bounded(self) -> Self {
        self.clamp(NanoUsd::ZERO, NanoUsd::MAX)
    }

    /// Billionths of a dollar.
    #[must_use]
    pub fn nano(self) -> i64 {
        self.0
    }

    /// The sum, at the ends of the range if it would overflow.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Serialize for NanoUsd {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write(1_000_000_000, self.0, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_are_decimals_with_up_to_six_places() {
        for (micro, text) in [
            (0, "0"),
            (1_000_000, "1"),
            (1, "1e-6"),
            (1_234_567, "1.234567"),
            (16_667, "0.016667"),
        ] {
            assert_eq!(serde_json::to_string(&MicroCredits(micro)).unwrap(), text);
            assert_eq!(
                serde_json::from_str::<MicroCredits>(text).unwrap(),
                MicroCredits(micro)
            );
        }
        for bad in ["-1", "1e-7", "1.2345678", "1e300", "1000000001"] {
            assert!(serde_json::from_str::<MicroCredits>(bad).is_err(), "{bad}");
        }
    }
}
