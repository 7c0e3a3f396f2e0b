//! API Gateway, REST API with Lambda proxy integration. Invariant: it is never more lenient than
//! the real one: whatever the real one refuses, renames, limits or truncates is refused, renamed,
//! limited and truncated here, with the same messages.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::BodyExt;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::clock;
use crate::function::{InvocationError, Outcome, Registry};
use crate::gateway::answer::GatewayResponse;
pub use crate::gateway::answer::{
    ANSWER_BYTES, FOREIGN_HOST, ResponseBody, STREAM_IDLE, STREAM_TIMEOUT,
};
use crate::gateway::compression::Coding;
pub use crate::gateway::edge::{Edge, EdgeRefusal, Throttle};
use crate::gateway::event::Call;
pub use crate::gateway::routes::GatewayRoute;
use crate::gateway::routes::Routes;
use crate::health::Health;
use crate::serve::{self, Answer, Limits, RequestBody, Server};
use crate::shutdown::Shutdown;

mod answer;
mod compression;
mod edge;
mod event;
mod routes;

/// API Gateway's limit for a request's body.
pub const REQUEST_BYTES: usize = 10 * 1024 * 1024;

/// Lambda's limit for the event that the request becomes; the gateway answers 413 as well.
pub const EVENT_BYTES: usize = 6 * 1024 * 1024;

/// API Gateway's limit for the request line and all headers together.
pub const HEAD_BYTES: usize = 10_240;

/// API Gateway's default timeout of an integration.
pub const INTEGRATION_TIMEOUT: Duration = Duration::from_secs(29);

/// Connections at once. Not a limit of the real one; a bound for this machine.
pub const CONNECTIONS: usize = 2048;

/// Read buffer of a connection: above [`HEAD_BYTES`], so that the limit of API Gateway is the
/// one that is met.
const BUFFER_BYTES: usize = 64 * 1024;

/// Silence on a kept-alive connection, longer than the usual 90 s of client pools.
const HEAD_TIME: Duration = Duration::from_secs(120);

/// Of a body that is too large, this much is read and thrown away, so that the client sees
/// the 413 and not a broken connection.
const DISCARDED_BYTES: usize = 64 * 1024 * 1024;

/// Answers below this are compressed where they are: it takes less than a thread's change.
const IN_PLACE_BYTES: usize = 16 * 1024;

/// How the gateway is set up.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    pub routes: Vec<GatewayRoute>,
    pub stage: String,
    /// [`INTEGRATION_TIMEOUT`] in earnest. For a streamed answer it covers the head only.
    pub integration_timeout: Duration,
    /// Media types whose bodies always travel as Base64; `image/*` and `*/*` are allowed.
    pub binary_media_types: Vec<String>,
    /// Bytes from which answers are compressed; none where they never are.
    pub minimum_compression_size: Option<usize>,
    /// Answers `GET /health`, which is not of the real one; without it that is a path like any other.
    pub health: Option<Health>,
    /// What refuses calls before it.
    pub edge: Edge,
    /// The bodies of its own responses; in its own words where there is none.
    pub responses: &'static [ResponseBody],
}

impl GatewaySettings {
    /// The defaults of the real one around `routes`.
    #[must_use]
    pub fn new(routes: Vec<GatewayRoute>) -> Self {
        Self {
            routes,
            stage: "v1".to_owned(),
            integration_timeout: INTEGRATION_TIMEOUT,
            binary_media_types: vec!["application/octet-stream".to_owned()],
            minimum_compression_size: None,
            health: None,
            edge: Edge::default(),
            responses: &[],
        }
    }
}

struct Gateway {
    routes: Routes,
    stage: String,
    integration_timeout: Duration,
    binary_media_types: Vec<String>,
    minimum_compression_size: Option<usize>,
    health: Option<Health>,
    edge: Edge,
    responses: &'static [ResponseBody],
    registry: Registry,
    address: SocketAddr,
}

/// Serves the routes until the shutdown.
///
/// # Errors
/// When the listener is not on loopback, or a route names a function that is not registered.
pub fn start(
    listener: TcpListener,
    settings: GatewaySettings,
    registry: Registry,
    shutdown: Shutdown,
) -> io::Result<Server> {
    let unknown = settings
        .routes
        .iter()
        .find(|route| !registry.contains(&route.function));
    if let Some(route) = unknown {
        let GatewayRoute {
            method,
            path,
            function,
        } = route;
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{method} {path} is routed to the unknown function {function}"),
        ));
    }
    let gateway = Arc::new(Gateway {
        routes: Routes::new(settings.routes),
        stage: settings.stage,
        integration_timeout: settings.integration_timeout,
        binary_media_types: settings.binary_media_types,
        minimum_compression_size: settings.minimum_compression_size,
        health: settings.health,
        edge: settings.edge,
        responses: settings.responses,
        registry,
        address: listener.local_addr()?,
    });
    let limits = Limits {
        connections: CONNECTIONS,
        head_bytes: BUFFER_BYTES,
        head_time: HEAD_TIME,
    };
    serve::serve(listener, limits, shutdown, move |request, peer| {
        let gateway = Arc::clone(&gateway);
        async move { gateway.answer(request, peer).await }
    })
}

