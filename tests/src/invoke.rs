//! Calling functions as Lambda does, with real events.

use std::collections::BTreeMap;

use awo_local::function::Function;
use serde_json::{Value, json};

/// An answer of an HTTP function.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Status.
    pub status: u64,
    /// Body, as sent.
    pub text: String,
    /// Body, parsed.
    pub body: Value,
    /// Headers.
    pub headers: Value,
}

pub(crate) fn context() -> lambda_runtime::Context {
    let mut context = lambda_runtime::Context::default();
    context.deadline = u64::MAX;
    context
}

/// What a REST API hands a function for a request.
#[must_use]
pub fn proxy_event(
    method: &str,
    resource: &str,
    path: &str,
    parameters: &[(&str, &str)],
    headers: &[(&str, String)],
    body: Option<&Value>,
) -> Value {
    let single: BTreeMap<&str, &str> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let multi: BTreeMap<&str, Vec<&str>> = headers
        .iter()
        .map(|(n, v)| (*n, vec![v.as_str()]))
        .collect();
    let parameters: BTreeMap<&str, &str> = parameters.iter().copied().collect();
    json!({
        "resource": resource,
        "path": path,
        "httpMethod": method,
        "headers": single,
        "multiValueHeaders": multi,
        "queryStringParameters": null,
        "multiValueQueryStringParameters": null,
        "pathParameters": parameters,
        "stageVariables": null,
        "requestContext": {
            "accountId": "123456789012", "apiId": "api", "httpMethod": method, "path": path, "stage": "live",
            "resourceId": "r", "resourcePath": resource, "requestId": "test-request", "identity": { "sourceIp": "127.0.0.1" },
            "protocol": "HTTP/1.1", "requestTimeEpoch": 0,
        },
        "body": body.map(Value::to_string),
        "isBase64Encoded": false,
    })
}

/// Calls an HTTP function with a REST proxy event.
pub(crate) async fn http(
    function: &Function,
    method: &str,
    resource: &str,
    path: &str,
    parameters: &[(&str, &str)],
    headers: &[(&str, String)],
    body: Option<&Value>,
) -> Reply {
    let event = proxy_event(method, resource, path, parameters, headers, body);
    match function(event.to_string(), context()).await {
        Ok(answer) => {
            let text = answer["body"].as_str().unwrap_or_default().to_owned();
            Reply {
                status: answer["statusCode"].as_u64().unwrap_or(0),
                body: serde_json::from_str(&text).unwrap_or(Value::Null),
                headers: answer["multiValueHeaders"].clone(),
                text,
            }
        }
        Err(error) => Reply {
            status: 0,
            body: Value::Null,
            headers: Value::Null,
            text: error,
        },
    }
}
