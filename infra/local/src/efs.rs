//! EFS: access points of one directory. Invariants: a client token creates one access point,
//! however often it is sent; an access point leads only to a folder below the directory. Both are
//! files, so a restart changes nothing.
//!
//! Its protocol is REST with JSON, of which CreateAccessPoint, DescribeAccessPoints and
//! DeleteAccessPoint are implemented.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

use crate::access::AccessKey;
use crate::arn;
use crate::calls;
use crate::serve::{self, Answer, Limits, RequestBody, Server};
use crate::shutdown::Shutdown;

const PATH: &str = "/2015-02-01/access-points";
const BODY_BYTES: usize = 64 * 1024;
/// Letters of a client token, and of a path.
const TOKEN_LETTERS: usize = 64;
const PATH_LETTERS: usize = 100;
const LIMITS: Limits = Limits {
    connections: 1024,
    head_bytes: 64 * 1024,
    head_time: Duration::from_secs(600),
};

/// The file system. Clones share it.
#[derive(Clone, Debug)]
pub struct Efs {
    directory: PathBuf,
}

/// What is known of an access point.
#[derive(Serialize, Deserialize)]
struct AccessPoint {
    token: String,
    file_system: String,
    path: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Creation {
    client_token: String,
    file_system_id: String,
    root_directory: RootDirectory,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RootDirectory {
    path: String,
}

/// A refusal: its status, its code, and further members.
type Refusal = (StatusCode, &'static str, Value);

fn bad(message: impl Into<String>) -> Refusal {
    let message = json!({ "Message": message.into() });
    (StatusCode::BAD_REQUEST, "BadRequest", message)
}

fn missing() -> Refusal {
    let message =
        json!({ "Message": "There is no such access point.", "ErrorCode": "AccessPointNotFound" });
    (StatusCode::NOT_FOUND, "AccessPointNotFound", message)
}

impl Efs {
    /// The file systems in a directory.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(directory: &Path) -> io::Result<Efs> {
        fs::create_dir_all(directory.join("access-points"))?;
        Ok(Efs {
            directory: fs::canonicalize(directory)?,
        })
    }

    /// The folder behind an access point, made when it is first mounted.
    ///
    /// # Errors
    /// If there is no such access point, or the folder cannot be made.
    pub fn folder(&self, access_point: &str) -> io::Result<PathBuf> {
        let point = self.point(access_point)?;
        let folder = self.directory.join(&point.file_system);
        let folder = folder.join(point.path.trim_start_matches('/'));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
        Ok(folder)
    }

    fn note(&self, id: &str) -> PathBuf {
        self.directory.join("access-points").join(id)
    }

    fn point(&self, id: &str) -> io::Result<AccessPoint> {
        if !id.starts_with("fsap-") || !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return Err(io::ErrorKind::NotFound.into());
        }
        let point = fs::read(self.note(id))?;
        serde_json::from_slice(&point).map_err(io::Error::other)
    }

    fn create(&self, body: &[u8]) -> Result<Value, Refusal> {
        let input: Creation =
            serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
        let (token, path) = (input.client_token, input.root_directory.path);
        let is_id = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let inside =
            |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        if !(1..=TOKEN_LETTERS).contains(&token.len()) {
            return Err(bad("ClientToken has a wrong length"));
        }
        if !input.file_system_id.starts_with("fs-") || !input.file_system_id.chars().all(is_id) {
            return Err(bad("FileSystemId is none"));
        }
        let is_path = path.starts_with('/') && Path::new(&path).components().all(inside);
        if !is_path || path.len() > PATH_LETTERS {
            return Err(bad("Path is none"));
        }
        let digest = hex::encode(Sha256::digest(&token));
        let id = format!("fsap-{}", &digest[..17]);
        if self.point(&id).is_ok() {
            let there = json!({ "AccessPointId": id, "Message": "It exists.", "ErrorCode": "AccessPointAlreadyExists" });
            return Err((StatusCode::CONFLICT, "AccessPointAlreadyExists", there));
        }
        let point = AccessPoint {
            token,
            file_system: input.file_system_id,
            path,
        };
        let noted = serde_json::to_vec(&point).map_err(io::Error::other);
        noted
            .and_then(|bytes| fs::write(self.note(&id), bytes))
            .map_err(|error| bad(error.to_string()))?;
        Ok(rendered(&id, &point))
    }

    fn describe(&self, query: &str) -> Result<Value, Refusal> {
        let asked = url::form_urlencoded::parse(query.as_bytes());
        let ids = asked.filter(|(name, _)| name == "AccessPointId");
        let points: Vec<Value> = ids
            .filter_map(|(_, id)| Some(rendered(&id, &self.point(&id).ok()?)))
            .collect();
        if points.is_empty() {
            return Err(missing());
        }
        Ok(json!({ "AccessPoints": points }))
    }

    /// Files behind it stay, as EFS leaves them.
    fn delete(&self, id: &str) -> Result<Value, Refusal> {
        self.point(id).map_err(|_| missing())?;
        fs::remove_file(self.note(id)).map_err(|_| missing())?;
        Ok(Value::Null)
    }

    async fn answer(
        &self,
        request: Request<RequestBody>,
        key: &AccessKey,
    ) -> Result<Value, Refusal> {
        if !key.admits(request.headers().get(http::header::AUTHORIZATION)) {
            let message = json!({ "Message": "The security token is invalid." });
            return Err((
                StatusCode::FORBIDDEN,
                "UnrecognizedClientException",
                message,
            ));
        }
        let query = request.uri().query().unwrap_or_default().to_owned();
        match (request.method().clone(), request.uri().path()) {
            (Method::POST, PATH) => {
                calls::note_files(request.headers(), "CreateAccessPoint", "file-system");
                let body = Limited::new(request.into_body(), BODY_BYTES)
                    .collect()
                    .await;
                let body = body.map_err(|error| bad(error.to_string()))?;
                self.create(&body.to_bytes())
            }
            (Method::GET, PATH) => {
                calls::note_files(request.headers(), "DescribeAccessPoints", "access-point");
                self.describe(&query)
            }
            (Method::DELETE, path) => {
                match path.strip_prefix(PATH).and_then(|p| p.strip_prefix('/')) {
                    Some(id) => {
                        calls::note_files(request.headers(), "DeleteAccessPoint", "access-point");
                        self.delete(id)
                    }
                    None => Err(bad("this operation is not served here")),
                }
            }
            _ => Err(bad("this operation is not served here")),
        }
    }
}

fn rendered(id: &str, point: &AccessPoint) -> Value {
    json!({
        "AccessPointId": id,
        "AccessPointArn": arn::access_point(id),
        "ClientToken": point.token,
        "FileSystemId": point.file_system,
        "LifeCycleState": "available",
        "OwnerId": arn::ACCOUNT,
        "RootDirectory": { "Path": point.path },
    })
}

/// Serves the file system until the shutdown.
///
/// # Errors
/// When the listener is not on loopback.
pub fn start(
    listener: TcpListener,
    efs: Efs,
    key: AccessKey,
    shutdown: Shutdown,
) -> io::Result<Server> {
    serve::serve(listener, LIMITS, shutdown, move |request, _peer| {
        let (efs, key) = (efs.clone(), key.clone());
        async move { answer_of(efs.answer(request, &key).await) }
    })
}

fn answer_of(outcome: Result<Value, Refusal>) -> Answer {
    let (status, code, body) = match outcome {
        Ok(Value::Null) => {
            let mut answer = Response::new(serve::whole(String::new()));
            *answer.status_mut() = StatusCode::NO_CONTENT;
            return answer;
        }
        Ok(body) => (StatusCode::OK, None, body),
        Err((status, code, body)) => (status, Some(code), body),
    };
    let mut answer = Response::new(serve::whole(body.to_string()));
    *answer.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    answer
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    if let Some(code) = code {
        let code = http::HeaderValue::from_static(code);
        answer.headers_mut().insert("x-amzn-errortype", code);
    }
    answer
}
