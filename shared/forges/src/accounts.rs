//! Accounts of a forge and their permissions, and the branches of a pull request: what a delivery does not prove.

use awo_domain::Timestamp;
use awo_domain::forge::{AppSetting, ForgePermission};
use http::{Method, StatusCode};
use serde_json::Value;

use crate::gitea::Gitea;
use crate::github::{self, Github};
use crate::gitlab::Gitlab;
use crate::rest::{Call, Rest};
use crate::{Api, AppKey, Fault, Forge, Hosts, unreadable};

/// The branches of a pull request with its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestBranches {
    /// The branch with the commits.
    pub head: String,
    /// The newest commit of that branch.
    pub commit: String,
    /// The branch into which it is to be merged.
    pub target: String,
    /// True if the branch is in another repository.
    pub is_fork: bool,
    /// The login of the author.
    pub author: String,
}

impl Forge {
    /// The login of the token's account.
    ///
    /// # Errors
    /// A [`Fault`] of the call.
    pub async fn login(&self) -> Result<String, Fault> {
        match self {
            Forge::Github(forge) => forge.login().await,
            Forge::Gitlab(forge) => forge.login().await,
            Forge::Gitea(forge) => forge.login().await,
        }
    }

    /// The permission of an account on the repository.
    ///
    /// # Errors
    /// A [`Fault`] of a call.
    pub async fn permission(&self, login: &str) -> Result<ForgePermission, Fault> {
        match self {
            Forge::Github(forge) => forge.permission(login).await,
            Forge::Gitlab(forge) => forge.permission(login).await,
            Forge::Gitea(forge) => forge.permission(login).await,
        }
    }

    /// The branches of a pull request.
    ///
    /// # Errors
    /// A [`Fault`] of the call.
    pub async fn branches(&self, number: u64) -> Result<PullRequestBranches, Fault> {
        match self {
            Forge::Github(forge) => {
                let shown = forge.get(&format!("pulls/{number}")).await?;
                branches(&shown).ok_or_else(unreadable)
            }
            Forge::Gitlab(forge) => forge.branches(number).await,
            Forge::Gitea(forge) => {
                let shown = forge.get_own(&format!("pulls/{number}")).await?;
                branches(&shown).ok_or_else(unreadable)
            }
        }
    }
}

/// The login under which a GitHub App acts.
///
/// # Errors
/// A [`Fault`] of the call.
pub async fn app_login(
    api: &Api,
    hosts: &Hosts,
    (key, app): (&AppKey, AppSetting),
    now: Timestamp,
) -> Result<String, Fault> {
    let broken = |why: String| Fault::Refused(StatusCode::UNAUTHORIZED, why);
    let statement = key.statement(app.app_id, now);
    let statement = statement.map_err(|_| broken("the App's key does not sign".to_owned()))?;
    let rest = Rest::new(hosts, api.url.clone(), &statement, github::headers()).map_err(broken)?;
    let shown = rest.call(&reading("app"), github::judge).await?;
    let slug = shown["slug"].as_str().ok_or_else(unreadable)?;
    Ok(format!("{slug}[bot]"))
}

impl Github {
    async fn login(&self) -> Result<String, Fault> {
        text(&self.get_root("user").await?, "login")
    }

    async fn permission(&self, login: &str) -> Result<ForgePermission, Fault> {
        let path = format!("collaborators/{}/permission", segment(login));
        let shown = match self.get(&path).await {
            // A name that nobody has.
            Err(Fault::Refused(StatusCode::NOT_FOUND, _)) => return Ok(ForgePermission::None),
            shown => shown?,
        };
        // The role says more; one that an organization has made itself has the permission of its base.
        let role = shown["role_name"].as_str().and_then(named);
        let permission = shown["permission"].as_str().and_then(named);
        role.max(permission).ok_or_else(unreadable)
    }
}

impl Gitea {
    async fn login(&self) -> Result<String, Fault> {
        text(&self.get("user").await?, "login")
    }

    async fn permission(&self, login: &str) -> Result<ForgePermission, Fault> {
        let path = format!("collaborators/{}/permission", segment(login));
        let shown = match self.get_own(&path).await {
            Err(Fault::Refused(StatusCode::NOT_FOUND, _)) => return Ok(ForgePermission::None),
            shown => shown?,
        };
        let permission = shown["permission"].as_str().and_then(named);
        permission.ok_or_else(unreadable)
    }
}

