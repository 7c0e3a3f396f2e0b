//! Bodies of deliveries to inboxes (S3), which the bucket removes after seven days. A body is found by the hash of
//! what was signed, so storing one twice changes nothing but its age.

use awo_domain::{Error, InboxId, OrgId};
use aws_sdk_s3::Client;
use aws_sdk_s3::error::{DisplayErrorContext, SdkError};
use aws_sdk_s3::primitives::ByteStream;

/// The bucket of bodies.
#[derive(Debug, Clone)]
pub struct Bodies {
    client: Client,
    bucket: String,
}

/// The key of a body.
#[derive(Debug, Clone, Copy)]
pub struct BodyKey<'a> {
    /// The owner.
    pub org: &'a OrgId,
    /// The inbox.
    pub inbox: &'a InboxId,
    /// The SHA-256 of the body as it was signed, in hexadecimal digits.
    pub sha256: &'a str,
}

impl BodyKey<'_> {
    fn text(self) -> String {
        format!("{}/{}/{}", self.org, self.inbox, self.sha256)
    }
}

impl Bodies {
    pub(crate) fn new(client: Client, bucket: String) -> Bodies {
        Bodies { client, bucket }
    }

    /// Stores a body.
    ///
    /// # Errors
    /// Internal, when S3 fails.
    pub async fn put(&self, key: BodyKey<'_>, body: Vec<u8>) -> Result<(), Error> {
        let put = self.client.put_object().bucket(&self.bucket);
        let put = put.key(key.text()).content_type("application/json");
        let stored = put.body(ByteStream::from(body)).send().await;
        stored
            .map(drop)
            .map_err(|error| failed("PutObject", &error))
    }

    /// A body; none if it is not there any more.
    ///
    /// # Errors
    /// Internal, when S3 fails.
    pub async fn get(&self, key: BodyKey<'_>) -> Result<Option<Vec<u8>>, Error> {
        let get = self.client.get_object().bucket(&self.bucket);
        let read = match get.key(key.text()).send().await {
            Ok(read) => read,
            Err(error) => match error.as_service_error() {
                Some(service) if service.is_no_such_key() => return Ok(None),
                _ => return Err(failed("GetObject", &error)),
            },
        };
        let body = read.body.collect().await.map_err(Error::internal)?;
        Ok(Some(body.to_vec()))
    }
}

fn failed<E, R>(call: &str, error: &SdkError<E, R>) -> Error
where
    E: std::error::Error + 'static,
    R: std::fmt::Debug,
{
    Error::internal(format!("{call}: {}", DisplayErrorContext(error)))
}
