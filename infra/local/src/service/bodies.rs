//! The bucket of the bodies of deliveries to inboxes, below the data directory.

use super::{Ending, Options, StartError, failed, listen};
use crate::access::AccessKey;
use crate::{Server, s3};

/// Name of the bucket.
pub(super) const BUCKET: &str = "awo-inbox-bodies";

/// Serves the bucket.
pub(super) async fn start(
    options: &Options,
    key: &AccessKey,
    ending: &Ending,
) -> Result<Server, StartError> {
    let directory = options.data_dir.as_ref().unwrap_or(&options.log_dir);
    let (directory, shutdown) = (directory.join("inbox-bodies"), ending.stores.clone());
    s3::start(listen(0).await?, BUCKET, &directory, key.clone(), shutdown).map_err(failed("S3"))
}
