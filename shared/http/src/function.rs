//! A Lambda function that serves a route: who calls, may they, how often; then the handler;
//! then the answer's dress, its headers and a line in the log.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use awo_cloud::{Cloud, SetupError, settings};
use awo_domain::api_key::{ApiKey, Scope};
use awo_domain::{Error, Timestamp};
use awo_store::Store;
use awo_store::keys::Caller;
use lambda_http::request::RequestContext;
use lambda_http::tower::Service;
use lambda_http::{Body, Request, RequestExt, Response};

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::routes::{Access, Route, Style};

type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, lambda_http::Error>> + Send>>;

/// A function as the Lambda runtime wants it.
#[derive(Clone)]
pub struct HttpFunction(Arc<dyn Fn(Request) -> Answering + Send + Sync>);

impl Service<Request> for HttpFunction {
    type Response = Response<Body>;
    type Error = lambda_http::Error;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), lambda_http::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Answering {
        (self.0)(request)
    }
}

/// Runs a function on Lambda until Lambda ends it.
///
/// # Errors
/// When a setting is missing, or the runtime fails.
pub async fn serve(
    make: impl FnOnce(&Cloud) -> Result<HttpFunction, SetupError>,
) -> Result<(), lambda_http::Error> {
    awo_cloud::telemetry::start();
    let cloud = Cloud::from_process().await;
    lambda_http::run(make(&cloud)?).await
}

/// Knows callers by their keys.
#[derive(Debug, Clone)]
struct Doorkeeper {
    store: Store,
    requests_per_minute: u32,
}

/// The rate limit as it stands, for the answer's headers.
#[derive(Debug, Clone, Copy)]
struct Rate {
    limit: u32,
    remaining: u32,
    reset: Timestamp,
}

impl Doorkeeper {
    fn new(cloud: &Cloud) -> Result<Doorkeeper, SetupError> {
        let requests_per_minute = settings::requests_per_minute(&cloud.environment)?;
        Ok(Doorkeeper {
            store: cloud.store()?,
            requests_per_minute,
        })
    }

    async fn caller(&self, request: &Request, now: Timestamp) -> Result<(Caller, Rate), Error> {
        let key = bearer(request)
            .and_then(ApiKey::parse)
            .ok_or(Error::Unauthorized)?;
        let caller = self.store.authenticate(&key, now).await?;
        let limit = caller
            .requests_per_minute
            .unwrap_or(self.requests_per_minute);
        let rate = Rate {
            limit,
            remaining: limit.saturating_sub(caller.window_count),
            reset: caller.window_end,
        };
        Ok((caller, rate))
    }
}

fn allowed(caller: &Caller, scope: Scope) -> Result<(), Error> {
    if scope.is_granted_by(&caller.scopes) {
        Ok(())
    } else {
        Err(Error::MissingScope(scope.as_str().to_owned()))
    }
}

fn within(rate: Rate, used: u32, now: Timestamp) -> Result<(), Error> {
    let retry_after_s = (rate.reset.ms_since(now) + 999) / 1_000;
    if used <= rate.limit {
        Ok(())
    } else {
        Err(Error::RateLimited {
            retry_after_s: retry_after_s.max(1),
        })
    }
}

/// The credential of an `Authorization: Bearer` header that is sent once.
#[must_use]
pub fn bearer(request: &Request) -> Option<&str> {
    let mut values = request.headers().get_all("authorization").iter();
    let value = values.next()?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    let one = values.next().is_none() && scheme.eq_ignore_ascii_case("bearer");
    one.then_some(credential.trim())
}

