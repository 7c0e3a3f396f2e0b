//! A separate thread for all communication with the service: heartbeats, reports, stop requests.
//! Other work in this process or on this machine delays neither a heartbeat nor a stop request.

use std::future::Future;
use std::io;
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// What the thread is called in the list of threads.
const NAME: &str = "control";

/// The thread; it ends with this value.
pub(crate) struct ControlThread {
    handle: Handle,
    ends: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A task of the thread that ends with this value.
pub(crate) struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ControlThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system grants no thread.
    pub(crate) fn start() -> io::Result<ControlThread> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (ends, ended) = oneshot::channel();
        let work = move || {
            let _ = runtime.block_on(ended);
            // A name that is being resolved is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name(NAME.to_owned());
        Ok(ControlThread {
            handle,
            ends: Some(ends),
            thread: Some(thread.spawn(work)?),
        })
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        drop(self.ends.take());
        if let Some(thread) = self.thread.take() {
            // It panics only where a task of it did, and that was seen there.
            let _ = thread.join();
        }
    }
}

/// Lets `work` go on there until the returned value is dropped.
pub(crate) fn run(handle: &Handle, work: impl Future<Output = ()> + Send + 'static) -> Task {
    Task(handle.spawn(work).abort_handle())
}
