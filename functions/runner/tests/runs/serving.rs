//! A test's server on loopback, in its own thread: the runner is another process, and the tests are
//! not asynchronous.

use axum::Router;
use tokio::sync::oneshot;

/// Serves until it is dropped.
pub struct Serving {
    /// `http://127.0.0.1:<port>`.
    pub url: String,
    _stop: oneshot::Sender<()>,
}

/// Serves this on a port that is free.
pub fn serve(app: Router) -> Serving {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            tokio::select! {
                served = axum::serve(listener, app) => served.unwrap(),
                _ = stopped => {}
            }
        });
    });
    Serving { url, _stop: stop }
}
