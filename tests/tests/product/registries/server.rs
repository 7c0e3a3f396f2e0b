//! A registry that wants a credential.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// A server that gives its files to every client with the credential.
pub struct Server {
    pub url: String,
    pub api: Arc<Api>,
    serving: AbortHandle,
}

#[derive(Default)]
pub struct Api {
    /// What it wants to see; nothing if it gives its files to everybody.
    authorization: Mutex<Option<String>>,
    files: Mutex<BTreeMap<String, (&'static str, Vec<u8>)>>,
    pub redirects: Mutex<BTreeMap<String, String>>,
    /// Method and path of each request, and what it showed.
    seen: Mutex<Vec<(String, Option<String>)>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Server {
    pub async fn start(authorization: Option<&str>) -> Server {
        let api = Arc::new(Api::default());
        *api.authorization.lock().unwrap() = authorization.map(str::to_owned);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(answer).with_state(Arc::clone(&api));
        let serving = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Server {
            url,
            api,
            serving: serving.abort_handle(),
        }
    }

    pub fn file(&self, path: &str, kind: &'static str, bytes: impl Into<Vec<u8>>) {
        let mut files = self.api.files.lock().unwrap();
        files.insert(path.to_owned(), (kind, bytes.into()));
    }

    pub fn seen(&self) -> Vec<(String, Option<String>)> {
        self.api.seen.lock().unwrap().clone()
    }
}

async fn answer(
    State(api): State<Arc<Api>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let shown = headers
        .get("authorization")
        .map(|v| v.to_str().unwrap().to_owned());
    let call = format!("{method} {}", uri.path());
    api.seen.lock().unwrap().push((call, shown.clone()));
    let with = |status: StatusCode, body: Vec<u8>| {
        let mut answer = Response::new(Body::from(body));
        *answer.status_mut() = status;
        answer
    };
    let wanted = api.authorization.lock().unwrap().clone();
    if wanted.is_some() && wanted != shown {
        return with(
            StatusCode::UNAUTHORIZED,
            format!("not {shown:?}").into_bytes(),
        );
    }
    if let Some(to) = api.redirects.lock().unwrap().get(uri.path()) {
        let mut answer = with(StatusCode::FOUND, Vec::new());
        answer.headers_mut().insert("location", to.parse().unwrap());
        return answer;
    }
    let found = api.files.lock().unwrap().get(uri.path()).cloned();
    match found {
        Some((kind, bytes)) => {
            let mut answer = with(StatusCode::OK, bytes);
            answer
                .headers_mut()
                .insert("content-type", kind.parse().unwrap());
            answer
        }
        None => with(StatusCode::NOT_FOUND, Vec::new()),
    }
}
