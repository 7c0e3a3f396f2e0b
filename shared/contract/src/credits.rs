//! Credits and prices.

pub mod output;
pub mod prices;
