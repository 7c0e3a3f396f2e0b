//! The program itself, as people and scripts call it: against a double of the API for what is
//! shown and how it exits, and against the local service for what an operator does.

mod admin;
mod call;
mod double;
mod errors;
mod follow;
