//! `POST /mcp`: a message of the Model Context Protocol, answered without a session.

use std::sync::Arc;
use std::time::Duration;

use awo_cloud::{Cloud, SetupError};
use awo_domain::Error;
use awo_http::{Answer, Call, HttpFunction, routes};
use awo_mcp::{Headers, Reply, Server};
use reqwest::{Client, redirect};
use tokio::time::Instant;

use crate::rest_api::RestApi;

/// For a connection to the gateway.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The function `serve-mcp`.
///
/// # Errors
/// When a setting is missing, or there is no HTTP client to be had.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    // Errs only if a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .build();
    let client = client.map_err(|why| SetupError::Missing(format!("an HTTP client: {why}")))?;
    HttpFunction::keyed(cloud, &routes::SERVE_MCP, client, handle)
}

async fn handle(client: Arc<Client>, call: Call) -> Result<Answer, Error> {
    let began = Instant::now();
    if call.has_foreign_origin {
        return Ok(answer(Reply::to_foreign_origin()));
    }
    call.query().finish()?;
    let body = call.json()?;
    let authorization = call.header("authorization").ok_or(Error::Unauthorized)?;
    let server = Server {
        api: RestApi {
            client: &client,
            base_url: call.base_url()?,
            authorization,
            began,
        },
        scopes: &call.caller.scopes,
    };
    let headers = Headers {
        version: call.header("mcp-protocol-version"),
        method: call.header("mcp-method"),
        name: call.header("mcp-name"),
    };
    Ok(answer(server.answer(headers, body).await))
}

fn answer(reply: Reply) -> Answer {
    match reply.body {
        Some(body) => Answer::json_with(reply.status, body.to_string()),
        None => Answer::accepted(),
    }
}
