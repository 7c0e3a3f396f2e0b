//! The destination of an attempt, read from the webhook's URL.
//!
//! There is one host: it is resolved, the certificate must name it, and the `Host` header contains
//! it.

use std::net::IpAddr;

use awo_domain::webhook::address::Reach;
use awo_domain::webhook::target::WebhookUrl;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request};
use http_body_util::Full;
use rustls::pki_types::ServerName;
use url::{Position, Url};

use crate::fault::Fault;
use crate::sender::Attempt;

const PORT: u16 = 443;
const AGENT: &str = concat!("awo-webhooks/", env!("CARGO_PKG_VERSION"));

/// The host of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name, in lower case and ASCII, without a dot at its end.
    Name(String),
    /// An address; the URL's reader has judged it.
    Address(IpAddr),
}

#[derive(Debug)]
pub struct Target {
    pub host: Host,
    pub port: u16,
    /// Path and query.
    path: String,
}

impl Target {
    pub fn of(url: &WebhookUrl, reach: Reach) -> Result<Target, Fault> {
        let url = url.to_url(reach).map_err(Fault::Url)?;
        let host = match url.host() {
            Some(url::Host::Domain(name)) => {
                Host::Name(name.strip_suffix('.').unwrap_or(name).to_owned())
            }
            Some(url::Host::Ipv4(address)) => Host::Address(address.into()),
            Some(url::Host::Ipv6(address)) => Host::Address(address.into()),
            None => return Err(Fault::Url("must name a host".to_owned())),
        };
        Ok(Target {
            host,
            port: url.port().unwrap_or(PORT),
            path: path(&url),
        })
    }

    /// Whom the certificate must name.
    pub fn server_name(&self) -> Result<ServerName<'static>, Fault> {
        match &self.host {
            Host::Address(address) => Ok(ServerName::from(*address)),
            Host::Name(name) => ServerName::try_from(name.clone())
                .map_err(|_| Fault::Url("names a host that no certificate can name".to_owned())),
        }
    }

    /// The request, with the bytes of the message as they were signed.
    pub fn request(&self, attempt: &Attempt<'_>) -> Result<Request<Full<Bytes>>, Fault> {
        let body = Full::new(Bytes::copy_from_slice(attempt.message.body));
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(&self.path)
            .header(HOST, self.authority())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, AGENT);
        for (name, value) in attempt.secrets.headers(&attempt.message) {
            request = request.header(name, value);
        }
        for (name, value) in attempt.headers.reveal() {
            request = request.header(name, value);
        }
        request
            .body(body)
            .map_err(|_| Fault::Url("has a path that HTTP cannot carry".to_owned()))
    }

    fn authority(&self) -> String {
        let host = match &self.host {
            Host::Name(name) => name.clone(),
            Host::Address(IpAddr::V4(address)) => address.to_string(),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
        };
        match self.port {
            PORT => host,
            port => format!("{host}:{port}"),
        }
    }
}

fn path(url: &Url) -> String {
    url[Position::BeforePath..Position::AfterQuery].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use awo_domain::webhook::headers::SecretHeaders;
    use awo_domain::webhook::signature::{Message, Secret, Secrets};
    use awo_domain::{EventId, OrgId, Timestamp};
    use proptest::prelude::*;

    proptest! {
        /// What was taken when the webhook was made can be sent to, whatever its path and query.
        #[test]
        fn every_path_that_is_taken_makes_a_request(rest in "([/?][ -~ü漢]{0,40})?") {
            let text = format!("https://hooks.example.com{rest}");
            let Ok(url) = WebhookUrl::parse(&text, Reach::Public) else { return Ok(()) };
            let at = Timestamp::from_epoch_ms(0);
            let (org, id) = (OrgId::new(at, 1), EventId::new(at, 1));
            let secrets = Secrets { current: Secret::new([1; 32]), previous: None };
            let message = Message { id: &id, sent_at: at, body: b"{}" };
            let headers = SecretHeaders::default();
            let attempt = Attempt { org: &org, url: &url, secrets: &secrets, headers: &headers, message };
            let target = Target::of(&url, Reach::Public).unwrap();
            let request = target.request(&attempt).unwrap();
            prop_assert!(request.uri().path().starts_with('/'), "{}", request.uri());
            prop_assert!(request.uri().host().is_none());
        }
    }

    #[test]
    fn a_host_that_no_certificate_can_name_is_reported() {
        for host in ["a&b.example.com", "-.example.com"] {
            let url = WebhookUrl::parse(&format!("https://{host}/"), Reach::Public).unwrap();
            let target = Target::of(&url, Reach::Public).unwrap();
            let fault = target.server_name().unwrap_err().to_string();
            assert_eq!(fault, "the URL names a host that no certificate can name");
        }
    }
}
