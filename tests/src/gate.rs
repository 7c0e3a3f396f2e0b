//! A wrapper of the SDK's HTTP client that answers the calls of one operation only once so many of
//! them are under way: a caller that waits for one before it makes the next never gets an answer.

use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use tokio::sync::Barrier;

/// A client that goes as `inner` does, but for the calls of `operation`, of which `together` have to
/// be under way.
#[must_use]
pub fn gated(
    inner: SharedHttpClient,
    operation: &'static str,
    together: usize,
) -> SharedHttpClient {
    SharedHttpClient::new(GatedClient {
        inner,
        operation,
        barrier: Arc::new(Barrier::new(together)),
    })
}

#[derive(Debug)]
struct GatedClient {
    inner: SharedHttpClient,
    operation: &'static str,
    barrier: Arc<Barrier>,
}

impl HttpClient for GatedClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(GatedConnector {
            inner: self.inner.http_connector(settings, components),
            operation: self.operation,
            barrier: Arc::clone(&self.barrier),
        })
    }
}

#[derive(Debug)]
struct GatedConnector {
    inner: SharedHttpConnector,
    operation: &'static str,
    barrier: Arc<Barrier>,
}

impl HttpConnector for GatedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let barrier = target
            .ends_with(&format!(".{}", self.operation))
            .then(|| Arc::clone(&self.barrier));
        let inner = self.inner.clone();
        HttpConnectorFuture::new(async move {
            if let Some(barrier) = barrier {
                barrier.wait().await;
            }
            inner.call(request).await
        })
    }
}
