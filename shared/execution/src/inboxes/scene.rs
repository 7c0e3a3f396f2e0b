//! An event with what is known around it: the forge is asked once for all triggers.

use awo_domain::forge::ForgePermission;
use awo_domain::source::{Branch, CommitId};
use awo_domain::{Error, InboxDeliveryId, OrgId, RunId, Timestamp, WorkOrderId};
use awo_forges::TokenScope;
use awo_store::Store;
use awo_triggers::{Branches, Event};
use tokio::sync::OnceCell;

use super::judging::ReceivedDelivery;
use crate::git_access::{ForgeAccess, ForgeFault, GitHosts, answered};

/// The beginning of a run's id, in the name of a branch.
const RUN: &str = "run_";

/// An event of a delivery.
pub(super) struct EventScene<'a> {
    pub org: &'a OrgId,
    pub delivery: &'a InboxDeliveryId,
    pub event: Event<'a>,
    pub received: &'a ReceivedDelivery<'a>,
    access: OnceCell<Option<ForgeAccess>>,
}

/// A thread that owns a branch, with the last commit that was delivered to it.
pub(super) struct OwningThread {
    pub id: WorkOrderId,
    pub commit: Option<String>,
}

impl<'a> EventScene<'a> {
    pub fn new(
        org: &'a OrgId,
        delivery: &'a InboxDeliveryId,
        event: Event<'a>,
        received: &'a ReceivedDelivery<'a>,
    ) -> EventScene<'a> {
        EventScene {
            org,
            delivery,
            event,
            received,
            access: OnceCell::new(),
        }
    }

    pub fn now(&self) -> Timestamp {
        self.received.now
    }

    /// The forge of the event's repository; none where the organization has no token for it.
    pub async fn forge(&self, hosts: &GitHosts) -> Result<Option<&ForgeAccess>, ForgeFault> {
        let Some(repository) = &self.event.repository else {
            return Ok(None);
        };
        let access = self
            .access
            .get_or_try_init(|| hosts.forge(self.org, repository, TokenScope::Run, self.now()));
        Ok(access.await?.as_ref())
    }

    /// The event with the branches of its pull request as the forge has them now, and the author of that.
    pub async fn with_branches(
        &self,
        access: &ForgeAccess,
    ) -> Result<(Event<'a>, Option<String>), ForgeFault> {
        let mut event = self.event.clone();
        let subject = event
            .subject
            .as_ref()
            .filter(|subject| subject.is_pull_request);
        let Some(number) = subject.map(|subject| subject.number) else {
            return Ok((event, None));
        };
        let shown = answered(access.forge.branches(number)).await?;
        let strange = |_| ForgeFault::Refused("the forge names a strange branch".to_owned());
        let own = event.branches.as_ref().and_then(|own| own.commit.clone());
        let head = CommitId::parse(&shown.commit).map_err(strange_commit)?;
        event.branches = Some(Branches {
            head: Branch::parse(&shown.head).map_err(strange)?,
            commit: own.or(Some(head)),
            target: Some(Branch::parse(&shown.target).map_err(strange)?),
            is_fork: shown.is_fork,
        });
        Ok((event, Some(shown.author)))
    }

    /// The permission of an account.
    pub async fn permission(
        &self,
        access: &ForgeAccess,
        login: &str,
    ) -> Result<ForgePermission, ForgeFault> {
        answered(access.forge.permission(login)).await
    }
}

fn strange_commit<E>(_: E) -> ForgeFault {
    ForgeFault::Refused("the forge names a strange commit".to_owned())
}

/// The thread that owns a branch whose name ends with the id of a run, in the same repository.
pub(super) async fn owner_of(
    store: &Store,
    org: &OrgId,
    event: &Event<'_>,
) -> Result<Option<OwningThread>, Error> {
    let (Some(branches), Some(repository)) = (&event.branches, &event.repository) else {
        return Ok(None);
    };
    let name = branches.head.as_str();
    let run = name.rfind(RUN).and_then(|start| name.get(start..));
    let Some(run) = run.and_then(|run| RunId::parse(run).ok()) else {
        return Ok(None);
    };
    let Some(run) = store.run(org, &run).await? else {
        return Ok(None);
    };
    let Some(order) = store.work_order(org, &run.work_order_id).await? else {
        return Ok(None);
    };
    if !is_same(order.source.repository.as_str(), repository.as_str()) {
        return Ok(None);
    }
    let id = order.thread_id().clone();
    let thread = store.thread(org, &id).await?;
    let turns = store.turns(org, &id, &thread).await?;
    let newest = store.newest_runs(org, &turns).await?;
    let delivered = newest
        .into_values()
        .filter(|run| run.branch.as_deref() == Some(name) && run.commit.is_some());
    // Ids sort by creation.
    let last = delivered.max_by(|one, other| one.run_id.cmp(&other.run_id));
    let commit = last.and_then(|run| run.commit);
    Ok(Some(OwningThread { id, commit }))
}

/// True for two URLs of one repository.
fn is_same(one: &str, other: &str) -> bool {
    let plain = |url: &str| {
        let url = url.trim_end_matches('/');
        url.strip_suffix(".git").unwrap_or(url).to_ascii_lowercase()
    };
    plain(one) == plain(other)
}
