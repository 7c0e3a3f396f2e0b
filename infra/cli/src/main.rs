//! `awo`: the command line of clients and operators.
//!
//! Standard output holds what was asked for and nothing else; with `--json` that is the API's own
//! JSON. Progress, advice and errors go to standard error.

mod address;
mod admin;
mod answers;
mod arguments;
mod audit;
mod bars;
mod cancel;
mod checks;
mod client;
mod contexts;
mod diff;
mod events;
mod failure;
mod follow;
mod get;
mod hidden_input;
mod kill;
mod list;
mod live;
mod local_repository;
mod logs;
mod next_step;
mod output;
mod paint;
mod progress;
mod purge;
mod quantity;
mod queue;
mod read;
mod reference;
mod repository;
mod screen;
mod sse;
mod start;
mod submit;
mod tenants;
mod times;
mod usage;
mod verify;
mod webhooks;

use std::process::ExitCode;

use awo_cloud::Environment;
use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;

fn main() -> ExitCode {
    if let Some(ended) = verify::as_helper() {
        return ended;
    }
    let arguments = Arguments::parse();
    let output = Output::new(arguments.format());
    if let Command::Verify(wanted) = &arguments.command {
        return match verify::run(wanted, &output) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => output.failure(&failure),
        };
    }
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return output.failure(&Failure::Broken(format!("cannot start: {error}"))),
    };
    let ended = runtime.block_on(run(&arguments, &output));
    // A thread may still wait for a line of standard input; nothing waits for that thread.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output.failure(&failure),
    }
}

async fn run(arguments: &Arguments, output: &Output) -> Result<(), Failure> {
    let environment = Environment::of_process();
    let connection = &arguments.connection;
    match &arguments.command {
        Command::Admin(admin) => return admin::run(admin, connection, &environment, output).await,
        Command::Login(wanted) => {
            return contexts::login::run(wanted, connection, &environment, output).await;
        }
        Command::Context(wanted) => {
            return contexts::run(&wanted.action, connection, &environment, output);
        }
        _ => {}
    }
    let address = address::resolve(&arguments.connection, &environment)?;
    let client = Client::new(address)?;
    match &arguments.command {
        Command::Submit(order) => submit::run(&client, order, output).await,
        Command::Start(wanted) => start::run(&client, wanted, output).await,
        Command::Follow(wanted) => {
            let run = reference::run(&client, &wanted.id).await?;
            follow::run(&client, &run, wanted.require_verified, output).await
        }
        Command::Cancel(wanted) => cancel::run(&client, wanted, output).await,
        Command::Kill(wanted) => kill::run(&client, wanted, output).await,
        Command::Events(wanted) => events::run(&client, wanted, output).await,
        Command::Logs(wanted) => logs::run(&client, wanted, output).await,
        Command::Checks(wanted) => checks::run(&client, wanted, output).await,
        Command::Diff(wanted) => diff::run(&client, wanted, output).await,
        Command::Audit(wanted) => audit::run(&client, wanted, output).await,
        Command::Purge(wanted) => purge::run(&client, wanted, output).await,
        Command::Queue(wanted) => queue::run(&client, wanted, output).await,
        Command::Get(wanted) => get::run(&client, &wanted.id, output).await,
        Command::List(filter) => list::list(&client, filter, output).await,
        Command::Runs(filter) => list::runs(&client, filter, output).await,
        Command::Credits(wanted) => list::credits(&client, wanted, output).await,
        Command::Usage(wanted) => usage::run(&client, wanted, output).await,
        Command::Webhooks(wanted) => webhooks::run(&client, &wanted.action, output).await,
        Command::Admin(_) | Command::Login(_) | Command::Context(_) | Command::Verify(_) => Ok(()),
    }
}
