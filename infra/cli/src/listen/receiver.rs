//! A receiver on the developer's machine, and the signing secret for it.

use std::time::{Duration, Instant};

use awo_cloud::{Clock, Environment, Mint, personal};
use awo_domain::EventId;
use awo_domain::webhook::signature::{Message, Secret, Secrets};
use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::address;
use crate::failure::Failure;

const FILE: &str = "listen.json";
/// As long as a webhook's receiver has.
const LIMIT: Duration = Duration::from_secs(30);

/// The file that stays between two calls.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MemoryFile {
    secret: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forward_to: Option<String>,
}

/// The secret of this machine, and where it sent events last.
pub struct Memory {
    pub secret: Secret,
    pub forward_to: Option<String>,
}

/// Reads the memory of this machine; makes the secret the first time.
pub fn recall(environment: &Environment) -> Result<Memory, Failure> {
    let dir = personal::config_dir(environment);
    let text = dir
        .as_ref()
        .and_then(|dir| std::fs::read(dir.join(FILE)).ok());
    let stored = text.and_then(|text| serde_json::from_slice::<MemoryFile>(&text).ok());
    let known = stored
        .as_ref()
        .and_then(|stored| Secret::parse(&stored.secret));
    let memory = Memory {
        forward_to: stored.and_then(|stored| stored.forward_to),
        secret: match &known {
            Some(secret) => secret.clone(),
            None => Mint::default().webhook_secret(),
        },
    };
    if known.is_none() {
        store(environment, &memory)?;
    }
    Ok(memory)
}

/// Stores the memory of this machine; without a folder for it, there is none.
pub fn store(environment: &Environment, memory: &Memory) -> Result<(), Failure> {
    let Some(dir) = personal::config_dir(environment) else {
        return Ok(());
    };
    let stored = MemoryFile {
        secret: memory.secret.reveal(),
        forward_to: memory.forward_to.clone(),
    };
    let text = serde_json::to_vec(&stored).map_err(std::io::Error::from);
    let written = text.and_then(|text| {
        personal::make_dir(&dir)?;
        personal::write(&dir.join(FILE), &text)
    });
    written.map_err(|e| Failure::Broken(format!("cannot write to {}: {e}", dir.display())))
}

/// Posts signed events to one URL.
pub struct Receiver {
    http: reqwest::Client,
    url: Url,
    secrets: Secrets,
}

/// The outcome of posting.
pub struct PostOutcome {
    /// The status, or why there is none.
    pub answer: Result<u16, String>,
    pub took: Duration,
}

impl PostOutcome {
    /// True if a webhook would count it as delivered.
    pub fn is_delivered(&self) -> bool {
        matches!(self.answer, Ok(200..=299))
    }

    /// In words.
    pub fn text(&self) -> String {
        let took = self.took.as_millis();
        match &self.answer {
            Ok(status) => format!("{status} in {took} ms"),
            Err(why) => format!("not received: {why}"),
        }
    }
}

impl Receiver {
    /// A receiver that may be sent events in the clear only if they stay on this machine.
    pub fn new(url: &str, secret: Secret) -> Result<Receiver, Failure> {
        let url = address::checked(url).map_err(|_| {
            Failure::Usage(format!(
                "--forward-to {url}: must be an https:// URL, or http:// on loopback"
            ))
        })?;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .user_agent(concat!("awo-listen/", env!("CARGO_PKG_VERSION")))
            .timeout(LIMIT)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none());
        let http = builder
            .build()
            .map_err(|e| Failure::Broken(format!("cannot create an HTTP client: {e}")))?;
        let secrets = Secrets {
            current: secret,
            previous: None,
        };
        Ok(Receiver { http, url, secrets })
    }

    /// Posts a body as a delivery is posted, once.
    pub async fn post(&self, id: &EventId, body: String) -> PostOutcome {
        let message = Message {
            id,
            sent_at: Clock::default().now(),
            body: body.as_bytes(),
        };
        let mut request = self.http.post(self.url.clone());
        for (name, value) in self.secrets.headers(&message) {
            request = request.header(name, value);
        }
        let began = Instant::now();
        let request = request.header("content-type", "application/json");
        let answer = request.body(body).send().await;
        PostOutcome {
            answer: match answer {
                Ok(answer) => Ok(answer.status().as_u16()),
                Err(error) => Err(crate::client::causes(&error)),
            },
            took: began.elapsed(),
        }
    }
}
