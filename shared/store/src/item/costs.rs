//! Keys of costs.

use awo_domain::OrgId;

use super::Key;

impl Key {
    /// What the organization declares about its costs.
    pub fn cost_policy(org: &OrgId) -> Key {
        Key::new(format!("{org}#costs"), "policy")
    }
}
