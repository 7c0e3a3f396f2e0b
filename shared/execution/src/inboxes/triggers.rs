//! The judgement of an event by one trigger, up to the work order that it creates. What the forge does not answer is
//! asked again for ten minutes, and then refused.

use awo_cloud::{Cloud, SetupError};
use awo_domain::forge::ForgePermission;
use awo_domain::inbox::delivery::{TriggerResult, TriggerResultKind};
use awo_domain::trigger::subject::{Settling, SubjectState};
use awo_domain::trigger::{
    OnForeign, PERMISSION_WAIT_MS, TriggerAction, TriggerEvent, TriggerPermission,
};
use awo_domain::{Error, Timestamp, TriggerId, WorkOrderId};
use awo_store::Store;
use awo_store::triggers::CurrentTrigger;
use awo_store::triggers::subjects::CurrentSubject;
use awo_triggers::{Event, OwnAccount, Verdict, is_own, is_own_check, judge, judge_actor};

use super::bodies_of::BodyReader;
use super::judging::{TriggerOutcome, without_order};
use super::opening::{CreationOutcome, PlannedOrder, TriggerOpener};
use super::scene::{EventScene, owner_of};
use crate::git_access::{ForgeAccess, ForgeFault, GitHosts};

/// Pause before a forge that did not answer is asked again, in milliseconds.
const ASK_AGAIN_MS: i64 = 60_000;
/// The reason where the forge does not say what an actor may do.
const PERMISSION_UNKNOWN: &str = "permission_unknown";

/// Judges events by triggers.
#[derive(Debug)]
pub(super) struct TriggerJudge {
    store: Store,
    hosts: GitHosts,
    opener: TriggerOpener,
}

/// The judgement of an actor.
enum Admission<'a> {
    /// The event counts, with the branches of its pull request.
    Admitted(Box<Event<'a>>),
    /// The event does not count.
    Verdict(Verdict),
    /// The forge has to be asked again.
    Unknown,
}

impl TriggerJudge {
    pub fn new(cloud: &Cloud) -> Result<TriggerJudge, SetupError> {
        Ok(TriggerJudge {
            store: cloud.store()?,
            hosts: GitHosts::new(cloud)?,
            opener: TriggerOpener::new(cloud)?,
        })
    }

    /// The outcome of an event for a trigger.
    pub async fn judge(
        &self,
        scene: &EventScene<'_>,
        read: CurrentTrigger,
        bodies: &BodyReader,
    ) -> Result<TriggerOutcome, Error> {
        let (org, id) = (scene.org, read.trigger.id.clone());
        if let Some(order) = self.store.trigger_order(org, &id, scene.delivery).await? {
            let result = match read.trigger.content.action {
                TriggerAction::FollowUp => TriggerResultKind::FollowedUp,
                TriggerAction::Create | TriggerAction::Verify => TriggerResultKind::Created,
            };
            let mut result = without_order(&id, result, None);
            result.work_order_id = Some(order);
            return Ok(done(result));
        }
        self.count_anew(scene, &read).await?;
        let content = &read.trigger.content;
        let event = match judge(content, &scene.event) {
            Verdict::Acts => match self.admission(scene, &read).await? {
                Admission::Admitted(event) => *event,
                Admission::Verdict(verdict) => return Ok(by_verdict(&id, verdict)),
                Admission::Unknown => return Ok(unknown(&id, scene)),
            },
            verdict => return Ok(by_verdict(&id, verdict)),
        };
        let subject = match event.subject_key() {
            Some(key) => Some(self.store.trigger_subject(org, &id, &key).await?),
            None => None,
        };
        let thread = match content.action {
            TriggerAction::FollowUp => self.thread(scene, &event, subject.as_ref()).await?,
            TriggerAction::Create | TriggerAction::Verify => None,
        };
        let follows_up = content.action == TriggerAction::FollowUp;
        if follows_up && thread.is_none() && content.on_foreign == OnForeign::Ignore {
            let ignored = without_order(&id, TriggerResultKind::Ignored, Some("foreign"));
            return Ok(done(ignored));
        }
        let Some((read_subject, state)) = subject.map(|read| {
            let state = read.state.clone();
            (read, state)
        }) else {
            let planned = PlannedOrder {
                read,
                event,
                gathered: Vec::new(),
                subject: None,
                thread,
            };
            return Box::pin(self.created(scene, planned, bodies)).await;
        };
        let (state, place) = state.settled(content, scene.delivery, scene.now());
        let gathered = match place {
            Settling::Unsettled => Vec::new(),
            Settling::Ended(joined) => joined,
            Settling::Waits(until) => {
                return self
                    .gathers(scene, &id, (read_subject, state), Some(until))
                    .await;
            }
            Settling::Joins => {
                return self.gathers(scene, &id, (read_subject, state), None).await;
            }
        };
        let planned = PlannedOrder {
            read,
            event,
            gathered,
            subject: Some((read_subject, state)),
            thread,
        };
        Box::pin(self.created(scene, planned, bodies)).await
    }

