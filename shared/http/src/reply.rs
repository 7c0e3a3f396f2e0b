//! Responses of routes that may stream: whole, in pieces, or late.
//!
//! A late response may take longer than a gateway's timeout. If it is ready soon, it is sent as
//! usual, with its own status. Otherwise it begins as 200 with white space, which JSON allows
//! before a value, and ends with the same body.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use awo_cloud::notifications::Notifier;
use awo_domain::Error;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use lambda_http::{Body, Response};

use crate::access_log::AccessLog;
use crate::answer::Answer;

/// How long a late answer may take and still be sent as ever.
pub const SOON: Duration = Duration::from_secs(5);
/// How often white space is sent after that, so that no proxy takes the connection for dead.
pub const PULSE: Duration = Duration::from_secs(5);

/// A body that is sent in pieces.
pub type Pieces = UnsyncBoxBody<Bytes, Infallible>;

type Pending = Pin<Box<dyn Future<Output = Result<Answer, Error>> + Send>>;

/// What the handler of a streaming route answers.
pub struct Reply(Kind);

enum Kind {
    Whole(Answer),
    Stream {
        content_type: &'static str,
        pieces: BoxStream<'static, Bytes>,
    },
    Late(Pending),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Reply {
        Reply(Kind::Whole(answer))
    }
}

impl Reply {
    /// 200 and these pieces. On Lambda they are all that runs: what must happen before the end
    /// happens in the stream.
    #[must_use]
    pub fn stream(
        content_type: &'static str,
        pieces: impl Stream<Item = Bytes> + Send + 'static,
    ) -> Reply {
        Reply(Kind::Stream {
            content_type,
            pieces: pieces.boxed(),
        })
    }

    /// An answer that may take its time. It runs to its end, whether or not the client stays.
    #[must_use]
    pub fn late(answer: impl Future<Output = Result<Answer, Error>> + Send + 'static) -> Reply {
        Reply(Kind::Late(Box::pin(answer)))
    }
}

/// What a handler may answer, and how it is sent in a body of this kind.
pub trait IntoBody<B>: Sized {
    /// True if the body may come in pieces.
    const STREAMS: bool;

    /// The same, which notifies once more when all of it is known: what comes late was not done yet.
    #[must_use]
    fn notifying(self, notifier: Notifier) -> Self;

    /// The response, and its line in the log.
    fn sent(
        reply: Result<Self, Error>,
        line: AccessLog,
    ) -> impl Future<Output = Result<Response<B>, lambda_http::Error>> + Send;
}

impl IntoBody<Body> for Answer {
    const STREAMS: bool = false;

    fn notifying(self, _: Notifier) -> Answer {
        self
    }

    async fn sent(
        reply: Result<Answer, Error>,
        line: AccessLog,
    ) -> Result<Response<Body>, lambda_http::Error> {
        Ok(line.whole(reply)?.map(Body::Text))
    }
}

impl IntoBody<Pieces> for Reply {
    const STREAMS: bool = true;

    fn notifying(self, notifier: Notifier) -> Reply {
        match self.0 {
            Kind::Late(answer) => Reply::late(async move {
                let answer = answer.await;
                notifier.notify().await;
                answer
            }),
            kind => Reply(kind),
        }
    }

    async fn sent(
        reply: Result<Reply, Error>,
        line: AccessLog,
    ) -> Result<Response<Pieces>, lambda_http::Error> {
        match reply.map(|reply| reply.0) {
            Ok(Kind::Whole(answer)) => whole(&line, Ok(answer)),
            Err(error) => whole(&line, Err(error)),
            Ok(Kind::Stream {
                content_type,
                pieces,
            }) => {
                line.begun();
                Ok(line.streaming(content_type).body(in_pieces(pieces))?)
            }
            Ok(Kind::Late(mut answer)) => match tokio::time::timeout(SOON, &mut answer).await {
                Ok(answer) => whole(&line, answer),
                Err(_) => {
                    let response = line.streaming("application/json");
                    Ok(response.body(in_pieces(after_white_space(answer, line)))?)
                }
            },
        }
    }
}

fn whole(
    line: &AccessLog,
    answer: Result<Answer, Error>,
) -> Result<Response<Pieces>, lambda_http::Error> {
    let response = line.whole(answer)?;
    Ok(response.map(|body| Full::new(Bytes::from(body)).boxed_unsync()))
}

fn in_pieces(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Pieces {
    StreamBody::new(pieces.map(|piece| Ok(Frame::data(piece)))).boxed_unsync()
}

/// A space at once, so that the client sees the head; then one from time to time; then the body.
fn after_white_space(answer: Pending, line: AccessLog) -> impl Stream<Item = Bytes> + Send {
    let rest = stream::unfold(Some((answer, line)), |waiting| async {
        let (mut answer, line) = waiting?;
        match tokio::time::timeout(PULSE, &mut answer).await {
            Err(_) => Some((SPACE, Some((answer, line)))),
            Ok(answer) => Some((Bytes::from(line.body(answer)), None)),
        }
    });
    stream::iter([SPACE]).chain(rest)
}

const SPACE: Bytes = Bytes::from_static(b"\n");

#[cfg(test)]
mod tests {
    use super::*;
    use awo_contract::routes::Style;
    use serde_json::{Value, json};
    use tokio::time::Instant;

    fn line(path: &str) -> AccessLog {
        AccessLog::at(&lambda_http::Request::default(), path, Style::of_path(path))
    }

    async fn sent(path: &str, reply: Reply) -> Response<Pieces> {
        Reply::sent(Ok(reply), line(path)).await.unwrap()
    }

    async fn text(response: Response<Pieces>) -> String {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    fn after(wait: Duration, answer: Result<Answer, Error>) -> Reply {
        Reply::late(async move {
            tokio::time::sleep(wait).await;
            answer
        })
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_ready_soon_is_sent_as_ever() {
        let soon = SOON - Duration::from_millis(1);
        let created = sent("/v1/x", after(soon, Answer::created(json!({"a": 1})))).await;
        assert_eq!(created.status(), 201);
        assert_eq!(text(created).await, "{\"a\":1}");
        let conflict = Error::Conflict("it is over".to_owned());
        let refused = sent("/api/v1/x", after(soon, Err(conflict))).await;
        assert_eq!(refused.status(), 409);
        assert!(text(refused).await.starts_with('{'));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_late_begins_with_white_space_and_ends_with_its_body() {
        let began = Instant::now();
        let late = sent(
            "/api/v1/x",
            after(SOON + PULSE * 2, Answer::ok(json!({"a": 1}))),
        )
        .await;
        assert_eq!(began.elapsed(), SOON);
        assert_eq!(late.status(), 200);
        assert_eq!(late.headers()["content-type"], "application/json");
        assert_eq!(late.headers()["x-request-id"], "unknown");
        let body = text(late).await;
        assert_eq!(body.len() - body.trim_start().len(), 2);
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            body,
            json!({"success": true, "data": {"a": 1}, "requestId": "unknown"})
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_error_has_the_style_of_its_path_and_no_cause() {
        for path in ["/api/v1/x", "/v1/x"] {
            let late = sent(path, after(SOON * 3, Err(Error::internal("a secret")))).await;
            let body: Value = serde_json::from_str(&text(late).await).unwrap();
            assert_eq!(body["error"]["code"], "INTERNAL_ERROR");
            assert_eq!(body.get("success").is_some(), path.starts_with("/api/"));
            assert!(!body.to_string().contains("secret"));
        }
    }
}
