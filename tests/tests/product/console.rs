//! The console's files: everybody may load them, with a policy for browsers.

use crate::http_api::quiet_service;

#[tokio::test]
async fn the_console_is_loaded_without_a_key_and_a_browser_may_run_nothing_else() {
    let service = quiet_service().await;
    let client = service.client.with_key(None);
    let moved = client.get("/console").await;
    assert_eq!((moved.status, moved.header("location")), (308, "console/"));
    for (path, kind) in [
        ("/console/", "text/html; charset=utf-8"),
        ("/console/index.html", "text/html; charset=utf-8"),
        ("/console/console.js", "text/javascript; charset=utf-8"),
        ("/console/console.css", "text/css; charset=utf-8"),
    ] {
        let file = client.get(path).await;
        assert_eq!(
            (file.status, file.header("content-type")),
            (200, kind),
            "{path}"
        );
        let policy = file.header("content-security-policy");
        assert!(policy.starts_with(
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"
        ));
        assert!(
            !policy.contains("unsafe") && !policy.contains("http"),
            "{policy}"
        );
        assert_eq!(file.header("x-content-type-options"), "nosniff");
        let known = [("if-none-match", file.header("etag"))];
        let again = client.send("GET", path, &known, Vec::new()).await;
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}");
    }
    for path in [
        "/console/other.js",
        "/console/..%2Fconsole.js",
        "/console/console.js%00",
    ] {
        assert_eq!(client.get(path).await.status, 404, "{path}");
    }
}
