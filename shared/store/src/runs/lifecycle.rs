//! A run's life, a verb a file: each is one conditional transaction on the run, its lease, its work
//! order and the tally.

pub mod dispatch;
pub mod end;
pub mod finish;
mod heartbeat;
pub mod lease;
pub mod no_capacity;
pub mod report;
pub mod settle;
pub mod start;
pub mod stop;
pub mod suspect;
pub mod suspend;
pub(crate) mod transitions;
