//! `GET /v1/prices`: what models and compute cost, as runs are charged now.

use std::sync::Arc;

use awo_cloud::{Cloud, SetupError, settings};
use awo_contract::credits::prices::PriceListShape;
use awo_domain::Error;
use awo_domain::ledger::Rates;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_pricing::Prices;

struct State {
    prices: Prices,
    rates: Rates,
}

/// The function `get-prices`.
///
/// # Errors
/// When a setting is missing or the price file does not read.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let path = cloud.environment.get(settings::PRICES_FILE);
    let prices = Prices::of_file(path.as_deref());
    let state = State {
        prices: prices.map_err(|why| settings::invalid(settings::PRICES_FILE, why))?,
        rates: settings::rates(&cloud.environment)?,
    };
    HttpFunction::keyed(cloud, &routes::GET_PRICES, state, handle)
}

async fn handle(state: Arc<State>, call: Call) -> Result<Answer, Error> {
    call.query().finish()?;
    Answer::ok(PriceListShape::of(&state.prices, state.rates, call.now))
}
