//! The program of the ECS task: it executes one run, or one manual verification, from the claim of
//! its nonce to the last report.
//!
//! Invariants, whatever the agent does:
//! - agent and verifier processes are hostile: they get a clean environment, run under a
//!   supervisor, and have all ended before their result is read;
//! - the repository that commits and pushes is the runner's own, beside the workspace; nothing that
//!   an agent can write is ever configuration for a git call of the runner's;
//! - a run that is fenced or stopped starts nothing new.

mod agent;
mod agent_sessions;
mod agent_user;
mod backoff;
mod contained_process;
mod control_client;
mod control_thread;
mod delivery;
mod egress;
mod environment;
mod event_sender;
mod exit;
mod gate;
mod git;
mod git_credentials;
mod git_guard;
mod git_settings;
mod guarded_names;
mod heartbeats;
mod http_client;
mod inspection;
mod iteration_log;
mod layout;
mod limits;
mod litter;
mod live_output;
mod loopback;
mod manual;
mod masks;
mod messages;
mod meter;
mod output;
mod plan;
mod prompt;
mod proxy;
mod registries;
mod reporter;
mod repository;
mod resumed;
mod run_loop;
mod safe_files;
mod sandbox;
mod session;
mod settings;
mod shell;
mod snapshot;
mod stop;
mod stop_listener;
mod toolchains;
mod turn_files;
mod turns;
mod verify;
mod work_dir;
mod working_copy;
mod workspace;
mod workspace_archive;

pub use inspection::main as inspect;
pub use session::{USAGE, run};
pub use working_copy::{
    CheckoutError, PlanOutline, PlanStep, Subjects, WorkingCopy, WorkingCopyError,
    verify_working_copy,
};
pub use workspace_archive::clean;
