//! The REST proxy event (payload version 1.0). Invariant: a function gets the same event as in the
//! cloud: the same keys, nulls where API Gateway writes nulls, and no header that API Gateway
//! withholds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, request};
use serde::Serialize;
use serde_json::{Value, json};

use crate::arn;
use crate::gateway::routes::Match;

/// Headers that never reach a function.
const DROPPED: [&str; 12] = [
    "connection",
    "content-length",
    "content-md5",
    "expect",
    "max-forwards",
    "proxy-authenticate",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
];

/// The id of this API, as it stands in `requestContext`.
const API_ID: &str = "local00000";

/// What the gateway knows of one call besides its HTTP request.
#[derive(Clone, Debug)]
pub(crate) struct Call<'a> {
    pub stage: &'a str,
    pub peer: SocketAddr,
    pub port: u16,
    pub request_id: &'a str,
    pub extended_request_id: &'a str,
    pub trace_id: &'a str,
    pub time: DateTime<Utc>,
}

/// Whether a body goes to the function as it is, or as Base64.
pub(crate) fn is_binary(binary_media_types: &[String], headers: &HeaderMap, body: &Bytes) -> bool {
    let media_type = headers
        .get(http::header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .map(|value| value.trim().to_ascii_lowercase());
    let declared = media_type.is_some_and(|media_type| {
        binary_media_types
            .iter()
            .any(|binary| match binary.strip_suffix("/*") {
                Some("*") => true,
                Some(family) => media_type.split('/').next() == Some(family),
                None => *binary == media_type,
            })
    });
    // Text that is no UTF-8 cannot stand in JSON: handed on as text, it would be changed.
    declared || std::str::from_utf8(body).is_err()
}

/// The event's text.
pub(crate) fn event(
    head: &request::Parts,
    body: &Bytes,
    binary: bool,
    found: &Match<'_>,
    call: &Call<'_>,
) -> serde_json::Result<String> {
    let peer = call.peer.ip().to_string();
    let port = call.port.to_string();
    let headers = headers(&head.headers, call, &peer, &port);
    let query = query(head.uri.query());
    let body = match body {
        empty if empty.is_empty() => None,
        bytes if binary => Some(Cow::Owned(STANDARD.encode(bytes))),
        bytes => Some(String::from_utf8_lossy(bytes)),
    };
    serde_json::to_string(&ProxyEvent {
        resource: found.resource,
        path: head.uri.path(),
        http_method: head.method.as_str(),
        headers: last_values(&headers),
        multi_value_headers: all_values(&headers),
        query_string_parameters: last_values(&query),
        multi_value_query_string_parameters: all_values(&query),
        path_parameters: (!found.parameters.is_empty()).then_some(&found.parameters),
        stage_variables: (),
        request_context: context(head, found, call, &peer, &port),
        is_base64_encoded: binary && body.is_some(),
        body,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProxyEvent<'a, P> {
    resource: &'a str,
    path: &'a str,
    http_method: &'a str,
    headers: Option<BTreeMap<&'a str, &'a str>>,
    multi_value_headers: Option<&'a Values<'a>>,
    query_string_parameters: Option<BTreeMap<&'a str, &'a str>>,
    multi_value_query_string_parameters: Option<&'a Values<'a>>,
    path_parameters: Option<&'a P>,
    stage_variables: (),
    request_context: Value,
    is_base64_encoded: bool,
    body: Option<Cow<'a, str>>,
}

/// Values by name; the names in the order of the alphabet, the values as they came.
type Values<'a> = BTreeMap<Cow<'a, str>, Vec<Cow<'a, str>>>;

fn headers<'a>(
    headers: &'a HeaderMap,
    call: &Call<'a>,
    peer: &'a str,
    port: &'a str,
) -> Values<'a> {
    let mut values = Values::new();
    for (name, value) in headers {
        if !DROPPED.contains(&name.as_str()) {
            let value = String::from_utf8_lossy(value.as_bytes());
            values.entry(name.as_str().into()).or_default().push(value);
        }
    }
    let forwarded = match values.remove("x-forwarded-for") {
        Some(hops) => Cow::Owned(format!("{}, {peer}", hops.join(", "))),
        None => peer.into(),
    };
    for (name, value) in [
        ("x-forwarded-for", forwarded),
        ("x-forwarded-port", port.into()),
        ("x-forwarded-proto", "http".into()),
        ("x-amzn-trace-id", call.trace_id.into()),
    ] {
        values.insert(name.into(), vec![value]);
    }
    values
}

fn query(query: Option<&str>) -> Values<'_> {
    let mut values = Values::new();
    for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        values.entry(name).or_default().push(value);
    }
    values
}

fn last_values<'a>(values: &'a Values<'a>) -> Option<BTreeMap<&'a str, &'a str>> {
    let last = values.iter();
    let last = last.filter_map(|(name, values)| Some((name.as_ref(), values.last()?.as_ref())));
    (!values.is_empty()).then(|| last.collect())
}

fn all_values<'a>(values: &'a Values<'a>) -> Option<&'a Values<'a>> {
    (!values.is_empty()).then_some(values)
}

fn context(
    head: &request::Parts,
    found: &Match<'_>,
    call: &Call<'_>,
    peer: &str,
    port: &str,
) -> Value {
    // Its own domain, whatever the request says.
    let host = format!("127.0.0.1:{port}");
    let user_agent = head
        .headers
        .get(http::header::USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    json!({
        "accountId": arn::ACCOUNT,
        "apiId": API_ID,
        "domainName": host,
        "domainPrefix": "127",
        "extendedRequestId": call.extended_request_id,
        "httpMethod": head.method.as_str(),
        "identity": {
            "accessKey": null,
            "accountId": null,
            "caller": null,
            "cognitoAuthenticationProvider": null,
            "cognitoAuthenticationType": null,
            "cognitoIdentityId": null,
            "cognitoIdentityPoolId": null,
            "principalOrgId": null,
            "sourceIp": peer,
            "user": null,
            "userAgent": user_agent,
            "userArn": null,
        },
        "path": head.uri.path(),
        "protocol": "HTTP/1.1",
        "requestId": call.request_id,
        "requestTime": call.time.format("%d/%b/%Y:%H:%M:%S %z").to_string(),
        "requestTimeEpoch": call.time.timestamp_millis(),
        "resourceId": "local0",
        "resourcePath": found.resource,
        "stage": call.stage,
    })
}
