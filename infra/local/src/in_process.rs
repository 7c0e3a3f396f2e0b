//! The SDK's HTTP client of the process with the stand-ins: a request to one of them is passed
//! without a socket. Invariants: the same function serves these requests and those from sockets,
//! with the same checks; a caller that stops waiting withdraws a request that has not begun, as a
//! closed connection does; requests to other hosts use the network.

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};

use crate::serve::{BoxError, Inside, RequestBody, Server};

/// A client that reaches `servers` without a socket, and other hosts over the network.
#[must_use]
pub fn http_client<'a>(servers: impl IntoIterator<Item = &'a Server>) -> SharedHttpClient {
    let servers = servers.into_iter().map(Server::inside);
    SharedHttpClient::new(Client {
        servers: servers
            .map(|server| (server.address().to_string(), server))
            .collect(),
        network: awo_cloud::http_client(),
    })
}

#[derive(Debug)]
struct Client {
    /// By host and port.
    servers: Vec<(String, Inside)>,
    network: SharedHttpClient,
}

impl HttpClient for Client {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector {
            servers: self.servers.clone(),
            network: self.network.http_connector(settings, components),
        })
    }
}

#[derive(Debug)]
struct Connector {
    servers: Vec<(String, Inside)>,
    network: SharedHttpConnector,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let endpoint = request.uri().strip_prefix("http://");
        let endpoint = endpoint.and_then(|rest| rest.split('/').next());
        let server = self
            .servers
            .iter()
            .find(|(address, _)| Some(address.as_str()) == endpoint);
        match server {
            Some((_, server)) => HttpConnectorFuture::new(call(server.clone(), request)),
            None => self.network.call(request),
        }
    }
}

async fn call(server: Inside, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
    // Between a request and its answer others have their turn, as they have on the way to a socket.
    tokio::task::yield_now().await;
    let request = request
        .try_into_http1x()
        .map_err(|error| user(error.into()))?;
    let (head, body) = request.into_parts();
    let body = body
        .bytes()
        .ok_or_else(|| user("the stand-ins take no streamed bodies".into()))?;
    let body: RequestBody = Full::new(Bytes::copy_from_slice(body))
        .map_err(|never| match never {})
        .boxed_unsync();
    let answer = server
        .answer(http::Request::from_parts(head, body))
        .await
        .ok_or_else(|| ConnectorError::io("the stand-in has ended".into()))?;
    let (head, body) = answer.into_parts();
    let body = body.collect().await.map_err(ConnectorError::io)?;
    let answer = http::Response::from_parts(head, SdkBody::from(body.to_bytes()));
    HttpResponse::try_from(answer).map_err(|error| user(error.into()))
}

fn user(error: BoxError) -> ConnectorError {
    ConnectorError::user(error)
}