    /// Counts the attempts of a subject anew after an act of a person.
    async fn count_anew(&self, scene: &EventScene<'_>, read: &CurrentTrigger) -> Result<(), Error> {
        let event = &scene.event;
        let is_person = event.actor.as_ref().is_some_and(|actor| !actor.is_bot);
        let Some(key) = event.subject_key().filter(|_| is_person && event.is_act()) else {
            return Ok(());
        };
        let org = scene.org;
        let subject = self
            .store
            .trigger_subject(org, &read.trigger.id, &key)
            .await?;
        if subject.state.attempts == 0 {
            return Ok(());
        }
        // The account of a token is a person's, too.
        let Ok(Some(access)) = scene.forge(&self.hosts).await else {
            return Ok(());
        };
        if self.is_self(scene, event, &access.own).await? {
            return Ok(());
        }
        let state = subject.state.clone().touched();
        let replaced = self
            .store
            .replace_trigger_subject(org, &subject, &state, scene.now());
        replaced.await.map(drop)
    }

    /// True for what the service did itself.
    async fn is_self(
        &self,
        scene: &EventScene<'_>,
        event: &Event<'_>,
        own: &OwnAccount,
    ) -> Result<bool, Error> {
        if is_own_check(event, own) || is_own(event, own) {
            return Ok(true);
        }
        let is_of_commits = event.is(TriggerEvent::Push)
            || event.is(TriggerEvent::PullRequestOpened)
            || event.is(TriggerEvent::PullRequestUpdated);
        if !is_of_commits {
            return Ok(false);
        }
        let owner = owner_of(&self.store, scene.org, event).await?;
        Ok(owner.is_some_and(|owner| is_head(event, owner.commit.as_deref())))
    }

