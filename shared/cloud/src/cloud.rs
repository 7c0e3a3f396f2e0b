//! The clients, created from the environment when a function starts.

use std::time::Duration;

use awo_store::webhooks::notifications::Notifications;
use awo_store::{Store, Tables};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    AppName, BehaviorVersion, Credentials, Region, SharedCredentialsProvider,
};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_types::SdkConfig;
use aws_types::sdk_config::StalledStreamProtectionConfig;

use crate::bodies::Bodies;
use crate::clock::{Clock, Mint};
use crate::compute::Compute;
use crate::environment::{Environment, SetupError};
use crate::files::Files;
use crate::model_role::ModelRole;
use crate::notifications::NotificationQueue;
use crate::queue::RunQueue;
use crate::secrets::Secrets;
use crate::settings;

/// Tries of one call, the first included.
const CALL_TRIES: u32 = 4;
/// First pause between tries.
const CALL_PAUSE: Duration = Duration::from_millis(25);
/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(2);
/// Longest single try.
const TRY: Duration = Duration::from_secs(5);
/// Longest call, all its tries.
const CALL: Duration = Duration::from_secs(15);

/// The parts of functions.
#[derive(Debug, Clone)]
pub struct Cloud {
    /// The settings, from environment variables.
    pub environment: Environment,
    /// The source of time.
    pub clock: Clock,
    /// Ids and secrets.
    pub mint: Mint,
    /// What the transactions of all stores of this cloud leave to do.
    pub(crate) notifications: Notifications,
    sdk: SdkConfig,
}

impl Cloud {
    /// From the process's environment, over the network.
    #[must_use]
    pub fn from_process() -> Cloud {
        Cloud::new(Environment::of_process(), http_client())
    }

