//! Events that forges and other senders deliver, and what triggers make of them. It is pure: a delivery is read
//! into an [`Event`], a trigger judges it, and the values of the event are filled into a work order.

mod event;
mod fields;
mod fill;
mod forges;
mod judge;
mod orders;
mod patterns;
mod template;
mod words;

pub use event::{
    Actor, Author, Branches, Check, Comment, Event, HeadCommit, Review, Sender, Subject,
};
pub use fill::{FilledOrder, filled};
pub use forges::event;
pub use judge::{OwnAccount, Verdict, Word, is_own, is_own_check, judge, judge_actor};
pub use orders::{OrderFault, RequestKind, place_faults, request_of, sample};
pub use patterns::Pattern;
pub use template::{Place, PlaceFault, Template};

/// Most characters of a value that is filled into a prompt.
pub const MAX_VALUE: usize = 16_000;
