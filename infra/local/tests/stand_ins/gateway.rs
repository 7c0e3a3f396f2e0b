use std::sync::Arc;
use std::time::Duration;

use awo_local::Server;
use awo_local::function::{Function, Registry, http_function};
use awo_local::gateway::{self, GatewayRoute, GatewaySettings};
use awo_local::shutdown::Shutdown;
use lambda_http::{Body, Request, RequestExt, Response, service_fn};
use serde_json::{Value, json};

use crate::cloud::{http_client, loopback};

/// A gateway with one function behind every route.
pub struct Api {
    pub server: Server,
    pub http: reqwest::Client,
    shutdown: Shutdown,
}

impl Drop for Api {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

impl Api {
    pub async fn start(function: Function) -> Self {
        Self::with(
            &[("ANY", "/items/{id}"), ("ANY", "/{proxy+}")],
            function,
            |_| {},
        )
        .await
    }

    pub async fn with(
        routes: &[(&str, &str)],
        function: Function,
        change: impl FnOnce(&mut GatewaySettings),
    ) -> Self {
        let registry = Registry::new();
        registry.register("api", function, Duration::from_secs(20));
        Self::over(registry, routes, change).await
    }

    pub async fn over(
        registry: Registry,
        routes: &[(&str, &str)],
        change: impl FnOnce(&mut GatewaySettings),
    ) -> Self {
        let routes = routes.iter().map(|(method, path)| GatewayRoute {
            method: (*method).to_owned(),
            path: (*path).to_owned(),
            function: "api".to_owned(),
        });
        let mut settings = GatewaySettings::new(routes.collect());
        change(&mut settings);
        let shutdown = Shutdown::new();
        let server =
            gateway::start(loopback().await, settings, registry, shutdown.clone()).unwrap();
        Self {
            server,
            http: http_client(),
            shutdown,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }

    pub async fn get(&self, path: &str) -> reqwest::Response {
        self.http.get(self.url(path)).send().await.unwrap()
    }
}

/// A function that answers its event.
pub fn mirror() -> Function {
    Arc::new(|event, _| Box::pin(async move { Ok(json!({"statusCode": 200, "body": event})) }))
}

/// A function that always answers the same.
pub fn constant(answer: Value) -> Function {
    Arc::new(move |_, _| {
        let answer = answer.clone();
        Box::pin(async move { Ok(answer) })
    })
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
async fn the_event_is_that_of_api_gateway() {
    let api = Api::start(mirror()).await;
    let answer = api
        .http
        .post(api.url("/items/a%2Fb%20c?x=1&y=%C3%A9+z&x=2"))
        .header("content-type", "application/json")
        .header("user-agent", "test/1")
        .header("x-forwarded-for", "203.0.113.9")
        .header("x-many", "one")
        .header("x-many", "two")
        .header("connection", "keep-alive")
        .body("{\"é\":1}")
        .send()
        .await
        .unwrap();
    let request_id = answer.headers()["x-amzn-requestid"]
        .to_str()
        .unwrap()
        .to_owned();
    let extended_id = answer.headers()["x-amz-apigw-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let trace_id = answer.headers()["x-amzn-trace-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let mut event: Value = answer.json().await.unwrap();
    let time = event["requestContext"]["requestTimeEpoch"].take();
    assert!(time.as_u64().unwrap() > 1_700_000_000_000);
    let time = event["requestContext"]["requestTime"].take();
    assert_eq!(
        time.as_str().unwrap().len(),
        "20/Nov/2026:09:37:41 +0000".len()
    );
    let host = api.server.address().to_string();
    let port = api.server.address().port().to_string();
    let expected = json!({
        "resource": "/items/{id}",
        "path": "/items/a%2Fb%20c",
        "httpMethod": "POST",
        "headers": {
            "accept": "*/*",
            "content-type": "application/json",
            "host": host,
            "user-agent": "test/1",
            "x-amzn-trace-id": trace_id,
            "x-forwarded-for": "203.0.113.9, 127.0.0.1",
            "x-forwarded-port": port,
            "x-forwarded-proto": "http",
            "x-many": "two",
        },
        "multiValueHeaders": {
            "accept": ["*/*"],
            "content-type": ["application/json"],
            "host": [host],
            "user-agent": ["test/1"],
            "x-amzn-trace-id": [trace_id],
            "x-forwarded-for": ["203.0.113.9, 127.0.0.1"],
            "x-forwarded-port": [port],
            "x-forwarded-proto": ["http"],
            "x-many": ["one", "two"],
        },
        "queryStringParameters": {"x": "2", "y": "é z"},
        "multiValueQueryStringParameters": {"x": ["1", "2"], "y": ["é z"]},
        "pathParameters": {"id": "a/b c"},
        "stageVariables": null,
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local00000",
            "domainName": host,
            "domainPrefix": "127",
            "extendedRequestId": extended_id,
            "httpMethod": "POST",
            "identity": {
                "accessKey": null,
                "accountId": null,
                "caller": null,
                "cognitoAuthenticationProvider": null,
                "cognitoAuthenticationType": null,
                "cognitoIdentityId": null,
                "cognitoIdentityPoolId": null,
                "principalOrgId": null,
                "sourceIp": "127.0.0.1",
                "user": null,
                "userAgent": "test/1",
                "userArn": null,
            },
            "path": "/items/a%2Fb%20c",
            "protocol": "HTTP/1.1",
            "requestId": request_id,
            "requestTime": null,
            "requestTimeEpoch": null,
            "resourceId": "local0",
            "resourcePath": "/items/{id}",
            "stage": "v1",
        },
        "body": "{\"é\":1}",
        "isBase64Encoded": false,
    });
    assert_eq!(event, expected);
}

#[tokio::test]
async fn what_is_absent_is_null_in_the_event() {
    let api = Api::with(&[("GET", "/")], mirror(), |_| {}).await;
    let event: Value = api.get("/").await.json().await.unwrap();
    for field in [
        "queryStringParameters",
        "multiValueQueryStringParameters",
        "pathParameters",
        "stageVariables",
        "body",
    ] {
        assert_eq!(event[field], Value::Null, "{field}");
    }
}

#[tokio::test]
async fn a_handler_of_lambda_http_serves_the_call() {
    let handler = http_function(service_fn(|request: Request| async move {
        let seen = json!({
            "method": request.method().as_str(),
            "path": request.raw_http_path(),
            "id": request.path_parameters().first("id"),
            "x": request.query_string_parameters().all("x"),
            "many": request.headers().get_all("x-many").iter().count(),
            "body": request.body().len(),
            "deadline": request.lambda_context().deadline > 0,
        });
        Response::builder()
            .status(201)
            .header("x-twice", "one")
            .header("x-twice", "two")
            .body(Body::Text(seen.to_string()))
            .map_err(lambda_http::Error::from)
    }));
    let api = Api::start(handler).await;
    let answer = api.http.put(api.url("/items/7?x=1&x=2"));
    let answer = answer
        .header("x-many", "1")
        .header("x-many", "2")
        .body("four");
    let answer = answer.send().await.unwrap();
    assert_eq!(answer.status(), 201);
    assert_eq!(answer.headers()["content-type"], "application/json");
    let twice: Vec<_> = answer.headers().get_all("x-twice").iter().collect();
    assert_eq!(twice, ["one", "two"]);
    let expected = json!({
        "method": "PUT", "path": "/items/7", "id": "7", "x": ["1", "2"], "body": 4,
        // lambda_http puts `headers` over `multiValueHeaders`: the last value is all it shows.
        "many": 1,
        "deadline": true,
    });
    assert_eq!(answer.json::<Value>().await.unwrap(), expected);
}

#[tokio::test]
async fn bytes_reach_the_function_and_the_client_unchanged() {
    let handler = http_function(service_fn(|request: Request| async move {
        // Without such a type lambda_http takes the body for text and replaces what is none.
        Response::builder()
            .header("content-type", "application/octet-stream")
            .body(request.into_body())
            .map_err(lambda_http::Error::from)
    }));
    let api = Api::start(handler).await;
    let bytes: Vec<u8> = (0..=255).collect();
    for (media_type, body) in [
        ("application/json", bytes.clone()),
        ("application/octet-stream", b"text".to_vec()),
        ("text/plain", "é".as_bytes().to_vec()),
    ] {
        let post = api
            .http
            .post(api.url("/items/1"))
            .header("content-type", media_type);
        let answer = post.body(body.clone()).send().await.unwrap();
        assert_eq!(answer.bytes().await.unwrap(), body, "{media_type}");
    }
}

#[tokio::test]
async fn a_body_is_base64_when_it_is_binary_by_type_or_by_content() {
    let api = Api::start(mirror()).await;
    for (media_type, body, expected) in [
        ("application/json", &b"text"[..], json!(["text", false])),
        (
            "application/octet-stream",
            b"text",
            json!(["dGV4dA==", true]),
        ),
        ("application/json", b"\xff\xfe", json!(["//4=", true])),
    ] {
        let post = api
            .http
            .post(api.url("/items/1"))
            .header("content-type", media_type);
        let event: Value = post.body(body).send().await.unwrap().json().await.unwrap();
        assert_eq!(json!([event["body"], event["isBase64Encoded"]]), expected);
    }
}

#[tokio::test]
async fn head_and_options_belong_to_any() {
    let api = Api::start(mirror()).await;
    let head = api.http.head(api.url("/items/1")).send().await.unwrap();
    assert_eq!(
        (head.status().as_u16(), head.bytes().await.unwrap().len()),
        (200, 0)
    );
    let options = api
        .http
        .request(reqwest::Method::OPTIONS, api.url("/items/1"));
    let event: Value = options.send().await.unwrap().json().await.unwrap();
    assert_eq!(event["httpMethod"], "OPTIONS");
}

#[tokio::test]
async fn headers_that_belong_to_the_gateway_are_renamed_or_dropped() {
    let api = Api::start(constant(json!({
        "statusCode": 401,
        "headers": {
            "WWW-Authenticate": "Bearer",
            "Server": "mine",
            "Date": "today",
            "Content-Length": "99",
            "Transfer-Encoding": "chunked",
            "X-Kept": true,
        },
        "multiValueHeaders": {"Set-Cookie": ["a=1", "b=2"], "X-Kept": ["true"]},
        "body": "{}",
    })))
    .await;
    let answer = api.get("/items/1").await;
    let headers = answer.headers();
    assert_eq!(headers["x-amzn-remapped-www-authenticate"], "Bearer");
    assert_eq!(headers["x-amzn-remapped-server"], "mine");
    assert_eq!(headers["x-amzn-remapped-date"], "today");
    assert_eq!(headers["x-amzn-remapped-content-length"], "99");
    assert_eq!(headers["content-length"], "2");
    for gone in [
        "www-authenticate",
        "transfer-encoding",
        "x-amzn-remapped-transfer-encoding",
    ] {
        assert!(!headers.contains_key(gone), "{gone}");
    }
    assert_eq!(headers.get_all("set-cookie").iter().count(), 2);
    assert_eq!(headers.get_all("x-kept").iter().count(), 1);
    assert!(headers.contains_key("x-amzn-requestid") && headers.contains_key("x-amz-apigw-id"));
}
