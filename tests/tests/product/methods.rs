//! Methods that every path has, and pages of other origins.

use awo_http::routes::{Access, ROUTES, methods_of};
use awo_tests::service::TestService;

use crate::authorisation::samples::{self, Things};
use crate::http_api::quiet_service;

#[tokio::test]
async fn head_answers_as_get_does_without_a_body() {
    let service = quiet_service().await;
    let things = Things::of(&service).await;
    for sample in samples::keyed().iter().filter(|sample| sample.only_reads()) {
        let path = sample.target(&things);
        let get = service.client.get(&path).await;
        let head = service.client.send("HEAD", &path, &[], Vec::new()).await;
        assert_eq!(
            (head.status, head.text.as_str()),
            (get.status, ""),
            "{path}"
        );
        assert_eq!(
            head.header("content-type"),
            get.header("content-type"),
            "{path}"
        );
        let live = [("accept", "text/event-stream")];
        let head = service.client.send("HEAD", &path, &live, Vec::new()).await;
        assert_eq!(
            (head.status, head.text.as_str()),
            (get.status, ""),
            "{path}"
        );
    }
}

#[tokio::test]
async fn options_lists_the_methods_of_a_path_for_keys_only() {
    let service = quiet_service().await;
    let things = Things::of_nobody(&service);
    let nobody = service.client.with_key(None);
    for sample in samples::keyed() {
        let path = sample.target(&things);
        let reported = service.client.send("OPTIONS", &path, &[], Vec::new()).await;
        assert_eq!(
            (reported.status, reported.text.as_str()),
            (204, ""),
            "{path}"
        );
        let path = path.split('?').next().unwrap();
        assert_eq!(
            reported.header("allow"),
            methods_of(path).join(", "),
            "{path}"
        );
        let refused = nobody.send("OPTIONS", path, &[], Vec::new()).await;
        assert_eq!(refused.status, 401, "{path}");
    }
    let unknown = service
        .client
        .send("OPTIONS", "/v1/nothing", &[], Vec::new());
    assert_eq!(unknown.await.status, 404);
}

/// A page's origin, and what a browser asks before it sends the page's request.
const PAGE: (&str, &str) = ("origin", "https://app.example.com");
const ASKS: (&str, &str) = ("access-control-request-method", "POST");

async fn with_origins(origins: &str) -> TestService {
    let settings = [("AWO_MAX_CONCURRENT", "0"), ("AWO_CORS_ORIGINS", origins)];
    TestService::start(1_000, &settings).await
}

#[tokio::test]
async fn no_page_may_read_answers_unless_the_deployment_says_so() {
    let service = quiet_service().await;
    for (method, path) in [
        ("GET", "/v1/credits"),
        ("OPTIONS", "/v1/credits"),
        ("GET", "/openapi.json"),
    ] {
        let answer = service
            .client
            .send(method, path, &[PAGE, ASKS], Vec::new())
            .await;
        let reply = answer
            .headers
            .keys()
            .any(|name| name.as_str().starts_with("access-control"));
        assert!(!reply, "{method} {path}: {:?}", answer.headers);
    }
    let nobody = service.client.with_key(None);
    let asked = nobody
        .send("OPTIONS", "/v1/credits", &[PAGE, ASKS], Vec::new())
        .await;
    assert_eq!(asked.status, 401);
}

#[tokio::test]
async fn pages_of_an_allowed_origin_may_ask_without_a_key_and_read_every_answer() {
    let service = with_origins("https://app.example.com, https://other.example.com").await;
    let things = Things::of_nobody(&service);
    let nobody = service.client.with_key(None);
    for sample in samples::keyed() {
        let path = sample.target(&things);
        let asked = nobody
            .send("OPTIONS", &path, &[PAGE, ASKS], Vec::new())
            .await;
        let allowed = asked.header("access-control-allow-methods");
        assert_eq!(asked.status, 204, "{path}");
        assert!(
            allowed
                .split(", ")
                .any(|method| method == sample.route.method),
            "{path}: {allowed}"
        );
        assert!(
            asked
                .header("access-control-allow-headers")
                .contains("Authorization")
        );
        for client in [&service.client, &nobody] {
            let answer = sample.send_with(client, &things, &[PAGE]).await;
            assert_eq!(
                answer.header("access-control-allow-origin"),
                PAGE.1,
                "{path}"
            );
            assert_eq!(answer.header("vary"), "origin", "{path}");
            assert!(
                answer
                    .header("access-control-expose-headers")
                    .contains("X-Request-Id")
            );
            let other = [("origin", "https://evil.example.com")];
            let answer = sample.send_with(client, &things, &other).await;
            assert_eq!(answer.header("access-control-allow-origin"), "", "{path}");
        }
    }
    let stranger = [("origin", "https://evil.example.com"), ASKS];
    let refused = nobody
        .send("OPTIONS", "/v1/credits", &stranger, Vec::new())
        .await;
    assert_eq!(refused.status, 401);
    for route in ROUTES.iter().filter(|route| route.access == Access::Runner) {
        let path = route.path.replace(['{', '}'], "");
        let asked = nobody
            .send("OPTIONS", &path, &[PAGE, ASKS], Vec::new())
            .await;
        assert_eq!(asked.status, 401, "{path} is not for pages");
    }
}

#[tokio::test]
async fn a_deployment_may_let_every_page_read() {
    let service = with_origins("*").await;
    let answer = service
        .client
        .send("GET", "/v1/credits", &[PAGE], Vec::new())
        .await;
    assert_eq!(answer.header("access-control-allow-origin"), "*");
}
