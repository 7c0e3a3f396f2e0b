//! Times of schedules, by the public functions of the crate.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has to fail loudly"
)]

mod timetables;
