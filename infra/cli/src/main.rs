//! `awo`: the command line for clients and operators.
//!
//! Standard output has only the result; with `--json` that is the API's own JSON. Progress, advice
//! and errors go to standard error.

mod address;
mod admin;
mod answers;
mod arguments;
mod audit;
mod bars;
mod cancel;
mod checks;
mod client;
mod console;
mod contexts;
mod diff;
mod doctor;
mod document;
mod environments;
mod events;
mod failure;
mod finance;
mod follow;
mod get;
mod grid;
mod hidden_input;
mod inboxes;
mod kill;
mod list;
mod listen;
mod live;
mod local_repository;
mod logs;
mod mcp;
mod next_step;
mod options;
mod outcomes;
mod output;
mod paint;
mod plugins;
mod profiles;
mod progress;
mod purge;
mod quantity;
mod queue;
mod read;
mod reference;
mod reference_pages;
mod report_pages;
mod repository;
mod schedules;
mod screen;
mod sse;
mod standing;
mod start;
mod submit;
mod templates;
mod threads;
mod times;
mod triggers;
mod usage;
mod verification;
mod verify;
mod webhooks;

use std::process::ExitCode;

use awo_cloud::Environment;
use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::client::Client;
use crate::failure::Failure;
use crate::finance::arguments::{Finance, FinanceAction};
use crate::output::Output;

fn main() -> ExitCode {
    if let Some(ended) = verify::as_helper() {
        return ended;
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let output = Output::new(arguments.format());
    let alone = match &arguments.command {
        Command::Verify(wanted) => Some(verify::run(wanted, &output)),
        Command::Completions { shell } => Some(reference_pages::completions(*shell)),
        Command::Man { dir } => Some(reference_pages::manual(dir.as_deref())),
        Command::Doctor => {
            let environment = Environment::of_process();
            Some(doctor::run(&arguments.connection, &environment, &output))
        }
        _ => None,
    };
    if let Some(ended) = alone {
        return ended.map_or_else(|failure| output.failure(&failure), |()| ExitCode::SUCCESS);
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

/// clap's message about a command line that it refuses, and a hint about words that an option has swallowed.
fn refuse(error: &clap::Error) -> ExitCode {
    // The exit code replaces a line that cannot be written.
    let _ = error.print();
    let is_missing = error.kind() == clap::error::ErrorKind::MissingRequiredArgument;
    if is_missing && std::env::args().any(|word| word == "--command") {
        eprintln!(
            "\n--command takes all words that follow it: write it last, or write the agent's \
             command after --"
        );
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

async fn run(arguments: &Arguments, output: &Output) -> Result<(), Failure> {
    let environment = Environment::of_process();
    let connection = &arguments.connection;
    match &arguments.command {
        Command::Admin(admin) => admin::run(admin, connection, &environment, output).await,
        Command::Login(wanted) => {
            contexts::login::run(wanted, connection, &environment, output).await
        }
        Command::Context(wanted) => contexts::run(&wanted.action, connection, &environment, output),
        Command::Finance(Finance {
            action: FinanceAction::Close(close),
        }) => finance::close::run(close, connection, &environment, output).await,
        Command::Listen(wanted) if wanted.print_secret => {
            listen::print_secret(&environment, output)
        }
        Command::Trigger(wanted) => listen::trigger(wanted, &environment, output).await,
        Command::Mcp => {
            mcp::run(
                Client::new(address::resolve(connection, &environment)?)?,
                output,
            )
            .await
        }
        command => {
            let client = Client::new(address::resolve(connection, &environment)?)?;
            on_service(command, &client, &environment, output).await
        }
    }
}

/// What asks the service for something.
async fn on_service(
    command: &Command,
    client: &Client,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    match command {
        Command::Submit(order) => submit::run(client, order, output).await,
        Command::FollowUp(wanted) => threads::follow_up(client, wanted, output).await,
        Command::Thread(wanted) => threads::show(client, wanted, output).await,
        Command::Start(wanted) => start::run(client, wanted, output).await,
        Command::Follow(wanted) => {
            let run = reference::run(client, &wanted.id).await?;
            follow::run(client, &run, wanted.require_verified, output).await
        }
        Command::Cancel(wanted) => cancel::run(client, wanted, output).await,
        Command::Kill(wanted) => kill::run(client, wanted, output).await,
        Command::Events(wanted) => events::run(client, wanted, output).await,
        Command::Logs(wanted) => logs::run(client, wanted, output).await,
        Command::Checks(wanted) => checks::run(client, wanted, output).await,
        Command::Diff(wanted) => diff::run(client, wanted, output).await,
        Command::Audit(wanted) => audit::run(client, wanted, output).await,
        Command::Purge(wanted) => purge::run(client, wanted, output).await,
        Command::Queue(wanted) => queue::run(client, wanted, output).await,
        Command::Get(wanted) => get::run(client, &wanted.id, output).await,
        Command::List(filter) => list::list(client, filter, output).await,
        Command::Runs(filter) => list::runs(client, filter, output).await,
        Command::Credits(wanted) => list::credits(client, wanted, output).await,
        Command::Outcomes(arguments) => outcomes::run(client, arguments, output).await,
        Command::Usage(wanted) => usage::run(client, wanted, output).await,
        Command::Console => console::run(client, output).await,
        Command::Finance(wanted) => finance::run(client, &wanted.action, output).await,
        Command::Webhooks(wanted) => webhooks::run(client, &wanted.action, output).await,
        Command::Listen(wanted) => listen::run(client, wanted, environment, output).await,
        Command::Schedules(wanted) => schedules::run(client, &wanted.action, output).await,
        Command::Triggers(arguments) => triggers::run(client, &arguments.action, output).await,
        Command::Inboxes(arguments) => inboxes::run(client, &arguments.action, output).await,
        Command::Environments(wanted) => environments::run(client, &wanted.action, output).await,
        Command::Profiles(wanted) => profiles::run(client, &wanted.action, output).await,
        Command::Templates(wanted) => templates::run(client, &wanted.action, output).await,
        Command::Plugins(wanted) => plugins::run(client, &wanted.action, output).await,
        Command::Verification(wanted) => verification::run(client, &wanted.action, output).await,
        Command::Openapi => output.line(&client.get("/openapi.json", &[]).await?),
        // These ask no service, and were done before.
        Command::Admin(_)
        | Command::Login(_)
        | Command::Context(_)
        | Command::Verify(_)
        | Command::Trigger(_)
        | Command::Mcp
        | Command::Completions { .. }
        | Command::Doctor
        | Command::Man { .. } => Ok(()),
    }
}
