//! `supervise-command`: `runner supervise` as a separate program, so that the supervisor can be
//! tested without a runner.

use std::process::ExitCode;

fn main() -> ExitCode {
    awo_supervisor::main(std::env::args_os().skip(1))
}
