//! Times at which a schedule fires: a cron expression of five fields, read on the clock of a time zone.
//!
//! `croner` reads the expression and searches the calendar, `jiff` has the time zones of the IANA database,
//! which is part of the program. The rules of this crate are those that neither decides:
//!
//! | a local time | fires |
//! |---|---|
//! | that a change of offset skips | at the first moment after the gap, once for all times of that gap |
//! | that occurs twice | at the first of the two |
//! | of an hour field that begins with `*` | in each real hour that has this minute, a repeated hour included |

mod expression;
pub mod plan;
mod timetable;

pub use expression::ExpressionFault;
pub use timetable::{LEAST_INTERVAL, Timetable, TimetableFault};
