//! Messages answered by Amazon Bedrock: a call in Anthropic's form becomes an InvokeModel that is
//! signed with the run's credentials, and its answer comes back in Anthropic's form. The counting of a
//! call's tokens becomes a CountTokens.
//!
//! Invariants:
//! - credentials reach neither the agent nor a log, and no answer of AWS's about identities does;
//! - a stream that does not reach its end is an outage, however it breaks off.

mod body;
mod counting;
mod credentials;
mod failure;
mod stream;

use std::time::SystemTime;

use awo_domain::control::bedrock::{BedrockAccess, BedrockModel, SessionCredentials};
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, Response};

use super::answer::{Answer, NoAnswer};
use super::refusal::Refusal;

pub(super) use body::translated;
pub(crate) use credentials::CredentialIssuer;
use credentials::RunCredentials;
use failure::{Failure, is_expired};
pub(super) use stream::Events;

/// What signatures call the service.
const SERVICE: &str = "bedrock";
/// Whose credentials they are, for the signer's own records.
const CREDENTIAL_SOURCE: &str = "run";
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: &str = "application/vnd.amazon.eventstream";
const SSE: HeaderValue = HeaderValue::from_static("text/event-stream");
/// The media type of the model's own answer within a stream of events.
const MODEL_ACCEPT: HeaderName = HeaderName::from_static("x-amzn-bedrock-accept");
/// Bedrock's id of a call, and Anthropic's name for it.
const REQUEST_ID: (&str, HeaderName) = ("x-amzn-requestid", HeaderName::from_static("request-id"));
/// What is not encoded in a segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The way to Bedrock.
pub(super) struct Bedrock {
    access: BedrockAccess,
    credentials: RunCredentials,
    http: Client,
}

/// What a model is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Invoke,
    Stream,
    CountTokens,
}

/// A call of a model.
pub(super) struct Invocation {
    /// A model's or an inference profile's id, or an ARN.
    model_id: String,
    operation: Operation,
    /// In Bedrock's form.
    body: Vec<u8>,
}

impl Invocation {
    /// Lets a model answer.
    pub(super) fn of(called: BedrockModel, streams: bool, body: Vec<u8>) -> Invocation {
        Invocation {
            model_id: called.id,
            operation: if streams {
                Operation::Stream
            } else {
                Operation::Invoke
            },
            body,
        }
    }

    /// Counts the tokens of such a body.
    ///
    /// # Errors
    /// A refusal, where no model counts them.
    pub(super) fn count(called: &BedrockModel, body: &[u8]) -> Result<Invocation, Refusal> {
        let Some(model_id) = called.counted_by() else {
            let message = "bedrock counts no tokens for an application's own inference profile, \
                           since its ARN does not name the model";
            return Err(Refusal::new(StatusCode::NOT_FOUND, message));
        };
        Ok(Invocation {
            model_id: model_id.to_owned(),
            operation: Operation::CountTokens,
            body: counting::request(body),
        })
    }
}

impl Bedrock {
    pub(super) fn new(access: BedrockAccess, issuer: CredentialIssuer, http: Client) -> Bedrock {
        Bedrock {
            access,
            credentials: RunCredentials::new(issuer),
            http,
        }
    }

    /// What is called for a model.
    ///
    /// # Errors
    /// A refusal, if nothing is.
    pub(super) fn model(&self, name: &str) -> Result<BedrockModel, Refusal> {
        let known = self.access.inference_profiles.of(name);
        known.ok_or_else(|| {
            let message = format!(
                "bedrock has no inference profile for the model {name:?} here: its operator adds \
                 it to the deployment's BedrockInferenceProfiles"
            );
            Refusal::new(StatusCode::NOT_FOUND, message)
        })
    }