impl Gitlab {
    async fn login(&self) -> Result<String, Fault> {
        text(&self.get("user", &[]).await?, "username")
    }

    async fn permission(&self, login: &str) -> Result<ForgePermission, Fault> {
        let Some(id) = self.user(login).await? else {
            return Ok(ForgePermission::None);
        };
        let path = format!("{}/members/all/{id}", self.project);
        let shown = match self.get(&path, &[]).await {
            Err(Fault::Refused(StatusCode::NOT_FOUND, _)) => return Ok(ForgePermission::None),
            shown => shown?,
        };
        if shown["state"]
            .as_str()
            .is_some_and(|state| state != "active")
        {
            return Ok(ForgePermission::None);
        }
        let level = shown["access_level"].as_u64().ok_or_else(unreadable)?;
        Ok(match level {
            50.. => ForgePermission::Admin,
            40.. => ForgePermission::Maintain,
            30.. => ForgePermission::Write,
            20.. => ForgePermission::Triage,
            10.. => ForgePermission::Read,
            _ => ForgePermission::None,
        })
    }

    async fn branches(&self, number: u64) -> Result<PullRequestBranches, Fault> {
        let shown = self.get(&self.merge_request(number), &[]).await?;
        let own = shown["target_project_id"].as_u64();
        let branches = PullRequestBranches {
            head: text(&shown, "source_branch")?,
            commit: text(&shown, "sha")?,
            target: text(&shown, "target_branch")?,
            is_fork: own.is_none() || shown["source_project_id"].as_u64() != own,
            author: text(&shown["author"], "username")?,
        };
        Ok(branches)
    }
}

/// A permission as GitHub and Gitea name it.
fn named(text: &str) -> Option<ForgePermission> {
    Some(match text {
        "none" => ForgePermission::None,
        "read" | "pull" => ForgePermission::Read,
        "triage" => ForgePermission::Triage,
        "write" | "push" => ForgePermission::Write,
        "maintain" => ForgePermission::Maintain,
        "admin" | "owner" => ForgePermission::Admin,
        _ => return None,
    })
}

/// The branches of a pull request of GitHub or Gitea. A head whose repository is gone is a fork's.
fn branches(shown: &Value) -> Option<PullRequestBranches> {
    let (head, base) = (&shown["head"], &shown["base"]);
    let own = base["repo"]["id"].as_u64();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(PullRequestBranches {
        head: text(&head["ref"])?,
        commit: text(&head["sha"])?,
        target: text(&base["ref"])?,
        is_fork: own.is_none() || head["repo"]["id"].as_u64() != own,
        author: text(&shown["user"]["login"])?,
    })
}

fn text(shown: &Value, name: &str) -> Result<String, Fault> {
    let text = shown[name].as_str();
    text.map(str::to_owned).ok_or_else(unreadable)
}

/// A call that only reads.
pub(crate) fn reading(path: &str) -> Call<'_> {
    Call {
        method: Method::GET,
        path,
        query: &[],
        body: None,
    }
}

/// A login as a segment of a path.
fn segment(login: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let escaped = |byte: u8| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    login.bytes().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_login_is_one_segment_whatever_stands_in_it() {
        assert_eq!(segment("dependabot[bot]"), "dependabot%5Bbot%5D");
        assert_eq!(segment("../../user"), "..%2F..%2Fuser");
    }

    #[test]
    fn a_head_whose_repository_is_gone_is_a_forks() {
        let mut shown = json!({
            "head": {"ref": "a", "sha": "1", "repo": {"id": 1}},
            "base": {"ref": "main", "repo": {"id": 1}}, "user": {"login": "ann"},
        });
        assert!(!branches(&shown).unwrap().is_fork);
        shown["head"]["repo"] = Value::Null;
        assert!(branches(&shown).unwrap().is_fork);
    }

    #[test]
    fn permissions_of_each_forge_have_one_order() {
        let names = ["none", "read", "triage", "write", "maintain", "admin"];
        assert!(names.map(named).is_sorted());
        assert_eq!(named("owner"), Some(ForgePermission::Admin));
        assert_eq!(named("reviewer"), None);
    }
}
