//! A streamed answer between its function and its client.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::InvocationPermits;
use crate::shutdown::Shutdown;

/// Chunks of a streamed answer between the function and a slow client.
const STREAM_CHUNKS: usize = 16;

/// What becomes of a streamed answer whose client is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisconnectPolicy {
    /// It runs to its end, as on Lambda.
    RunsOn,
    /// It ends at once: without its reader it is of no use.
    Ends,
}

/// Carries the chunks on a task of its own: a function does not stop because its client went
/// away, it stops at its end or its deadline. Without a client it ends once `draining` has begun, or
/// at once where there is nothing to wait for.
pub(super) fn pump(
    mut chunks: BoxStream<'static, Result<Bytes, String>>,
    deadline: Instant,
    place: InvocationPermits,
    draining: Option<Shutdown>,
) -> BoxStream<'static, Result<Bytes, String>> {
    let (sender, receiver) = mpsc::channel(STREAM_CHUNKS);
    tokio::spawn(async move {
        loop {
            let abandoned = async {
                if let Some(draining) = &draining {
                    draining.begun().await;
                }
                sender.closed().await;
            };
            let next = tokio::select! {
                next = tokio::time::timeout_at(deadline, chunks.next()) => next,
                () = abandoned => break,
            };
            let chunk = match next {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(_) => Err("the function timed out".to_owned()),
            };
            let broken = chunk.is_err();
            // A send fails when the client is gone, and waits at most until the deadline.
            let _ = tokio::time::timeout_at(deadline, sender.send(chunk)).await;
            if broken {
                break;
            }
        }
        // What a stream holds is given back while it still counts as running.
        drop(chunks);
        drop(place);
    });
    futures::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    })
    .boxed()
}
