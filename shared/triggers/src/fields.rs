//! Values of bodies, each of which may be missing or of another type.

use awo_domain::forge::GitHostName;
use awo_domain::source::{Branch, CommitId, Repository};
use serde_json::Value;
use url::Url;

use crate::event::{Author, Branches};

/// Most labels that are read.
const MAX_LABELS: usize = 200;

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// An address of a page.
pub(crate) fn page(value: &Value) -> String {
    let is_page = |text: &&str| {
        let is_plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
        is_plain && text.len() <= 2_048 && text.starts_with("https://")
    };
    value
        .as_str()
        .filter(is_page)
        .unwrap_or_default()
        .to_owned()
}

pub(crate) fn author(login: &Value) -> Author {
    Author::of(login.as_str())
}

/// Names of labels, which stand under `name` in each.
pub(crate) fn labels(list: &Value, name: &str) -> Vec<String> {
    let list = list.as_array().into_iter().flatten().take(MAX_LABELS);
    list.filter_map(|label| label[name].as_str().map(str::to_owned))
        .collect()
}

pub(crate) fn commit(id: &Value) -> Option<CommitId> {
    let id = id
        .as_str()
        .filter(|id| id.bytes().any(|byte| byte != b'0'))?;
    CommitId::parse(id).ok()
}

pub(crate) fn branch(name: &Value) -> Option<Branch> {
    Branch::parse(name.as_str()?).ok()
}

/// The pushed branch; none of a tag, and of a branch that was deleted.
pub(crate) fn pushed(body: &Value) -> Option<Branches> {
    let name = body["ref"].as_str()?.strip_prefix("refs/heads/")?;
    Some(Branches {
        head: Branch::parse(name).ok()?,
        commit: Some(commit(&body["after"])?),
        target: None,
        is_fork: false,
    })
}

/// The repository of a URL that a delivery names: of the host whose deliveries these are, and no other.
pub(crate) fn repository(url: &Value, host: &GitHostName) -> Option<Repository> {
    let repository = Repository::parse(url.as_str()?, false).ok()?;
    let url = Url::parse(repository.as_str()).ok()?;
    let domain = url.host_str()?;
    let named = match url.port() {
        Some(port) => format!("{domain}:{port}"),
        None => domain.to_owned(),
    };
    (named == host.as_str()).then_some(repository)
}
