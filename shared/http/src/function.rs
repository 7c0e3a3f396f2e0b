//! A Lambda function that serves a route: authentication, scopes, rate; then the handler; then the
//! notifications that it recorded are sent; then the response's style, its headers and a log line.
//! It is the same for functions that respond whole and for those that may stream.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use awo_cloud::notifications::Notifier;
use awo_cloud::{Cloud, SetupError};
use awo_domain::control::ANSWER_MARK;
use awo_domain::{Error, Timestamp};
use lambda_http::http::HeaderValue;
use lambda_http::tower::Service;
use lambda_http::{Body, Request, RequestExt, Response};

use crate::access_log::AccessLog;
use crate::answer::Answer;
use crate::authentication::{Authenticator, authenticate};
use crate::call::Call;
use crate::cors::Cors;
use crate::reply::{IntoBody, Pieces};
use awo_contract::routes::{RECEIVE_DELIVERY, Route, Style};

type Answering<B> = Pin<Box<dyn Future<Output = Result<Response<B>, lambda_http::Error>> + Send>>;

/// A function as the Lambda runtime wants it, with the kind of its answers' bodies.
pub struct HttpFunction<B = Body>(Arc<dyn Fn(Request) -> Answering<B> + Send + Sync>);

/// A function whose answers may come in pieces.
pub type StreamingFunction = HttpFunction<Pieces>;

impl<B> Clone for HttpFunction<B> {
    fn clone(&self) -> HttpFunction<B> {
        HttpFunction(Arc::clone(&self.0))
    }
}

impl<B> Service<Request> for HttpFunction<B> {
    type Response = Response<B>;
    type Error = lambda_http::Error;
    type Future = Answering<B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), lambda_http::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Answering<B> {
        (self.0)(request)
    }
}

/// Runs a function on Lambda until Lambda ends it.
///
/// Not generic, so that what a function stands on is compiled here, once, and not for each of the
/// programs.
///
/// # Errors
/// When a setting is missing, or the runtime fails.
pub async fn serve(
    make: fn(&Cloud) -> Result<HttpFunction, SetupError>,
) -> Result<(), lambda_http::Error> {
    awo_cloud::telemetry::start();
    let cloud = Cloud::from_process();
    lambda_http::run(make(&cloud)?).await
}

/// As [`serve`], for a function whose answers may come in pieces.
///
/// # Errors
/// When a setting is missing, or the runtime fails.
pub async fn serve_streaming(
    make: fn(&Cloud) -> Result<StreamingFunction, SetupError>,
) -> Result<(), lambda_http::Error> {
    awo_cloud::telemetry::start();
    let cloud = Cloud::from_process();
    lambda_http::run_with_streaming_response(make(&cloud)?).await
}

impl<B: Send + 'static> HttpFunction<B> {
    /// A function for callers with a key.
    ///
    /// # Errors
    /// When a setting is missing, or the route and the handler do not agree on whether answers
    /// may come in pieces.
    pub fn keyed<S, A, F, Fut>(
        cloud: &Cloud,
        route: &'static Route,
        state: S,
        handle: F,
    ) -> Result<HttpFunction<B>, SetupError>
    where
        S: Send + Sync + 'static,
        A: IntoBody<B> + Send,
        F: Fn(Arc<S>, Call) -> Fut + Copy + Send + Sync + 'static,
        Fut: Future<Output = Result<A, Error>> + Send + 'static,
    {
        let (doorkeeper, cors, clock, state) = (
            Authenticator::new(cloud)?,
            Cors::of(cloud)?,
            cloud.clock.clone(),
            Arc::new(state),
        );
        let notifier = Notifier::new(cloud);
        if !route.is_keyed() {
            return Err(SetupError::Missing(format!("a key of {}", route.path)));
        }
        if route.streams != A::STREAMS {
            let what = format!(
                "a handler of {} that answers as its route declares",
                route.path
            );
            return Err(SetupError::Missing(what));
        }
        Ok(HttpFunction(Arc::new(move |request| {
            let line = AccessLog::of(&request, route, cors.headers(&request));
            let (doorkeeper, clock, state) =
                (doorkeeper.clone(), clock.clone(), Arc::clone(&state));
            let notifier = notifier.clone();
            let has_foreign_origin = !cors.admits(&request);
            Box::pin(async move {
                let now = clock.now();
                let (caller, rate) = match doorkeeper.caller(&request, now).await {
                    Ok(known) => known,
                    Err(error) => return A::sent(Err(error), line).await,
                };
                let line = line.by(&caller, rate);
                if let Err(error) = authenticate(&caller, route.scopes(), rate, now) {
                    return A::sent(Err(error), line).await;
                }
                let call = Call {
                    caller,
                    now,
                    request_id: line.request_id().to_owned(),
                    has_foreign_origin,
                    route,
                    request,
                };
                let answered = handle(state, call).await;
                notifier.notify().await;
                A::sent(answered.map(|answer| answer.notifying(notifier)), line).await
            })
        })))
    }
}

