//! What a claim trades a nonce for.

use awo_domain::SnapshotId;
use awo_domain::environment::EnvironmentRecord;
use awo_domain::profile::Profile;

use super::Lease;

/// A run to be claimed.
#[derive(Debug)]
pub struct Claiming<'a> {
    /// Its lease as it was read.
    pub lease: &'a Lease,
    /// What it begins with, if it was not claimed before.
    pub profile: Profile,
    /// The iterations that it may have by that.
    pub max_iterations: u32,
    /// The id of its first snapshot.
    pub snapshot_id: SnapshotId,
    /// The version of the price list that its models are priced by.
    pub price_list: String,
    /// Its environment.
    pub environment: Option<EnvironmentRecord>,
    /// True if it comes back from its children: its effective profile stays.
    pub resumes: bool,
}
