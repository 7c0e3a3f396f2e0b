//! An event, the same for every forge.

use awo_domain::forge::{ForgeKind, GitHostName};
use awo_domain::source::{Branch, CommitId, Repository};
use awo_domain::trigger::{ReviewState, TriggerEvent};
use serde_json::Value;

/// The sender of a delivery.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    /// The forge; none for another sender.
    pub forge: Option<ForgeKind>,
    /// The host whose repositories count.
    pub host: Option<&'a GitHostName>,
}

/// An event of a delivery.
#[derive(Debug, Clone, PartialEq)]
pub struct Event<'a> {
    /// The names: GitLab reports several changes at once.
    pub names: Vec<TriggerEvent>,
    /// The repository; none of a sender that is no forge.
    pub repository: Option<Repository>,
    /// The issue or pull request.
    pub subject: Option<Subject>,
    /// The branches of the pull request, or the pushed one, if the delivery names them.
    pub branches: Option<Branches>,
    /// The actor; none of a sender that is no forge.
    pub actor: Option<Actor>,
    /// Labels that were added, if the forge names them.
    pub added_labels: Option<Vec<String>>,
    /// The comment.
    pub comment: Option<Comment>,
    /// The review.
    pub review: Option<Review>,
    /// The check.
    pub check: Option<Check>,
    /// The body of the delivery.
    pub body: &'a Value,
}

/// An issue or a pull request.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// True for a pull request.
    pub is_pull_request: bool,
    /// The number in the repository.
    pub number: u64,
    /// The address of its page.
    pub url: String,
    /// The title.
    pub title: String,
    /// The text.
    pub body: String,
    /// The author, if the delivery names one.
    pub author: Author,
    /// Names of its labels.
    pub labels: Vec<String>,
    /// True for a draft; none of an issue.
    pub draft: Option<bool>,
}

/// The branches of a pull request, or a pushed branch.
#[derive(Debug, Clone, PartialEq)]
pub struct Branches {
    /// The branch with the commits.
    pub head: Branch,
    /// The newest commit of that branch.
    pub commit: Option<HeadCommit>,
    /// The branch into which it is to be merged; none of a push.
    pub target: Option<Branch>,
    /// True if the branch is in another repository.
    pub is_fork: bool,
}

/// The newest commit of a branch.
pub type HeadCommit = CommitId;

/// The login of an author, which stands before a text of theirs: of letters, digits and a few signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author(String);

impl Author {
    /// The author of what names none.
    #[must_use]
    pub fn unknown() -> Author {
        Author("unknown".to_owned())
    }

    /// The authors of what has several.
    #[must_use]
    pub fn several() -> Author {
        Author("several".to_owned())
    }

    /// The author of this login; unknown if it is none that a forge has.
    #[must_use]
    pub fn of(login: Option<&str>) -> Author {
        login
            .filter(|login| is_login(login))
            .map_or_else(Author::unknown, |login| Author(login.to_owned()))
    }

    /// The login.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// True for a text that can be a login.
pub(crate) fn is_login(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.[]".contains(c);
    (1..=100).contains(&text.len()) && text.chars().all(fits)
}

/// The account whose act the event is.
#[derive(Debug, Clone, PartialEq)]
pub struct Actor {
    /// The login.
    pub login: String,
    /// True for an App or another program.
    pub is_bot: bool,
    /// The id of the App by which it acted.
    pub app_id: Option<u64>,
}

/// A comment.
#[derive(Debug, Clone, PartialEq)]
pub struct Comment {
    /// The author.
    pub author: Author,
    /// The text.
    pub text: String,
}

/// A review.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    /// The state.
    pub state: ReviewState,
    /// The author.
    pub author: Author,
    /// The text.
    pub text: String,
}

/// A check of a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The name.
    pub name: String,
    /// The conclusion, as the forge calls it.
    pub conclusion: String,
    /// The id that its author gave it.
    pub external_id: Option<String>,
    /// The text that it reports.
    pub text: String,
}

impl Event<'_> {
    /// True if the event has this name.
    #[must_use]
    pub fn is(&self, name: TriggerEvent) -> bool {
        self.names.contains(&name)
    }

    /// The repository as patterns name it: `host/owner/name`, in lower case, without `.git`.
    #[must_use]
    pub fn repository_name(&self) -> Option<String> {
        let url = self.repository.as_ref()?.as_str();
        let name = url.strip_prefix("https://")?.trim_end_matches('/');
        Some(
            name.strip_suffix(".git")
                .unwrap_or(name)
                .to_ascii_lowercase(),
        )
    }

    /// The subject as a delivery shows it, such as `acme/app#7` or `acme/app@main`.
    #[must_use]
    pub fn subject_name(&self) -> Option<String> {
        let name = self.repository_name()?;
        let (_, path) = name.split_once('/')?;
        match (&self.subject, &self.branches) {
            (Some(subject), _) => Some(format!("{path}#{}", subject.number)),
            (None, Some(branches)) => Some(format!("{path}@{}", branches.head.as_str())),
            (None, None) => Some(path.to_owned()),
        }
    }

    /// The subject by which a trigger counts attempts, such as `git.example.com/acme/app#7`.
    #[must_use]
    pub fn subject_key(&self) -> Option<String> {
        let name = self.repository_name()?;
        match (&self.subject, &self.branches) {
            (Some(subject), _) => Some(format!("{name}#{}", subject.number)),
            (None, Some(branches)) => Some(format!("{name}@{}", branches.head.as_str())),
            (None, None) => None,
        }
    }

    /// True for an act after which attempts are counted anew, if a person did it: a push, a comment or a label.
    #[must_use]
    pub fn is_act(&self) -> bool {
        self.names.iter().any(|name| {
            matches!(
                name,
                TriggerEvent::Push
                    | TriggerEvent::PullRequestUpdated
                    | TriggerEvent::CommentCreated
                    | TriggerEvent::ReviewSubmitted
                    | TriggerEvent::IssueLabeled
                    | TriggerEvent::PullRequestLabeled
            )
        })
    }

    /// True if it is about a pull request whose branches the delivery does not name.
    #[must_use]
    pub fn lacks_branches(&self) -> bool {
        let subject = self.subject.as_ref();
        self.branches.is_none() && subject.is_some_and(|subject| subject.is_pull_request)
    }

    /// The text in which a mention or a command can stand: of the comment or the review, else of the subject.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        let comment = self.comment.as_ref().map(|comment| &*comment.text);
        let review = self.review.as_ref().map(|review| &*review.text);
        let subject = self.subject.as_ref().map(|subject| &*subject.body);
        comment.or(review).or(subject)
    }
}
