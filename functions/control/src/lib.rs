//! The runner's own API: claims, reports, agent logs, diffs, requests for children and for
//! credentials, finishes. A run's configuration is audited when the runner receives it.
//!
//! A runner is our program on a machine that runs hostile code, so its requests are checked like
//! any other: identity by nonce or token, content by shape and range. A runner can only affect its
//! own run.

mod baseline;
mod children;
mod claim;
mod diff;
mod environment;
mod finish;
mod log;
mod models;
mod report;
mod runner;
mod thread;
mod turn;
mod verification;

use std::sync::Arc;

use awo_cloud::queue::RunQueue;
use awo_cloud::secrets::Secrets;
use awo_cloud::{Cloud, Mint, SetupError, settings};
use awo_domain::ledger::Rates;
use awo_domain::{Error, Resource, Timestamp};
use awo_execution::creation::Creation;
use awo_execution::endings::Endings;
use awo_execution::git_access::GitHosts;
use awo_execution::stopper::Stopper;
use awo_http::program::{ApiProgram, whole};
use awo_http::{Answer, HttpFunction, routes};
use awo_pricing::Prices;
use awo_store::Store;
use awo_store::queue::tally::QueueLimits;
use lambda_http::{Request, RequestExt};

use models::Models;

struct State {
    store: Store,
    secrets: Secrets,
    mint: Mint,
    prices: Prices,
    rates: Rates,
    allow_file_repositories: bool,
    queue: RunQueue,
    limits: QueueLimits,
    creation: Creation,
    endings: Endings,
    stopper: Stopper,
    models: Models,
    git_hosts: GitHosts,
}

/// All its routes are one function.
pub const PROGRAMS: &[ApiProgram] = &[whole(&routes::CLAIM, function)];

/// The function `control`.
///
/// # Errors
/// When a setting is missing or the price file does not read.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    let state = State {
        store: cloud.store()?,
        secrets: cloud.secrets()?,
        mint: cloud.mint.clone(),
        prices: prices(cloud)?,
        rates: settings::rates(&cloud.environment)?,
        allow_file_repositories: settings::allow_file_repositories(&cloud.environment),
        queue: cloud.run_queue()?,
        limits: settings::queue_limits(&cloud.environment)?,
        creation: Creation::new(cloud)?,
        endings: Endings::new(cloud)?,
        stopper: Stopper::new(cloud)?,
        models: Models::new(cloud)?,
        git_hosts: GitHosts::new(cloud)?,
    };
    Ok(HttpFunction::for_runner(cloud, state, handle))
}

fn prices(cloud: &Cloud) -> Result<Prices, SetupError> {
    let path = cloud.environment.get(settings::PRICES_FILE);
    let prices = Prices::of_file(path.as_deref());
    prices.map_err(|why| settings::invalid(settings::PRICES_FILE, why))
}

async fn handle(state: Arc<State>, request: Request, now: Timestamp) -> Result<Answer, Error> {
    let path = request.raw_http_path();
    if routes::CLAIM.matches(path) {
        claim::handle(&state, &request, now).await
    } else if routes::REPORT.matches(path) {
        report::handle(&state, &request, now).await
    } else if routes::FINISH.matches(path) {
        finish::handle(&state, &request, now).await
    } else if routes::OPEN_CHILDREN.matches(path) {
        children::handle(&state, &request, now).await
    } else if routes::KEEP_LOG.matches(path) {
        log::handle(&state, &request, now).await
    } else if routes::ISSUE_CREDENTIALS.matches(path) {
        models::credentials(&state, &request, now).await
    } else if routes::CLAIM_VERIFICATION.matches(path) {
        verification::claim(&state, &request).await
    } else if routes::REPORT_VERIFICATION.matches(path) {
        verification::report(&state, &request, now).await
    } else if routes::SHARE_BASELINE.matches(path) {
        baseline::handle(&state, &request, now).await
    } else if routes::RECORD_TURN.matches(path) {
        turn::handle(&state, &request, now).await
    } else if routes::KEEP_DIFF.matches(path) {
        diff::handle(&state, &request, now).await
    } else {
        Err(Error::NotFound(Resource::Route))
    }
}
