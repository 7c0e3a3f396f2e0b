//! A sender, its input, and its deliveries.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use awo_cloud::Environment;
use awo_domain::webhook::address::Reach;
use awo_domain::webhook::delivery::SendReport;
use awo_domain::webhook::headers::SecretHeaders;
use awo_domain::webhook::signature::{Message, Secret, Secrets};
use awo_domain::webhook::target::WebhookUrl;
use awo_domain::{EventId, OrgId, Timestamp};
use awo_webhooks::{Attempt, Sender};

use crate::authority::{self, NAME};
use crate::name_server::{NameServer, Reply};
use crate::receiver::Receiver;

pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const BODY: &[u8] = b"{ \"id\": \"evt\",\t\"text\": \"\xc3\xbc\" }\n";

pub fn at(ms: i64) -> Timestamp {
    Timestamp::from_epoch_ms(1_800_000_000_000 + ms)
}

pub fn secrets() -> Secrets {
    Secrets {
        current: Secret::new([7; 32]),
        previous: None,
    }
}

/// A sender that reaches so far, asks that name server and believes the tests' authority.
pub fn sender(reach: Reach, name_server: SocketAddr) -> Sender {
    let mut settings = HashMap::from([
        ("AWO_WEBHOOK_CA_FILE", authority::file()),
        ("AWO_WEBHOOK_NAME_SERVER", name_server.to_string()),
    ]);
    if reach == Reach::PublicAndLoopback {
        settings.insert("AWO_WEBHOOK_ALLOW_LOOPBACK", "1".to_owned());
    }
    let environment = Environment::new(move |name| settings.get(name).cloned());
    Sender::new(&environment).unwrap()
}

pub struct World {
    pub sender: Sender,
    reach: Reach,
    _names: NameServer,
}

impl World {
    /// One that may reach loopback, where every name leads to 127.0.0.1.
    pub async fn new() -> World {
        World::with(Reach::PublicAndLoopback, |_, _| {
            Reply::Addresses(vec![LOOPBACK])
        })
        .await
    }

    pub async fn with(
        reach: Reach,
        zone: impl Fn(&str, usize) -> Reply + Send + Sync + 'static,
    ) -> World {
        let names = NameServer::start(zone).await;
        World {
            sender: sender(reach, names.address),
            reach,
            _names: names,
        }
    }

    /// A delivery to this receiver, by its name.
    pub async fn send(&self, receiver: &Receiver) -> SendReport {
        self.send_to(&format!("https://{NAME}:{}/hook?a=b", receiver.port))
            .await
    }

    pub async fn send_to(&self, url: &str) -> SendReport {
        self.send_for(&OrgId::new(at(0), 1), url, at(0)).await
    }

    pub async fn send_for(&self, org: &OrgId, url: &str, now: Timestamp) -> SendReport {
        self.send_signed(org, url, &secrets(), now).await
    }

    pub async fn send_signed(
        &self,
        org: &OrgId,
        url: &str,
        secrets: &Secrets,
        now: Timestamp,
    ) -> SendReport {
        let url = WebhookUrl::parse(url, self.reach).unwrap();
        let id = EventId::new(at(0), 1);
        let attempt = Attempt {
            org,
            url: &url,
            secrets,
            headers: &SecretHeaders::default(),
            message: Message {
                id: &id,
                sent_at: now,
                body: BODY,
            },
        };
        self.sender.ready().await.unwrap().send(&attempt).await
    }
}
