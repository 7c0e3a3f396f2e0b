//! `git http-backend`, which comes with git, as CGI.

use std::path::Path;
use std::process::Stdio;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Response, Uri};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// What the backend makes of a request by this user.
pub(crate) async fn answer(
    root: &Path,
    user: &str,
    (method, uri): (&Method, &Uri),
    headers: &HeaderMap,
    body: &Bytes,
) -> Response<Body> {
    let header = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap_or_default())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", user)
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("REQUEST_METHOD", method.as_str())
        .env("PATH_INFO", uri.path())
        .env("QUERY_STRING", uri.query().unwrap_or_default())
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("CONTENT_TYPE", header("content-type").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    for (name, variable) in [
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        if let Some(value) = header(name) {
            command.env(variable, value);
        }
    }
    let mut child = command.spawn().expect("git http-backend");
    let mut stdin = child.stdin.take().expect("a pipe");
    let write = async move {
        // One that does not read to the end says why itself.
        drop(stdin.write_all(body).await);
        drop(stdin);
    };
    let ((), output) = tokio::join!(write, child.wait_with_output());
    response(&output.expect("an answer").stdout)
}

fn response(bytes: &[u8]) -> Response<Body> {
    let at = bytes.windows(4).position(|part| part == b"\r\n\r\n");
    let at = at.expect("the backend's headers end");
    let mut response = Response::builder();
    for line in String::from_utf8_lossy(&bytes[..at]).lines() {
        let (name, value) = line.split_once(':').expect("a header");
        let value = value.trim();
        response = match name {
            "Status" => response.status(value[..3].parse::<u16>().expect("a status")),
            _ => response.header(name, value),
        };
    }
    let body = Body::from(bytes[at + 4..].to_vec());
    response.body(body).expect("a response")
}
