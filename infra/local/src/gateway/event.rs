//! The REST proxy event (payload version 1.0). Invariant: a function gets the same event as in the
//! cloud: the same keys, nulls where API Gateway writes nulls, and no header that API Gateway
//! withholds.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, request};
use serde_json::{Map, Value, json};

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

pub(crate) fn event(
    head: &request::Parts,
    body: &Bytes,
    binary: bool,
    found: &Match<'_>,
    call: &Call<'_>,
) -> Value {
    let headers = headers(&head.headers, call);
    let query = query(head.uri.query());
    let body = match body {
        empty if empty.is_empty() => Value::Null,
        bytes if binary => Value::String(STANDARD.encode(bytes)),
        bytes => Value::String(String::from_utf8_lossy(bytes).into_owned()),
    };
    json!({
        "resource": found.resource,
        "path": head.uri.path(),
        "httpMethod": head.method.as_str(),
        "headers": last_values(&headers),
        "multiValueHeaders": all_values(&headers),
        "queryStringParameters": last_values(&query),
        "multiValueQueryStringParameters": all_values(&query),
        "pathParameters": if found.parameters.is_empty() { Value::Null } else { json!(found.parameters) },
        "stageVariables": null,
        "requestContext": context(head, found, call),
        "isBase64Encoded": binary && !body.is_null(),
        "body": body,
    })
}

/// Values by name; the names in the order of the alphabet, the values as they came.
type Values = BTreeMap<String, Vec<String>>;

fn headers(headers: &HeaderMap, call: &Call<'_>) -> Values {
    let mut values = Values::new();
    for (name, value) in headers {
        if !DROPPED.contains(&name.as_str()) {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            values
                .entry(name.as_str().to_owned())
                .or_default()
                .push(value);
        }
    }
    let peer = call.peer.ip().to_string();
    let forwarded = match values.remove("x-forwarded-for") {
        Some(hops) => format!("{}, {peer}", hops.join(", ")),
        None => peer,
    };
    values.insert("x-forwarded-for".to_owned(), vec![forwarded]);
    values.insert("x-forwarded-port".to_owned(), vec![call.port.to_string()]);
    values.insert("x-forwarded-proto".to_owned(), vec!["http".to_owned()]);
    values.insert("x-amzn-trace-id".to_owned(), vec![call.trace_id.to_owned()]);
    values
}

fn query(query: Option<&str>) -> Values {
    let mut values = Values::new();
    for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        values
            .entry(name.into_owned())
            .or_default()
            .push(value.into_owned());
    }
    values
}

fn last_values(values: &Values) -> Value {
    if values.is_empty() {
        return Value::Null;
    }
    let last = values
        .iter()
        .filter_map(|(name, values)| Some((name.clone(), Value::String(values.last()?.clone()))));
    Value::Object(last.collect::<Map<String, Value>>())
}

fn all_values(values: &Values) -> Value {
    if values.is_empty() {
        Value::Null
    } else {
        json!(values)
    }
}

fn context(head: &request::Parts, found: &Match<'_>, call: &Call<'_>) -> Value {
    let host = head
        .headers
        .get(http::header::HOST)
        .and_then(|host| host.to_str().ok());
    let user_agent = head
        .headers
        .get(http::header::USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    json!({
        "accountId": arn::ACCOUNT,
        "apiId": API_ID,
        "domainName": host,
        "domainPrefix": host.and_then(|host| host.split(['.', ':']).next()),
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
            "sourceIp": call.peer.ip().to_string(),
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
