//! `supervise-command`: what `runner supervise` does, as a program of its own, so that the
//! supervisor can be tested and tried without a runner around it.

use std::process::ExitCode;

fn main() -> ExitCode {
    awo_supervisor::main(std::env::args_os().skip(1))
}
