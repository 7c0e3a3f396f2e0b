//! Verification plugins and manual verifications.

pub mod input;
pub mod output;
