//! A second gateway to a service: the same functions over the same tables, through a client that
//! counts their AWS calls. Only its own callers trigger them, so the calls between two requests are
//! the cost of the first.

use awo_cloud::{Cloud, Environment};
use awo_local::Server;
use awo_local::function::Registry;
use awo_local::functions::{register, routes};
use awo_local::gateway::{self, GatewaySettings};
use awo_local::shutdown::Shutdown;
use tokio::net::TcpListener;

use crate::client::Client;
use crate::recorder::{Costs, Recorder};
use crate::service::TestService;

/// The gateway.
pub struct CountedRequests {
    server: Server,
    recorder: Recorder,
    shutdown: Shutdown,
}

impl CountedRequests {
    /// A second gateway to this service.
    pub async fn of(service: &TestService) -> CountedRequests {
        CountedRequests::with(service, &[]).await
    }

    /// A second gateway to this service, with other settings.
    pub async fn with(service: &TestService, more: &[(&str, &str)]) -> CountedRequests {
        let (mut settings, recorder) = (service.service.settings.clone(), Recorder::default());
        for (name, value) in more {
            settings.insert((*name).to_owned(), (*value).to_owned());
        }
        let environment = Environment::new(move |name| settings.get(name).cloned());
        let mut cloud = Cloud::new(environment, recorder.client(service.service.http.clone()));
        cloud.clock = service.service.cloud.clock.clone();
        let (registry, shutdown) = (Registry::new(), Shutdown::new());
        register(&registry, &cloud).expect("settings");
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let server = gateway::start(
            listener.expect("a loopback port"),
            GatewaySettings::new(routes()),
            registry,
            shutdown.clone(),
        );
        CountedRequests {
            server: server.expect("a gateway"),
            recorder,
            shutdown,
        }
    }

    /// A client with its key, whose requests are counted.
    #[must_use]
    pub fn for_client(&self, client: &Client) -> Client {
        client.at(&self.server.url())
    }

    /// What was asked of AWS since this was last asked.
    #[expect(
        clippy::must_use_candidate,
        reason = "asking is also how counting begins"
    )]
    pub fn costs(&self) -> Costs {
        self.recorder.take()
    }

    /// The partitions of single items that were named since this was last asked.
    #[must_use]
    pub fn partitions(&self) -> Vec<String> {
        self.recorder.take_partitions()
    }

    /// The names of the calls to AWS since this was last asked, sorted.
    #[expect(
        clippy::must_use_candidate,
        reason = "asking is also how counting begins"
    )]
    pub fn calls(&self) -> Vec<String> {
        let mut calls = self.costs().rounds.concat();
        calls.sort_unstable();
        calls
    }
}

impl Drop for CountedRequests {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}