    /// From any environment and over any HTTP client: tests put one in between that fails.
    ///
    /// Region and credentials are the environment's, where Lambda puts them. The SDK's own search
    /// for them would be a tenth of each function's program and a part of its start, for nothing.
    #[must_use]
    pub fn new(environment: Environment, http: SharedHttpClient) -> Cloud {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT)
            .operation_attempt_timeout(TRY)
            .operation_timeout(CALL)
            .build();
        let mut sdk = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .retry_config(
                RetryConfig::standard()
                    .with_max_attempts(CALL_TRIES)
                    .with_initial_backoff(CALL_PAUSE),
            )
            .timeout_config(timeouts)
            // The time of a try includes its body, so a body that stalls ends with its try.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        sdk.set_region(environment.get("AWS_REGION").map(Region::new));
        sdk.set_credentials_provider(credentials(&environment).map(SharedCredentialsProvider::new));
        Cloud {
            environment,
            clock: Clock::default(),
            mint: Mint::default(),
            notifications: Notifications::default(),
            sdk: sdk.build(),
        }
    }

    /// The same with the region and the credentials of this configuration, where the environment
    /// has none: an operator's machine has them in profiles.
    #[must_use]
    pub fn or_of(self, found: &SdkConfig) -> Cloud {
        let region = self.sdk.region().or(found.region()).cloned();
        let own = self.sdk.credentials_provider();
        let credentials = own.or_else(|| found.credentials_provider());
        let mut sdk = self.sdk.to_builder();
        sdk.set_region(region).set_credentials_provider(credentials);
        Cloud {
            sdk: sdk.build(),
            ..self
        }
    }

    /// The same cloud for one of several functions in a process: its calls name the function,
    /// and what its transactions leave to do is its own, as if it had a process to itself.
    #[must_use]
    pub fn of_function(&self, name: &str) -> Cloud {
        let mut sdk = self.sdk.to_builder();
        sdk.set_app_name(AppName::new(name.to_owned()).ok());
        Cloud {
            notifications: Notifications::default(),
            sdk: sdk.build(),
            ..self.clone()
        }
    }

    /// The tables.
    ///
    /// # Errors
    /// [`SetupError`] if their names are not set.
    pub fn store(&self) -> Result<Store, SetupError> {
        let tables = Tables {
            work: self.environment.required("AWO_WORK_TABLE")?,
            ledger: self.environment.required("AWO_LEDGER_TABLE")?,
            settings: self.environment.required("AWO_SETTINGS_TABLE")?,
            deliveries: self.environment.required("AWO_DELIVERIES_TABLE")?,
        };
        let builder = aws_sdk_dynamodb::config::Builder::from(&self.sdk);
        let config = self
            .at(builder, "AWS_ENDPOINT_URL_DYNAMODB", |b, url| {
                b.endpoint_url(url)
            })
            .build();
        let client = aws_sdk_dynamodb::Client::from_conf(config);
        let details = settings::details_retention(&self.environment)?;
        Ok(Store::new(client, tables, self.notifications.clone()).with_retention(details))
    }

    /// The run queue.
    ///
    /// # Errors
    /// [`SetupError`] if its URL is not set.
    pub fn run_queue(&self) -> Result<RunQueue, SetupError> {
        let url = self.environment.required("AWO_RUN_QUEUE_URL")?;
        Ok(RunQueue::new(self.sqs(), url))
    }

    /// The deliveries queue.
    ///
    /// # Errors
    /// [`SetupError`] if its URL is not set.
    pub fn notification_queue(&self) -> Result<NotificationQueue, SetupError> {
        let url = self.environment.required("AWO_DELIVERIES_QUEUE_URL")?;
        Ok(NotificationQueue::new(self.sqs(), url))
    }

    fn sqs(&self) -> aws_sdk_sqs::Client {
        let builder = aws_sdk_sqs::config::Builder::from(&self.sdk);
        let config = self
            .at(builder, "AWS_ENDPOINT_URL_SQS", |b, url| {
                b.endpoint_url(url)
            })
            .build();
        aws_sdk_sqs::Client::from_conf(config)
    }

    /// Compute.
    ///
    /// # Errors
    /// [`SetupError`] if the cluster is not set.
    pub fn compute(&self) -> Result<Compute, SetupError> {
        let builder = aws_sdk_ecs::config::Builder::from(&self.sdk);
        let config = self
            .at(builder, "AWS_ENDPOINT_URL_ECS", |b, url| {
                b.endpoint_url(url)
            })
            .build();
        Compute::new(aws_sdk_ecs::Client::from_conf(config), &self.environment)
    }

    /// The file system that tasks of an organization share; none where `AWO_SHARED_FILE_SYSTEM` does
    /// not name one.
    #[must_use]
    pub fn files(&self) -> Option<Files> {
        let file_system = self.environment.get("AWO_SHARED_FILE_SYSTEM")?;
        Some(self.file_system(file_system))
    }

    /// A file system by its id.
    #[must_use]
    pub fn file_system(&self, id: String) -> Files {
        let builder = aws_sdk_efs::config::Builder::from(&self.sdk);
        let config = self
            .at(builder, "AWS_ENDPOINT_URL_EFS", |b, url| {
                b.endpoint_url(url)
            })
            .build();
        let client = aws_sdk_efs::Client::from_conf(config);
        Files::new(client, id)
    }

    /// The secrets of the stack's organizations.
    ///
    /// # Errors
    /// When `AWO_STACK`, the stack's name, is not set.
    pub fn secrets(&self) -> Result<Secrets, SetupError> {
        let stack = self.environment.required("AWO_STACK")?;
        let builder = aws_sdk_secretsmanager::config::Builder::from(&self.sdk);
        let config = self
            .at(builder, "AWS_ENDPOINT_URL_SECRETS_MANAGER", |b, url| {
                b.endpoint_url(url)
            })
            .build();
        let client = aws_sdk_secretsmanager::Client::from_conf(config);
        Ok(Secrets::new(client, stack))
    }

    /// The bodies of deliveries to inboxes.
    ///
    /// # Errors
    /// When `AWO_INBOX_BODIES`, the bucket's name, is not set.
    pub fn bodies(&self) -> Result<Bodies, SetupError> {
        let bucket = self.environment.required("AWO_INBOX_BODIES")?;
        let builder = aws_sdk_s3::config::Builder::from(&self.sdk);
        let config = self
            .at(builder, "AWS_ENDPOINT_URL_S3", |b, url| b.endpoint_url(url))
            .build();
        Ok(Bodies::new(aws_sdk_s3::Client::from_conf(config), bucket))
    }

    /// The role with which runs call Bedrock.
    #[must_use]
    pub fn model_role(&self, arn: String) -> ModelRole {
        let builder = aws_sdk_sts::config::Builder::from(&self.sdk);
        let config = self
            .at(builder, "AWS_ENDPOINT_URL_STS", |b, url| {
                b.endpoint_url(url)
            })
            .build();
        ModelRole::new(aws_sdk_sts::Client::from_conf(config), arn)
    }

    /// Sets an endpoint, where the environment names one. The SDK would read the same variable of
    /// the process; reading it here lets two clouds live in one process.
    fn at<B>(&self, builder: B, name: &str, set: impl FnOnce(B, String) -> B) -> B {
        match self.environment.get(name) {
            Some(url) => set(builder, url),
            None => builder,
        }
    }
}

/// Credentials of the environment, as Lambda sets them.
fn credentials(environment: &Environment) -> Option<Credentials> {
    let id = environment.get("AWS_ACCESS_KEY_ID")?;
    let secret = environment.get("AWS_SECRET_ACCESS_KEY")?;
    Some(Credentials::new(
        id,
        secret,
        environment.get("AWS_SESSION_TOKEN"),
        None,
        "environment",
    ))
}

/// The HTTP client of the SDK: TLS by ring, which has the quickest first handshake.
#[must_use]
pub fn http_client() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https()
}