impl HttpFunction {
    /// A function for everybody.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn open<F, Fut>(
        cloud: &Cloud,
        route: &'static Route,
        handle: F,
    ) -> Result<HttpFunction, SetupError>
    where
        F: Fn(Request) -> Fut + Copy + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        let cors = Cors::of(cloud)?;
        Ok(HttpFunction(Arc::new(move |request| {
            let line = AccessLog::of(&request, route, cors.headers(&request));
            Box::pin(async move { Answer::sent(handle(request).await, line).await })
        })))
    }

    /// A function for senders of inboxes, which have no key: its handler checks the signature.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn signed<S, F, Fut>(
        cloud: &Cloud,
        route: &'static Route,
        state: S,
        handle: F,
    ) -> Result<HttpFunction, SetupError>
    where
        S: Send + Sync + 'static,
        F: Fn(Arc<S>, Request, Timestamp) -> Fut + Copy + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        let (cors, clock, state) = (Cors::of(cloud)?, cloud.clock.clone(), Arc::new(state));
        Ok(HttpFunction(Arc::new(move |request| {
            let line = AccessLog::of(&request, route, cors.headers(&request));
            let (now, state) = (clock.now(), Arc::clone(&state));
            Box::pin(async move { Answer::sent(handle(state, request, now).await, line).await })
        })))
    }

    /// A function for runners, which have no key: its handler checks the nonce or the token. Every answer has
    /// [`ANSWER_MARK`], by which a runner knows it from those of what stands in between.
    pub fn for_runner<S, F, Fut>(cloud: &Cloud, state: S, handle: F) -> HttpFunction
    where
        S: Send + Sync + 'static,
        F: Fn(Arc<S>, Request, Timestamp) -> Fut + Copy + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        let (clock, state) = (cloud.clock.clone(), Arc::new(state));
        let notifier = Notifier::new(cloud);
        HttpFunction(Arc::new(move |request| {
            let (now, state, notifier) = (clock.now(), Arc::clone(&state), notifier.clone());
            Box::pin(async move {
                let line = AccessLog::at(&request, request.raw_http_path(), Style::Plain);
                let answered = handle(state, request, now).await;
                notifier.notify().await;
                let mut answer = Answer::sent(answered, line).await?;
                let ours = HeaderValue::from_static("1");
                answer.headers_mut().insert(ANSWER_MARK, ours);
                Ok(answer)
            })
        }))
    }

    /// The function for what no route serves: 401 without a good key, then 404 where no route has
    /// the path; for other methods of a known path 405, and for OPTIONS what there is. A browser's
    /// preflight for a page of an allowed origin is answered without a key.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn fallback(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
        let (doorkeeper, cors, clock) = (
            Authenticator::new(cloud)?,
            Cors::of(cloud)?,
            cloud.clock.clone(),
        );
        Ok(HttpFunction(Arc::new(move |request| {
            let (doorkeeper, clock) = (doorkeeper.clone(), clock.clone());
            let path = request.raw_http_path();
            let methods = crate::routes::methods_of(path);
            let line =
                AccessLog::at(&request, path, Style::of_path(path)).with(cors.headers(&request));
            let preflight = cors.preflight(&request, &methods);
            // A sender has no key, and is to see that only its method is wrong.
            let is_hook = RECEIVE_DELIVERY.matches(path);
            let is_known_to_all = is_hook && request.method() != "OPTIONS";
            Box::pin(async move {
                if is_known_to_all {
                    let allow = methods.join(", ");
                    return Answer::sent(Err(Error::MethodNotAllowed { allow }), line).await;
                }
                if let Some(headers) = preflight {
                    return Answer::sent(Ok(Answer::no_content()), line.with(headers)).await;
                }
                let (caller, rate) = match doorkeeper.caller(&request, clock.now()).await {
                    Ok(known) => known,
                    Err(error) => return Answer::sent(Err(error), line).await,
                };
                let answer = match (methods.as_slice(), request.method().as_str()) {
                    ([], _) => Err(Error::NotFound(awo_domain::Resource::Route)),
                    (methods, "OPTIONS") => Ok(Answer::options(methods)),
                    (methods, _) => Err(Error::MethodNotAllowed {
                        allow: methods.join(", "),
                    }),
                };
                Answer::sent(answer, line.by(&caller, rate)).await
            })
        })))
    }
}