    /// Invokes a model. Credentials that have expired on the way are renewed once.
    ///
    /// # Errors
    /// Why it was not answered.
    pub(super) async fn send(
        &self,
        call: &Invocation,
        headers: &HeaderMap,
    ) -> Result<Answer, NoAnswer> {
        let credentials = self.credentials.valid().await?;
        let answer = self.send_with(&credentials, call, headers).await?;
        if !is_expired(answer.status(), answer.headers()) {
            return Ok(translated_answer(answer, call.operation).await);
        }
        let renewed = self.credentials.instead_of(&credentials).await?;
        let answer = self.send_with(&renewed, call, headers).await?;
        Ok(translated_answer(answer, call.operation).await)
    }

    async fn send_with(
        &self,
        credentials: &SessionCredentials,
        call: &Invocation,
        headers: &HeaderMap,
    ) -> Result<Response, NoAnswer> {
        let url = self.url(call);
        let mut sent = HeaderMap::new();
        sent.insert(CONTENT_TYPE, JSON);
        match call.operation {
            Operation::Stream => {
                sent.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
                sent.insert(MODEL_ACCEPT, JSON);
            }
            Operation::Invoke | Operation::CountTokens => drop(sent.insert(ACCEPT, JSON)),
        }
        self.sign(credentials, &url, &mut sent, &call.body)
            .map_err(|why| {
                let why = format!("the call cannot be signed: {why}");
                NoAnswer::Refused(Refusal::new(StatusCode::BAD_GATEWAY, why))
            })?;
        // Not signed: it is of no consequence.
        if let Some(agent) = headers.get(USER_AGENT) {
            sent.insert(USER_AGENT, agent.clone());
        }
        let request = self.http.post(url).headers(sent).body(call.body.clone());
        request.send().await.map_err(|why| {
            let why = why.without_url();
            NoAnswer::Outage(format!("bedrock could not be reached: {why}"))
        })
    }

    fn url(&self, call: &Invocation) -> String {
        let base = self.access.base_url.as_str();
        let model = utf8_percent_encode(&call.model_id, SEGMENT);
        let operation = match call.operation {
            Operation::Invoke => "invoke",
            Operation::Stream => "invoke-with-response-stream",
            Operation::CountTokens => "count-tokens",
        };
        format!("{base}/model/{model}/{operation}")
    }

    fn sign(
        &self,
        credentials: &SessionCredentials,
        url: &str,
        headers: &mut HeaderMap,
        body: &[u8],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let identity = Credentials::new(
            &credentials.access_key_id,
            &credentials.secret_access_key,
            Some(credentials.session_token.clone()),
            None,
            CREDENTIAL_SOURCE,
        )
        .into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.access.region)
            .name(SERVICE)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()?
            .into();
        let signed = headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let request = SignableRequest::new("POST", url, signed, SignableBody::Bytes(body))?;
        let (instructions, _) = sign(request, &parameters)?.into_parts();
        let (added, _) = instructions.into_parts();
        for header in added {
            let mut value = HeaderValue::from_str(header.value())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(header.name()), value);
        }
        Ok(())
    }
}

/// Bedrock's answer in Anthropic's form.
async fn translated_answer(answer: Response, operation: Operation) -> Answer {
    let mut headers = HeaderMap::new();
    if let Some(id) = answer.headers().get(REQUEST_ID.0) {
        headers.insert(REQUEST_ID.1, id.clone());
    }
    if !answer.status().is_success() {
        let failure = Failure::read(answer).await;
        headers.extend(failure.headers);
        headers.insert(CONTENT_TYPE, JSON);
        return Answer::whole(failure.status, headers, failure.body, failure.outage);
    }
    let kind = answer.headers().get(CONTENT_TYPE);
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(EVENT_STREAM.as_bytes())) {
        headers.insert(CONTENT_TYPE, SSE);
        return Answer::events(headers, Events::new(answer));
    }
    headers.insert(CONTENT_TYPE, JSON);
    match operation {
        Operation::CountTokens => counting::answer(headers, answer).await,
        Operation::Invoke | Operation::Stream => Answer::passed_on(headers, answer),
    }
}
