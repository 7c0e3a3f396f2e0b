//! The sender of webhooks: one attempt to deliver one event.
//!
//! An attempt ends within 30 s, whatever its receiver does, and connects only to addresses that the
//! guard of [`awo_domain::webhook::address`] admitted in this very attempt: a name is resolved
//! once, all its answers are checked, and the connection goes to a checked address. HTTP/1.1 over
//! TLS, no redirects, no proxies. Of a receiver's response only the status is passed on.

mod connection;
mod fault;
mod idle;
mod names;
mod sender;
mod target;
mod trust;

pub use sender::{Attempt, Ready, Sender};

use awo_cloud::SetupError;

/// The sender cannot send: nothing was tried, and the receiver has nothing to do with it.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// A setting does not read.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// This machine has no certificates of public authorities.
    #[error("no public root certificates were found on this machine")]
    NoRoots,
    /// This machine's name servers cannot be learned.
    #[error("the name servers to ask cannot be read: {0}")]
    NoNameServers(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    NoTls(#[from] rustls::Error),
}
