//! Times of schedules, by the public functions of the crate.

mod timetables;
