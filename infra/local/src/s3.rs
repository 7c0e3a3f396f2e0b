//! S3: objects of one bucket below a directory, addressed by path. Invariants: an object is there whole or not at
//! all, also after a crash during a write; one older than the bucket's lifetime is not there; no key leads out of
//! the directory.
//!
//! It implements PutObject and GetObject.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use tokio::net::TcpListener;

use crate::access::AccessKey;
use crate::calls;
use crate::serve::{self, Answer, Limits, RequestBody, Server};
use crate::shutdown::Shutdown;

/// Largest object.
const OBJECT_BYTES: usize = 16 * 1024 * 1024;
/// Longest key, as S3 has it.
const KEY_BYTES: usize = 1_024;
/// Lifetime of objects, as the template's bucket has it.
pub const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3_600);
/// The time between two removals of expired objects.
const EXPIRY_PERIOD: Duration = Duration::from_secs(3_600);
const LIMITS: Limits = Limits {
    connections: 1024,
    head_bytes: 64 * 1024,
    head_time: Duration::from_secs(600),
};

/// A bucket.
#[derive(Clone, Debug)]
struct Bucket {
    name: String,
    directory: PathBuf,
}

/// A refusal: its status and its code.
type Refusal = (StatusCode, &'static str);

const NO_SUCH_KEY: Refusal = (StatusCode::NOT_FOUND, "NoSuchKey");
const INVALID: Refusal = (StatusCode::BAD_REQUEST, "InvalidRequest");
const FAILED: Refusal = (StatusCode::INTERNAL_SERVER_ERROR, "InternalError");

impl Bucket {
    /// The file of a key, whose parts are plain names.
    fn file(&self, path: &str) -> Result<PathBuf, Refusal> {
        let key = path
            .strip_prefix('/')
            .and_then(|path| path.strip_prefix(self.name.as_str()))
            .and_then(|path| path.strip_prefix('/'))
            .ok_or((StatusCode::NOT_FOUND, "NoSuchBucket"))?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(is_plain);
        if key.len() > KEY_BYTES || !key.split('/').all(is_part) {
            return Err(INVALID);
        }
        Ok(self.directory.join(key))
    }

    fn put(&self, path: &str, body: &[u8]) -> Result<(), Refusal> {
        let file = self.file(path)?;
        write(&self.directory, &file, body).map_err(|error| {
            tracing::error!(%error, "an object could not be stored");
            FAILED
        })
    }

    fn get(&self, path: &str) -> Result<Vec<u8>, Refusal> {
        let file = self.file(path)?;
        if has_expired(&file) {
            return Err(NO_SUCH_KEY);
        }
        fs::read(file).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => NO_SUCH_KEY,
            _ => FAILED,
        })
    }
}

/// Makes the file appear with its content.
fn write(directory: &Path, file: &Path, body: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(directory);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let draft = directory.join(format!(".{}", uuid::Uuid::new_v4().simple()));
    let mut out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    let written = out.write_all(body).and_then(|()| out.sync_all());
    let moved = written.and_then(|()| fs::rename(&draft, file));
    if moved.is_err() {
        drop(fs::remove_file(&draft));
    }
    moved
}

/// True for a file whose lifetime is over.
fn has_expired(file: &Path) -> bool {
    let modified = fs::metadata(file).and_then(|data| data.modified());
    let age = modified.map(|time| SystemTime::now().duration_since(time).unwrap_or_default());
    age.is_ok_and(|age| age >= LIFETIME)
}

/// Removes the files whose lifetime is over.
fn remove_expired(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_expired(&path);
        } else if has_expired(&path) {
            drop(fs::remove_file(&path));
        }
    }
}

/// Serves a bucket below a directory until the shutdown.
///
/// # Errors
/// When the listener is not on loopback, or the directory cannot be made.
pub fn start(
    listener: TcpListener,
    bucket: &str,
    directory: &Path,
    key: AccessKey,
    shutdown: Shutdown,
) -> io::Result<Server> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let bucket = Bucket {
        name: bucket.to_owned(),
        directory: directory.to_owned(),
    };
    tokio::spawn(expire(bucket.directory.clone(), shutdown.clone()));
    serve::serve(listener, LIMITS, shutdown, move |request, _peer| {
        let (bucket, key) = (bucket.clone(), key.clone());
        async move { answer_of(answer(bucket, request, &key).await) }
    })
}

async fn expire(directory: PathBuf, shutdown: Shutdown) {
    loop {
        let directory = directory.clone();
        let removed = tokio::task::spawn_blocking(move || remove_expired(&directory));
        drop(removed.await);
        tokio::select! {
            () = shutdown.begun() => return,
            () = tokio::time::sleep(EXPIRY_PERIOD) => {}
        }
    }
}

async fn answer(
    bucket: Bucket,
    request: Request<RequestBody>,
    key: &AccessKey,
) -> Result<Vec<u8>, Refusal> {
    if !key.admits(request.headers().get(http::header::AUTHORIZATION)) {
        return Err((StatusCode::FORBIDDEN, "InvalidAccessKeyId"));
    }
    let path = request.uri().path().to_owned();
    let resource = format!("bucket/{}", bucket.name);
    let work = match *request.method() {
        Method::PUT => {
            calls::note_objects(request.headers(), "PutObject", &resource);
            // What is sent in signed pieces would be stored with their heads.
            if request
                .headers()
                .contains_key("x-amz-decoded-content-length")
            {
                return Err(INVALID);
            }
            let body = Limited::new(request.into_body(), OBJECT_BYTES);
            let body = body.collect().await;
            let body = body.map_err(|_| (StatusCode::BAD_REQUEST, "EntityTooLarge"))?;
            let body = body.to_bytes();
            tokio::task::spawn_blocking(move || bucket.put(&path, &body).map(|()| Vec::new()))
        }
        Method::GET => {
            calls::note_objects(request.headers(), "GetObject", &resource);
            tokio::task::spawn_blocking(move || bucket.get(&path))
        }
        _ => return Err((StatusCode::NOT_IMPLEMENTED, "NotImplemented")),
    };
    work.await.unwrap_or(Err(FAILED))
}

fn answer_of(outcome: Result<Vec<u8>, Refusal>) -> Answer {
    let (status, content_type, body) = match outcome {
        Ok(body) => (StatusCode::OK, "application/octet-stream", body),
        Err((status, code)) => {
            let body = format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>{code}</Code><Message>{code}</Message></Error>"
            );
            (status, "application/xml", body.into_bytes())
        }
    };
    let mut answer = Response::new(serve::whole(body));
    *answer.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    let headers = answer.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, content_type);
    headers.insert(http::header::ETAG, HeaderValue::from_static("\"object\""));
    answer
}
