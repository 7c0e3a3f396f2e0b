//! What a sender holds: a send permit of its function for the organization, and under it a delivery
//! permit for each receiver. A delivery permit is requested with the send permit, so every sender
//! takes the two in this order, and a function without the first takes none of the second.

use awo_domain::{Error, OrgId};

use crate::Store;
use crate::capacity::call_permits::{CallPermit, LongCall};
use crate::webhooks::delivery_permits::PermitRequest;

/// A function's permit to send to an organization's receivers. Dropping it gives it back, as
/// [`CallPermit`] does.
#[derive(Debug)]
pub struct SendPermit {
    org: OrgId,
    call: CallPermit,
}

impl Store {
    /// Takes one for the holder of this request.
    ///
    /// # Errors
    /// [`Error::TooManyAtOnce`] if the organization has its share of functions, or internal.
    pub async fn take_send_permit(
        &self,
        org: &OrgId,
        wanted: &PermitRequest,
    ) -> Result<SendPermit, Error> {
        let call = self.take_call_permit(org, LongCall::Send, &wanted.holder, wanted.now);
        Ok(SendPermit {
            org: org.clone(),
            call: call.await?,
        })
    }
}

impl SendPermit {
    /// The organization.
    pub(crate) fn org(&self) -> &OrgId {
        &self.org
    }

    /// Gives it back. If that fails, it counts no more when it expires.
    pub async fn give_back(self) {
        self.call.give_back().await;
    }
}
