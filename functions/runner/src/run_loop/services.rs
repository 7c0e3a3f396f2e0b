//! The services beside the runner: containers of the same task, which share its loopback.
//!
//! ECS has waited until they were ready, or had started, before it started the runner. Whether they answer is
//! found out here, before each setup: a service that has ended would otherwise appear as tests that
//! fail.

use std::net::Ipv4Addr;
use std::time::Duration;

use awo_domain::control::{RunEnvironment, ServicePort};
use awo_domain::run::RunErrorCode;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::{Abort, Work, fail};
use crate::stop::StopOutcome;

/// How long a service without a health check may take until it listens.
pub(super) const FIRST_PATIENCE: Duration = Duration::from_secs(60);
/// How long one that listened before may be away: it may be restarting.
pub(super) const LATER_PATIENCE: Duration = Duration::from_secs(10);
/// How long one attempt to connect may take, and the pause to the next.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(200);

impl Work<'_> {
    /// Waits until every service accepts connections.
    pub(super) async fn services_answer(
        &self,
        environment: &RunEnvironment,
        patience: Duration,
    ) -> Result<(), Abort> {
        for service in &environment.services {
            let answered = tokio::select! {
                answered = answers(service.port, patience) => answered,
                () = self.processes.stopped() => return Err(Abort::Stopped(StopOutcome::default())),
            };
            if let Err(why) = answered {
                return Err(fail(
                    RunErrorCode::WorkspaceFailed,
                    &not_ready(service, &why, patience),
                ));
            }
        }
        Ok(())
    }
}

async fn answers(port: u16, patience: Duration) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let connecting = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        let why = match timeout(CONNECT_LIMIT, connecting).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(why)) => why.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        if began.elapsed() >= patience {
            return Err(why);
        }
        sleep(PAUSE).await;
    }
}

fn not_ready(service: &ServicePort, why: &str, patience: Duration) -> String {
    let ServicePort { name, image, port } = service;
    format!(
        "the service {name} ({image}) did not answer at 127.0.0.1:{port} within {} s: {why}. Check that it \
         listens there, and, if it ended, that it has enough memory",
        patience.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_service_is_waited_for_until_it_listens_and_no_longer_than_its_limit() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(answers(port, Duration::ZERO).await, Ok(()));
        drop(listener);
        let why = answers(port, Duration::ZERO).await.unwrap_err();
        let service = ServicePort {
            name: "db".to_owned(),
            image: "postgres:17".to_owned(),
            port,
        };
        let message = not_ready(&service, &why, Duration::from_secs(1));
        for part in ["db (postgres:17)", &format!("127.0.0.1:{port}"), "refused"] {
            assert!(message.contains(part), "{message}");
        }
        tokio::spawn(async move {
            sleep(PAUSE * 2).await;
            let again = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
            again.unwrap().accept().await.unwrap();
        });
        assert_eq!(answers(port, Duration::from_secs(60)).await, Ok(()));
    }
}