    async fn admission<'a>(
        &self,
        scene: &EventScene<'a>,
        read: &CurrentTrigger,
    ) -> Result<Admission<'a>, Error> {
        let who = &read.trigger.content.who;
        let has_forge = scene.event.repository.is_some();
        if !has_forge {
            return Ok(Admission::Admitted(Box::new(scene.event.clone())));
        }
        match self.asked(scene, read).await {
            Ok(Some(admission)) => Ok(admission),
            // There is no token, so the service did nothing there, and nobody can be asked.
            Ok(None)
                if who.permission == TriggerPermission::Anyone && !scene.event.lacks_branches() =>
            {
                Ok(Admission::Admitted(Box::new(scene.event.clone())))
            }
            Ok(None) => Ok(Admission::Verdict(Verdict::Refused(PERMISSION_UNKNOWN))),
            Err(ForgeFault::Refused(why)) => {
                tracing::warn!(event = "forge_refused_question", org = %scene.org, delivery = %scene.delivery, why, "a forge does not say who may do what");
                Ok(Admission::Verdict(Verdict::Refused(PERMISSION_UNKNOWN)))
            }
            Err(ForgeFault::Later(_)) => Ok(Admission::Unknown),
            Err(ForgeFault::Internal(error)) => Err(error),
        }
    }

    /// None if the organization has no token for the host.
    async fn asked<'a>(
        &self,
        scene: &EventScene<'a>,
        read: &CurrentTrigger,
    ) -> Result<Option<Admission<'a>>, ForgeFault> {
        let content = &read.trigger.content;
        let Some(access) = scene.forge(&self.hosts).await? else {
            return Ok(None);
        };
        if self.is_self(scene, &scene.event, &access.own).await? {
            return Ok(Some(Admission::Verdict(Verdict::Ignored("self"))));
        }
        let is_failure = scene.event.is(TriggerEvent::CheckFailed);
        let (event, author) = if scene.event.lacks_branches() || is_failure {
            scene.with_branches(access).await?
        } else {
            (scene.event.clone(), None)
        };
        match judge(content, &event) {
            Verdict::Acts => {}
            verdict => return Ok(Some(Admission::Verdict(verdict))),
        }
        if is_failure {
            let admitted = self
                .admits_failure(scene, read, (&event, author), access)
                .await?;
            return Ok(Some(match admitted {
                Verdict::Acts => Admission::Admitted(Box::new(event)),
                verdict => Admission::Verdict(verdict),
            }));
        }
        let login = event.actor.as_ref().map(|actor| actor.login.as_str());
        let needs = content.who.permission != TriggerPermission::Anyone;
        let permission = match login.filter(|_| needs) {
            Some(login) => scene.permission(access, login).await?,
            None => ForgePermission::None,
        };
        Ok(Some(
            match judge_actor(&content.who, &event, &access.own, permission) {
                Verdict::Acts => Admission::Admitted(Box::new(event)),
                verdict => Admission::Verdict(verdict),
            },
        ))
    }

    /// A failure has no actor: it counts of the head that a run delivered last, else by the author of the pull
    /// request.
    async fn admits_failure(
        &self,
        scene: &EventScene<'_>,
        read: &CurrentTrigger,
        (event, author): (&Event<'_>, Option<String>),
        access: &ForgeAccess,
    ) -> Result<Verdict, ForgeFault> {
        let owner = owner_of(&self.store, scene.org, event).await?;
        if owner.is_some_and(|owner| is_head(event, owner.commit.as_deref())) {
            return Ok(Verdict::Acts);
        }
        let Some(author) = author else {
            return Ok(Verdict::Refused("who:permission"));
        };
        let permission = scene.permission(access, &author).await?;
        let is_met = read.trigger.content.who.permission.is_met_by(permission);
        Ok(if is_met {
            Verdict::Acts
        } else {
            Verdict::Refused("who:permission")
        })
    }

    /// The thread that an event is about: that of the branch, else the one that the trigger made for the subject.
    async fn thread(
        &self,
        scene: &EventScene<'_>,
        event: &Event<'_>,
        subject: Option<&CurrentSubject>,
    ) -> Result<Option<WorkOrderId>, Error> {
        let owner = owner_of(&self.store, scene.org, event).await?;
        let own = owner.map(|owner| owner.id);
        Ok(own.or_else(|| subject?.state.thread_id.clone()))
    }

    /// Writes the window in which a delivery gathers with others; `until` is the end of one that it opened.
    async fn gathers(
        &self,
        scene: &EventScene<'_>,
        id: &TriggerId,
        (read, state): (CurrentSubject, SubjectState),
        until: Option<Timestamp>,
    ) -> Result<TriggerOutcome, Error> {
        let is_new = read.state != state;
        let is_written = !is_new
            || (self.store)
                .replace_trigger_subject(scene.org, &read, &state, scene.now())
                .await?;
        let result = without_order(id, TriggerResultKind::Joined, None);
        Ok(TriggerOutcome {
            result,
            // Another delivery was faster: the next sweep looks again.
            again_at: if is_written { until } else { Some(scene.now()) },
        })
    }

    async fn created(
        &self,
        scene: &EventScene<'_>,
        planned: PlannedOrder<'_>,
        bodies: &BodyReader,
    ) -> Result<TriggerOutcome, Error> {
        let id = planned.read.trigger.id.clone();
        let follows_up = planned.thread.is_some();
        let outcome = self.opener.open(scene, planned, bodies).await?;
        let kind = if follows_up {
            TriggerResultKind::FollowedUp
        } else {
            TriggerResultKind::Created
        };
        Ok(match outcome {
            CreationOutcome::Created(order) => {
                let mut result = without_order(&id, kind, None);
                result.work_order_id = Some(order);
                done(result)
            }
            CreationOutcome::Refused(reason) => done(without_order(
                &id,
                TriggerResultKind::Refused,
                Some(&reason),
            )),
            CreationOutcome::Contended => TriggerOutcome {
                result: without_order(&id, TriggerResultKind::Joined, None),
                again_at: Some(scene.now()),
            },
        })
    }
}

/// True if the commit of an event is the one that a run delivered.
fn is_head(event: &Event<'_>, delivered: Option<&str>) -> bool {
    let branches = event.branches.as_ref();
    let commit = branches.and_then(|branches| branches.commit.as_ref());
    delivered.is_some() && commit.map(|commit| commit.as_str()) == delivered
}

fn done(result: TriggerResult) -> TriggerOutcome {
    TriggerOutcome {
        result,
        again_at: None,
    }
}

fn by_verdict(id: &TriggerId, verdict: Verdict) -> TriggerOutcome {
    done(match verdict {
        Verdict::Ignored(reason) => without_order(id, TriggerResultKind::Ignored, Some(reason)),
        Verdict::Refused(reason) => without_order(id, TriggerResultKind::Refused, Some(reason)),
        Verdict::Acts => without_order(id, TriggerResultKind::Joined, None),
    })
}

/// The outcome while the forge does not answer.
fn unknown(id: &TriggerId, scene: &EventScene<'_>) -> TriggerOutcome {
    let waited = scene.now().ms_since(scene.received.delivery.received_at);
    if waited >= PERMISSION_WAIT_MS {
        let refused = Verdict::Refused(PERMISSION_UNKNOWN);
        return by_verdict(id, refused);
    }
    TriggerOutcome {
        result: without_order(id, TriggerResultKind::Joined, None),
        again_at: Some(scene.now().plus_ms(ASK_AGAIN_MS)),
    }
}