impl Gateway {
    async fn answer(&self, request: Request<RequestBody>, peer: SocketAddr) -> Answer {
        if let Some(answer) = self
            .health
            .as_ref()
            .and_then(|health| health.answer(&request))
        {
            return answer;
        }
        let request_id = uuid::Uuid::new_v4();
        let bytes = request_id.as_bytes();
        // The real one is 15 characters and a padding sign; the shape is all that matters.
        let extended_request_id = format!("{}=", &hex::encode(&bytes[..8])[..15]);
        let request_id = request_id.to_string();
        let time = clock::now();
        let trace_id = request
            .headers()
            .get("x-amzn-trace-id")
            .and_then(|id| id.to_str().ok());
        let trace_id = trace_id.map_or_else(|| trace_id_of(&request_id, time), str::to_owned);
        let call = Call {
            stage: &self.stage,
            peer,
            port: self.address.port(),
            request_id: &request_id,
            extended_request_id: &extended_request_id,
            trace_id: &trace_id,
            time,
        };
        let mut answer = self
            .integrate(request, &call)
            .await
            .unwrap_or_else(|refusal| refusal.answer_with(self.responses, &request_id));
        let headers = answer.headers_mut();
        for (name, value) in [
            ("x-amzn-requestid", &request_id),
            ("x-amz-apigw-id", &extended_request_id),
            ("x-amzn-trace-id", &trace_id),
        ] {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
        answer
    }

    async fn integrate(
        &self,
        request: Request<RequestBody>,
        call: &Call<'_>,
    ) -> Result<Answer, GatewayResponse> {
        let (mut head, body) = request.into_parts();
        if head_bytes(&head) > HEAD_BYTES {
            return Err(GatewayResponse::HeadTooLarge);
        }
        self.check_host(&mut head.headers)?;
        let (method, path) = (head.method.as_str(), head.uri.path());
        if let Some(refusal) = self.edge.refusal(path) {
            let Some(answer) = refusal.answer() else {
                return std::future::pending().await;
            };
            return Err(answer);
        }
        let found = self
            .routes
            .find(method, path)
            .ok_or(GatewayResponse::MissingAuthenticationToken)?;
        self.edge.take(method, found.resource, Instant::now())?;
        let body = read(body).await?;
        let binary = event::is_binary(&self.binary_media_types, &head.headers, &body);
        let event = event::event(&head, &body, binary, &found, call)
            .map_err(|_| GatewayResponse::BadRequest)?;
        if event.len() > EVENT_BYTES {
            return Err(GatewayResponse::RequestTooLarge);
        }
        let invocation = self.registry.call(found.function, event);
        let outcome = match tokio::time::timeout(self.integration_timeout, invocation).await {
            Err(_) => return Err(GatewayResponse::TimedOut),
            Ok(outcome) => outcome.map_err(|error| refused(found.function, &error))?,
        };
        let answer = match outcome {
            Outcome::Whole(answer) => match answer::whole(answer) {
                Ok(answer) => Ok(self
                    .compressed(answer, &head.headers)
                    .await
                    .map(serve::whole)),
                Err(fault) => Err(fault),
            },
            Outcome::Stream(answer) => answer::stream(answer),
        };
        answer.map_err(|fault| {
            tracing::error!(
                function = found.function,
                fault,
                "malformed Lambda proxy response"
            );
            GatewayResponse::FunctionFailed
        })
    }

    async fn compressed(&self, answer: Response<Bytes>, asked: &HeaderMap) -> Response<Bytes> {
        let (Some(minimum), Some(coding)) = (self.minimum_compression_size, Coding::wanted(asked))
        else {
            return answer;
        };
        if answer.body().len() < IN_PLACE_BYTES {
            return compression::compressed(answer, coding, minimum);
        }
        let unchanged = answer.clone();
        let work = move || compression::compressed(answer, coding, minimum);
        tokio::task::spawn_blocking(work).await.unwrap_or(unchanged)
    }

    /// The real one knows its domains and answers no other. Here that also keeps a web page,
    /// whose name was made to resolve to loopback, from calling the service.
    fn check_host(&self, headers: &mut HeaderMap) -> Result<(), GatewayResponse> {
        let Some(host) = headers.get(http::header::HOST) else {
            let own = HeaderValue::from_str(&self.address.to_string());
            headers.insert(
                http::header::HOST,
                own.map_err(|_| GatewayResponse::BadRequest)?,
            );
            return Ok(());
        };
        let authority: http::uri::Authority = host
            .to_str()
            .ok()
            .and_then(|host| host.parse().ok())
            .ok_or(GatewayResponse::BadRequest)?;
        let name = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        let local = name.eq_ignore_ascii_case("localhost")
            || name
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        if local {
            Ok(())
        } else {
            Err(GatewayResponse::ForeignHost)
        }
    }
}

fn refused(function: &str, error: &InvocationError) -> GatewayResponse {
    tracing::error!(function, %error, "an invocation failed");
    match error {
        InvocationError::Unknown(_) | InvocationError::Throttled => {
            GatewayResponse::FunctionUnreachable
        }
        InvocationError::Failed(_)
        | InvocationError::Panicked(_)
        | InvocationError::TimedOut(_) => GatewayResponse::FunctionFailed,
    }
}

fn head_bytes(head: &http::request::Parts) -> usize {
    let path = head
        .uri
        .path_and_query()
        .map_or(0, |path| path.as_str().len());
    let headers: usize = head
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    head.method.as_str().len() + path + headers
}

async fn read(mut body: RequestBody) -> Result<Bytes, GatewayResponse> {
    let mut bytes = Vec::new();
    let mut size = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| GatewayResponse::BadRequest)?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        size = size.saturating_add(data.len());
        if size > DISCARDED_BYTES {
            return Err(GatewayResponse::RequestTooLarge);
        }
        if size > REQUEST_BYTES {
            bytes = Vec::new();
        } else {
            bytes.extend_from_slice(&data);
        }
    }
    if size > REQUEST_BYTES {
        Err(GatewayResponse::RequestTooLarge)
    } else {
        Ok(bytes.into())
    }
}

fn trace_id_of(request_id: &str, time: chrono::DateTime<chrono::Utc>) -> String {
    let unique: String = request_id
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(24)
        .collect();
    format!("Root=1-{:08x}-{unique}", time.timestamp())
}
