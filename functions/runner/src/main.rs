//! `runner`: executes one run or one manual verification. `runner supervise …`: runs one command
//! and leaves no process of it. `runner inspect …`: reads hostile data for a verification. `runner
//! clean …`: removes expired workspace archives.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|arg| arg.to_str()) {
        None => awo_runner::run(),
        Some("supervise") => awo_supervisor::main(args),
        Some("inspect") => awo_runner::inspect(args),
        Some("clean") => awo_runner::clean(args),
        Some("--help" | "-h" | "help") => {
            println!("{}", awo_runner::USAGE);
            ExitCode::SUCCESS
        }
        Some("--version" | "-V") => {
            println!("runner {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Some(other) => {
            eprintln!("unknown argument {other}\n{}", awo_runner::USAGE);
            ExitCode::from(2)
        }
    }
}
