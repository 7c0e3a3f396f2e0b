//! The reason why an attempt got no response, for the webhook's owner: short sentences without any
//! byte from the receiver, and without any address from our name server.

use std::error::Error;
use std::io;

use awo_domain::webhook::address::Special;
use awo_domain::webhook::schedule::ANSWER_LIMIT_MS;
use rustls::CertificateError;

/// Longest chain of causes that is walked to find what is behind an error.
const MAX_CAUSES: usize = 8;

/// The step of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Name,
    Connection,
    Tls,
    Answer,
}

#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The sentence of [`awo_domain::webhook::target`].
    #[error("the URL {0}")]
    Url(String),
    #[error("the name has no address")]
    NoAddress,
    #[error("the name could not be resolved")]
    Unresolved,
    #[error("the name leads to an address that {0}")]
    Forbidden(Special),
    #[error("the connection was refused")]
    Refused,
    #[error("the network of the receiver cannot be reached")]
    Unreachable,
    #[error("the connection failed")]
    Unconnected,
    #[error("the certificate is not valid for this name")]
    OtherName,
    #[error("the certificate has expired")]
    Expired,
    #[error("the certificate is not valid yet")]
    NotYet,
    #[error("the certificate is not of an authority that is trusted")]
    UnknownAuthority,
    #[error("the certificate is not valid")]
    Certificate,
    #[error("the receiver ended the TLS handshake with an alert")]
    Alert,
    #[error("what answers does not speak TLS")]
    NotTls,
    #[error("the TLS handshake failed")]
    Tls,
    #[error("the connection was closed before an answer")]
    Closed,
    #[error("the headers of the answer are too large")]
    HeadersTooLarge,
    #[error("what answers does not speak HTTP/1.1")]
    NotHttp,
    #[error("{}", late(*.0))]
    Late(Stage),
}

fn late(stage: Stage) -> String {
    let what = match stage {
        Stage::Name => "the name did not resolve",
        Stage::Connection => "no connection was made",
        Stage::Tls => "the TLS handshake was not over",
        Stage::Answer => "no answer came",
    };
    format!("{what} within {} s", ANSWER_LIMIT_MS / 1_000)
}

impl Fault {
    /// Of a connection that was not made.
    pub fn of_connecting(error: &io::Error) -> Fault {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Fault::Refused,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                Fault::Unreachable
            }
            _ => Fault::Unconnected,
        }
    }

    /// Of a handshake that failed.
    pub fn of_handshake(error: &io::Error) -> Fault {
        match tls_cause(error) {
            Some(error) => Fault::of_tls(error),
            None => Fault::Tls,
        }
    }

    /// Of an exchange that got no status and headers. With TLS 1.3 it is only here that a receiver
    /// requests a certificate from us.
    pub fn of_exchange(error: &hyper::Error) -> Fault {
        if error.is_parse_too_large() {
            Fault::HeadersTooLarge
        } else if error.is_parse() {
            Fault::NotHttp
        } else {
            match tls_cause(error) {
                Some(error) => Fault::of_tls(error),
                None => Fault::Closed,
            }
        }
    }

    fn of_tls(error: &rustls::Error) -> Fault {
        match error {
            rustls::Error::InvalidCertificate(why) => Fault::of_certificate(why),
            rustls::Error::AlertReceived(_) => Fault::Alert,
            rustls::Error::InvalidMessage(_) => Fault::NotTls,
            _ => Fault::Tls,
        }
    }

    fn of_certificate(why: &CertificateError) -> Fault {
        match why {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Fault::OtherName
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Fault::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Fault::NotYet
            }
            CertificateError::UnknownIssuer => Fault::UnknownAuthority,
            _ => Fault::Certificate,
        }
    }
}

/// The error of TLS behind another one. An `io::Error` does not name what it wraps as its source,
/// but the source of that.
fn tls_cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    for _ in 0..MAX_CAUSES {
        let cause = next?;
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return Some(tls);
        }
        let wrapped = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => cause.source(),
        };
    }
    None
}
