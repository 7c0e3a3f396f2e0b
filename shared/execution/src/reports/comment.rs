//! The sticky comment of a thread: one on its pull request, and one on the issue that a trigger created it for.

use std::collections::HashMap;

use awo_domain::money::MicroCredits;
use awo_domain::pull_request::PullRequestUrl;
use awo_domain::run_report::RunReport;
use awo_domain::schedule::Origin;
use awo_domain::{OrgId, RunId};
use awo_forges::{CommentPlace, StickyComment};
use awo_store::runs::Run;
use awo_store::work_orders::WorkOrder;

use super::check::failing;
use super::markdown::{block, code};
use super::{ForgeAccess, ReportFault, ReportSender, ReportSubject};

/// Most turns that the comment shows, the newest.
const MAX_TURNS: usize = 20;
/// Most failing checks that the comment shows.
const MAX_FAILING: usize = 5;
/// Most characters of the message of a failing check.
const MAX_MESSAGE: usize = 1_000;
/// Most characters of a name.
const MAX_NAME: usize = 100;

/// A turn with its newest run.
struct Turn<'a> {
    order: &'a WorkOrder,
    run: Option<&'a Run>,
}

impl ReportSender {
    /// Writes the comments of the run's thread; none if there is no place for one.
    pub(super) async fn post_comment(
        &self,
        org: &OrgId,
        access: &ForgeAccess,
        subject: ReportSubject<'_>,
    ) -> Result<Option<RunReport>, ReportFault> {
        let id = subject.order.thread_id();
        let thread = self.store.thread(org, id).await?;
        let mut orders = self.store.turns(org, id, &thread).await?;
        if orders.is_empty() {
            orders.push(subject.order.clone());
        }
        let runs = self.store.newest_runs(org, &orders).await?;
        let places = places(&orders, thread.pull_request.as_ref(), &runs);
        if places.is_empty() {
            return Ok(None);
        }
        let profile = self.store.audited_profile(org, subject.run).await?;
        let shows_cost = profile.is_some_and(|profile| profile.git_ops.show_cost);
        let turn = |order| Turn {
            order,
            run: runs.get(&order.run_id),
        };
        let turns: Vec<Turn<'_>> = orders.iter().map(turn).collect();
        let marker = format!("<!-- awo:thread {id} -->");
        let mut text = format!("{marker}\n{}", table(&turns, shows_cost));
        if let Some(attempts) = subject.run.attempts_ended {
            text.push_str(&format!(
                "\nNo further attempts: the trigger made {attempts} of them, its limit. A push, a comment or a label \
                 of a person allows more.\n"
            ));
        }
        let last = self.last_verification(org, subject).await?;
        for check in failing(&last.results).take(MAX_FAILING) {
            let name = code(&check.name, MAX_NAME);
            text.push_str(&format!(
                "\n{name}\n\n{}",
                block(&check.message, MAX_MESSAGE)
            ));
        }
        let author = access.own.login.as_deref().unwrap_or_default();
        let mut url = None;
        for place in places {
            let comment = StickyComment {
                place,
                marker: &marker,
                author,
                body: &text,
            };
            let posted = access.forge.post_comment(&comment).await?;
            url = url.or(posted);
        }
        Ok(Some(RunReport::posted(subject.kind, url)))
    }
}

/// The pull request of the thread, and the issue or the pull request that its first turn was created for.
fn places(
    orders: &[WorkOrder],
    pull_request: Option<&PullRequestUrl>,
    runs: &HashMap<RunId, Run>,
) -> Vec<CommentPlace> {
    let delivered = orders
        .iter()
        .rev()
        .filter_map(|order| runs.get(&order.run_id));
    let delivered = delivered.filter_map(|run| run.pr_url.as_ref()).next();
    let pull = pull_request.or(delivered).and_then(PullRequestUrl::number);
    let origin = orders.first().and_then(|order| order.origin.as_ref());
    let mut places: Vec<CommentPlace> = pull.map(CommentPlace::PullRequest).into_iter().collect();
    let cause = origin.and_then(cause);
    if cause.is_some_and(|cause| !places.contains(&cause)) {
        places.extend(cause);
    }
    places
}

/// The issue or pull request that a trigger has created a work order for, by the address of its page.
fn cause(origin: &Origin) -> Option<CommentPlace> {
    let url = origin.url.as_deref()?;
    let path = url.split(['#', '?']).next()?;
    let mut names = path.trim_end_matches('/').rsplit('/');
    let number = names.next()?.parse().ok()?;
    match names.next()? {
        "issues" => Some(CommentPlace::Issue(number)),
        "pull" | "pulls" | "merge_requests" => Some(CommentPlace::PullRequest(number)),
        _ => None,
    }
}

fn table(turns: &[Turn<'_>], shows_cost: bool) -> String {
    let (cost_head, cost_line) = if shows_cost {
        (" credits |", "---|")
    } else {
        ("", "")
    };
    let mut text = format!(
        "| turn | work order | status | verified | commit |{cost_head}\n|---|---|---|---|---|{cost_line}\n"
    );
    for turn in turns.iter().skip(turns.len().saturating_sub(MAX_TURNS)) {
        let (order, run) = (turn.order, turn.run);
        let commit = run.filter(|run| run.branch.is_some());
        let commit = commit.and_then(|run| run.commit.as_deref());
        let commit = commit.map_or(String::new(), |commit| code(commit, 12));
        let verified = if run.is_some_and(|run| run.verified) {
            "yes"
        } else {
            "no"
        };
        let error = run.and_then(|run| run.error.as_ref());
        let error = error.map_or(String::new(), |error| format!(" ({})", error.code.as_str()));
        let cost = run.and_then(|run| run.cost.as_ref());
        let cost = cost.map_or(MicroCredits::ZERO, |cost| {
            MicroCredits::from_micro(cost.credits_micro)
        });
        let cost = if shows_cost {
            format!(" {} |", cost.to_decimal())
        } else {
            String::new()
        };
        text.push_str(&format!(
            "| {} | {} | {}{error} | {verified} | {commit} |{cost}\n",
            order.turn(),
            code(order.id.as_str(), MAX_NAME),
            order.status.as_str(),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use awo_domain::schedule::OriginKind;

    #[test]
    fn the_page_of_the_cause_names_its_place_on_each_forge() {
        use CommentPlace as P;
        for (url, place) in [
            ("https://github.com/acme/app/issues/7", Some(P::Issue(7))),
            (
                "https://github.com/acme/app/issues/7#issuecomment-1",
                Some(P::Issue(7)),
            ),
            (
                "https://github.com/acme/app/pull/8",
                Some(P::PullRequest(8)),
            ),
            ("https://gitlab.com/acme/app/-/issues/9", Some(P::Issue(9))),
            (
                "https://gitlab.com/acme/app/-/merge_requests/3",
                Some(P::PullRequest(3)),
            ),
            (
                "https://codeberg.org/acme/app/pulls/4",
                Some(P::PullRequest(4)),
            ),
            ("https://github.com/acme/app/commit/77", None),
            ("https://github.com/acme/app", None),
        ] {
            let origin = Origin {
                kind: OriginKind::Trigger,
                schedule_id: None,
                scheduled_for: None,
                trigger_id: None,
                delivery_id: None,
                actor: None,
                subject: None,
                url: Some(url.to_owned()),
            };
            assert_eq!(cause(&origin), place, "{url}");
        }
    }
}
