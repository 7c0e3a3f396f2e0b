//! Pages for people: served without a key, with a policy that keeps them to their own files.

use awo_tests::client::Answer;
use awo_tests::service::TestService;

use crate::http_api::quiet_service;

async fn got(service: &TestService, path: &str, headers: &[(&str, &str)]) -> Answer {
    let nobody = service.client.with_key(None);
    nobody.send("GET", path, headers, Vec::new()).await
}

/// What a page names in `src` and `href`.
fn named_in(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in page.split(['<', '>']) {
        for attribute in ["src=\"", "href=\""] {
            if let Some(rest) = part.split_once(attribute).map(|(_, rest)| rest) {
                found.extend(rest.split('"').next().map(str::to_owned));
            }
        }
    }
    found
}

#[tokio::test]
async fn the_page_of_the_api_needs_no_key_and_loads_nothing_from_elsewhere() {
    let service = quiet_service().await;
    let page = got(&service, "/docs", &[]).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let named = named_in(&page.text);
    assert!(named.iter().any(|name| name.contains("redoc")), "{named:?}");
    for name in named.iter().filter(|name| !name.starts_with("data:")) {
        assert!(
            !name.contains("//") && !name.starts_with('/'),
            "{name} is elsewhere"
        );
        // As a browser does: what the page names is beside it.
        let file = got(&service, &format!("/{name}"), &[]).await;
        assert_eq!(file.status, 200, "{name}");
        if name.starts_with("docs/") {
            assert_eq!(file.header("x-content-type-options"), "nosniff", "{name}");
        }
    }
    let policy = page.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self';"),
        "{policy}"
    );
    for loose in ["unsafe-inline", "unsafe-eval", "http:", "https:", "*"] {
        assert!(!policy.contains(loose), "{policy}");
    }
    assert!(
        !page.text.contains("<script>") && !page.text.contains("style="),
        "{}",
        page.text
    );
}

#[tokio::test]
async fn a_browser_that_has_a_file_of_a_page_does_not_get_it_again() {
    let service = quiet_service().await;
    for path in ["/docs", "/docs/redoc.standalone.js"] {
        let first = got(&service, path, &[]).await;
        let tag = first.header("etag");
        let again = got(&service, path, &[("if-none-match", tag)]).await;
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}");
        let other = got(&service, path, &[("if-none-match", "W/\"other\"")]).await;
        assert_eq!(other.text, first.text, "{path}");
    }
    let head = service.client.with_key(None);
    let head = head.send("HEAD", "/docs", &[], Vec::new()).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}

#[tokio::test]
async fn a_page_has_no_other_files_and_no_other_methods() {
    let service = quiet_service().await;
    for path in [
        "/docs/index.js",
        "/docs/..%2Fopenapi.json",
        "/docs/Cargo.toml",
    ] {
        let none = got(&service, path, &[]).await;
        assert_eq!(none.status, 404, "{path}: {}", none.text);
    }
    let posted = service.client.send("POST", "/docs", &[], Vec::new()).await;
    assert_eq!(
        (posted.status, posted.header("allow")),
        (405, "GET, HEAD, OPTIONS")
    );
}