impl HttpFunction {
    /// A function for callers with a key.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn keyed<S, F, Fut>(
        cloud: &Cloud,
        route: &'static Route,
        state: S,
        handle: F,
    ) -> Result<HttpFunction, SetupError>
    where
        S: Send + Sync + 'static,
        F: Fn(Arc<S>, Call) -> Fut + Copy + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        let (doorkeeper, clock, state) = (
            Doorkeeper::new(cloud)?,
            cloud.clock.clone(),
            Arc::new(state),
        );
        let Access::Key(scope) = route.access else {
            return Err(SetupError::Missing(format!("a scope of {}", route.path)));
        };
        Ok(HttpFunction(Arc::new(move |request| {
            let (doorkeeper, clock, state) =
                (doorkeeper.clone(), clock.clone(), Arc::clone(&state));
            Box::pin(async move {
                let (now, log) = (clock.now(), Line::of(&request, Some(route)));
                let request_id = log.request_id.clone();
                let (caller, rate) = match doorkeeper.caller(&request, now).await {
                    Ok(known) => known,
                    Err(error) => return log.answer(Err(error), route.style, None),
                };
                let log = log.by(&caller);
                let let_in =
                    allowed(&caller, scope).and_then(|()| within(rate, caller.window_count, now));
                let answer = match let_in {
                    Ok(()) => {
                        handle(
                            state,
                            Call {
                                caller,
                                now,
                                request_id,
                                route,
                                request,
                            },
                        )
                        .await
                    }
                    Err(error) => Err(error),
                };
                log.answer(answer, route.style, Some(rate))
            })
        })))
    }

    /// A function for runners, who have no key: its handler checks the nonce or the token.
    pub fn for_runner<S, F, Fut>(cloud: &Cloud, state: S, handle: F) -> HttpFunction
    where
        S: Send + Sync + 'static,
        F: Fn(Arc<S>, Request, Timestamp) -> Fut + Copy + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        let (clock, state) = (cloud.clock.clone(), Arc::new(state));
        HttpFunction(Arc::new(move |request| {
            let (now, state) = (clock.now(), Arc::clone(&state));
            Box::pin(async move {
                let log = Line::of(&request, None);
                log.answer(handle(state, request, now).await, Style::Plain, None)
            })
        }))
    }

    /// The function for what no route serves: 401 without a good key, then 405 where the path is
    /// known by other methods, else 404.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn fallback(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
        let (doorkeeper, clock) = (Doorkeeper::new(cloud)?, cloud.clock.clone());
        Ok(HttpFunction(Arc::new(move |request| {
            let (doorkeeper, clock) = (doorkeeper.clone(), clock.clone());
            Box::pin(async move {
                let (log, path) = (Line::of(&request, None), request.raw_http_path().to_owned());
                let style = Style::of_path(&path);
                let (caller, rate) = match doorkeeper.caller(&request, clock.now()).await {
                    Ok(known) => known,
                    Err(error) => return log.answer(Err(error), style, None),
                };
                let methods = crate::routes::methods_of(&path);
                let error = if methods.is_empty() {
                    Error::NotFound(awo_domain::Resource::Route)
                } else {
                    Error::MethodNotAllowed {
                        allow: methods.join(", "),
                    }
                };
                log.by(&caller).answer(Err(error), style, Some(rate))
            })
        })))
    }
}

/// What the log will say of a request.
struct Line {
    began: Instant,
    request_id: String,
    method: String,
    path: String,
    caller: Option<String>,
}

impl Line {
    fn of(request: &Request, route: Option<&Route>) -> Line {
        let request_id = match request.request_context_ref() {
            Some(RequestContext::ApiGatewayV1(context)) => context.request_id.clone(),
            _ => None,
        };
        Line {
            began: Instant::now(),
            request_id: request_id.unwrap_or_else(|| "unknown".to_owned()),
            method: request.method().to_string(),
            path: route.map_or_else(
                || request.raw_http_path().to_owned(),
                |route| route.path.to_owned(),
            ),
            caller: None,
        }
    }

    fn by(self, caller: &Caller) -> Line {
        Line {
            caller: Some(format!("{}/{}", caller.org_id, caller.key_id)),
            ..self
        }
    }

    fn answer(
        self,
        answer: Result<Answer, Error>,
        style: Style,
        rate: Option<Rate>,
    ) -> Result<Response<Body>, lambda_http::Error> {
        let (status, body, headers) = match &answer {
            Ok(answer) => {
                let (status, body) = answer.rendered(style, &self.request_id);
                (status, body, answer.headers.clone())
            }
            Err(error) => {
                let failure = Failure::of(error, style);
                (
                    failure.status,
                    failure.body(style, &self.request_id).to_string(),
                    failure.headers,
                )
            }
        };
        self.write(status, answer.as_ref().err());
        let mut response = Response::builder()
            .status(status)
            .header("content-type", "application/json")
            .header("x-request-id", &self.request_id);
        if let Some(rate) = rate {
            response = response
                .header("x-ratelimit-limit", rate.limit)
                .header("x-ratelimit-remaining", rate.remaining)
                .header("x-ratelimit-reset", rate.reset.epoch_seconds());
        }
        for (name, value) in headers {
            response = response.header(name, value);
        }
        Ok(response.body(Body::Text(body))?)
    }

    fn write(&self, status: u16, error: Option<&Error>) {
        let Line {
            request_id,
            method,
            path,
            caller,
            ..
        } = self;
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        match error {
            Some(Error::Internal { cause }) => {
                tracing::error!(
                    request_id,
                    method,
                    path,
                    caller,
                    status,
                    ms,
                    cause,
                    "request failed"
                );
            }
            _ => tracing::info!(request_id, method, path, caller, status, ms, "request"),
        }
    }
}
