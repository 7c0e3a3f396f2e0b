//! Rules for every call of the runner to a server: `https` except on loopback, no redirects, no
//! proxies from the environment. Each call carries a secret, which no other server gets.

use reqwest::{Client, ClientBuilder, redirect};

/// A client's beginning; its caller adds the times.
pub(crate) fn builder(plain_http: bool) -> ClientBuilder {
    // Errs only if a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .redirect(redirect::Policy::none())
        .no_proxy()
        .https_only(!plain_http)
}

/// The same for one that speaks to loopback alone where it may speak plainly: no certificate will
/// be looked at then, and reading the system's takes milliseconds.
pub(crate) fn builder_of_one_server(plain_http: bool) -> ClientBuilder {
    if plain_http {
        builder(plain_http).tls_certs_only([])
    } else {
        builder(plain_http)
    }
}

/// # Errors
/// A sentence, if there is no client to be had.
pub(crate) fn build(builder: ClientBuilder) -> Result<Client, String> {
    builder
        .build()
        .map_err(|why| format!("cannot set up the HTTP client: {why}"))
}
