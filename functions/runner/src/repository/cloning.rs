//! The clone of a run: the whole history of one branch with its tags, unless that is too large.

use std::ffi::OsString;
use std::time::Duration;

use awo_domain::source::GitSource;
use tokio::time::Instant;

use super::{Base, Repository, blocking};
use crate::git::{Call, GitError, SizeLimit, size_of_tree};
use crate::layout;

/// Largest history that is fetched whole.
pub(super) const MOST_HISTORY_BYTES: u64 = 2 * 1_024 * MIB;
const MIB: u64 = 1_024 * 1_024;
/// Number of commits of a history that is cut.
pub(super) const DEPTH: u32 = 50;

/// Most branches that a message names.
const MAX_NAMED_BRANCHES: usize = 20;
/// Stands for a default branch whose name is not known.
const NO_BRANCH: &str = "awo-unknown";

impl Repository {
    /// Keeps the history to half of the disk space that the agent, who gets a copy, may use.
    pub(crate) fn within(mut self, max_disk_mb: Option<u64>) -> Repository {
        if let Some(granted) = max_disk_mb {
            let half = granted.saturating_mul(MIB) / 2;
            self.most_history = self.most_history.min(half);
        }
        self
    }

    /// Clones, and fills the workspace with the base: `start`, or the branch's head.
    pub(crate) async fn clone(
        &self,
        source: &GitSource,
        start: Option<&str>,
        limit: Duration,
    ) -> Result<Base, GitError> {
        let depth = self.fetch_history(source, limit).await?;
        if let Some(start) = start {
            self.begin_at(source, start, depth, limit).await?;
        }
        let head = Call::new(["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"]);
        let (head, checkout) = tokio::join!(
            self.git.answer(self.here(head)),
            self.check_out("HEAD", &self.workspace, None)
        );
        let head = head?;
        if !head.success {
            return Err(self.without_head(source, limit).await);
        }
        checkout?;
        let text = String::from_utf8_lossy(&head.stdout).into_owned();
        let (commit, name) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
        let branch = source.branch.as_ref().map(|branch| branch.as_str());
        let branch = name.strip_prefix("refs/heads/").or(branch);
        let base = Base {
            commit: commit.to_owned(),
            branch: branch.unwrap_or("HEAD").to_owned(),
            depth,
            head: None,
            branch_head: None,
            result_branch: None,
            thread: None,
            missing_submodules: Vec::new(),
        };
        self.note_refs(&base).await?;
        Ok(base)
    }

    /// The reason why a clone has no commit: there is none, or the default branch is missing.
    async fn without_head(&self, source: &GitSource, limit: Duration) -> GitError {
        let args = ["ls-remote", "--heads", "--quiet", "--"];
        let mut list = Call::new(args.into_iter().chain([source.repository.as_str()]));
        list.remote = true;
        list.limit = Some(limit);
        let listed = match self.git.call(list).await {
            Ok(listed) => String::from_utf8_lossy(&listed).into_owned(),
            Err(why) => return why,
        };
        let branches: Vec<&str> = listed
            .lines()
            .filter_map(|line| line.split_once("\trefs/heads/"))
            .map(|(_, name)| name)
            .collect();
        if branches.is_empty() {
            let message = "the repository has no commit yet: push a first commit and start again";
            return GitError::Failed(message.to_owned());
        }
        let head = std::fs::read_to_string(self.dir.join("HEAD")).unwrap_or_default();
        let head = head.trim().strip_prefix("ref: refs/heads/");
        let head = match head.filter(|head| *head != NO_BRANCH) {
            Some(head) => format!("the branch {head}"),
            None => "a branch".to_owned(),
        };
        let more = match branches.len().saturating_sub(MAX_NAMED_BRANCHES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = branches.iter().take(MAX_NAMED_BRANCHES).copied();
        GitError::Failed(format!(
            "HEAD of the repository names {head}, which is missing; there are these branches: \
             {}{more}. Name one of them as the branch of the work order, or let HEAD name one",
            named.collect::<Vec<_>>().join(", ")
        ))
    }

    /// Fetches the branch: whole, or, where that outgrows its limits, its last commits, whose
    /// number is returned.
    async fn fetch_history(
        &self,
        source: &GitSource,
        limit: Duration,
    ) -> Result<Option<u32>, GitError> {
        let began = Instant::now();
        let objects = self.dir.join("objects");
        let mut whole = Call::new(self.clone_args(source, None));
        whole.remote = true;
        whole.limit = Some(limit);
        whole.watched = Some(SizeLimit {
            dir: &objects,
            most_bytes: self.most_history,
            patience: limit / 2,
        });
        match self.git.call(whole).await {
            Ok(_) => {
                let objects = objects.clone();
                let bytes = blocking(move || Ok(size_of_tree(&objects))).await?;
                if bytes <= self.most_history {
                    return Ok(None);
                }
            }
            Err(GitError::TooLarge(_)) => {}
            Err(why) => return Err(why),
        }
        let dir = self.dir.clone();
        blocking(move || layout::clear(&dir)).await?;
        let mut cut = Call::new(self.clone_args(source, Some(DEPTH)));
        cut.remote = true;
        cut.limit = Some(limit.saturating_sub(began.elapsed()));
        self.git.call(cut).await?;
        Ok(Some(DEPTH))
    }

    fn clone_args(&self, source: &GitSource, depth: Option<u32>) -> Vec<OsString> {
        // The name stays where a remote does not report its HEAD.
        let unknown = format!("init.defaultBranch={NO_BRANCH}");
        let mut args: Vec<OsString> = vec!["-c".into(), unknown.into(), "clone".into()];
        args.extend(["--quiet", "--bare"].map(OsString::from));
        // An empty template: sample hooks would be copied one by one.
        args.extend(["--template=", "--single-branch"].map(OsString::from));
        args.extend(depth.map(|depth| depth_option(depth).into()));
        if let Some(branch) = &source.branch {
            args.push(format!("--branch={}", branch.as_str()).into());
        }
        args.extend(["--".into(), source.repository.as_str().into()]);
        args.push(self.dir.clone().into());
        args
    }

    /// Notes the tags of the base's history, which checkouts get, and what the agent's clone calls
    /// the branch of the origin.
    async fn note_refs(&self, base: &Base) -> Result<(), GitError> {
        let format = "--format=%(objectname) %(refname)";
        let args = [
            "for-each-ref",
            format,
            "--merged",
            &base.commit,
            "refs/tags",
        ];
        let tags = self.git.call(self.here(Call::new(args))).await?;
        // A repository is cloned once.
        let _ = self.tags.set(tags);
        if base.branch == "HEAD" {
            return Ok(());
        }
        let name = format!("refs/remotes/origin/{}", base.branch);
        self.point(&name, &base.commit).await
    }
}

pub(super) fn depth_option(depth: u32) -> String {
    format!("--depth={depth}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use awo_domain::{OrgId, RunId, Timestamp};

    use super::*;
    use crate::git::Git;
    use crate::layout::Layout;
    use crate::stop;

    fn git(dir: &Path, args: &[&str]) {
        let mut command = std::process::Command::new("git");
        command.current_dir(dir).args(["-c", "user.name=T"]);
        command.args(["-c", "user.email=t@localhost"]).args(args);
        assert!(command.status().unwrap().success(), "{args:?}");
    }

    #[tokio::test]
    async fn a_history_that_is_too_large_is_cut_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let origin = dir.path().join("origin");
        std::fs::create_dir(&origin).unwrap();
        git(&origin, &["init", "-q", "-b", "main"]);
        for number in 0..52 {
            git(&origin, &["commit", "-q", "--allow-empty", "-m", "x"]);
            git(&origin, &["tag", &format!("v{number}")]);
        }
        let source = format!(r#"{{"repository":"file://{}"}}"#, origin.display());
        let source: GitSource = serde_json::from_str(&source).unwrap();
        for (number, most_history, depth, commits) in
            [(1, MOST_HISTORY_BYTES, None, 52), (2, 1, Some(50), 50)]
        {
            let created = Timestamp::from_epoch_ms(1_790_000_000_000);
            let (org, run) = (OrgId::new(created, 1), RunId::new(created, number));
            let layout = Layout::create(dir.path(), &org, &run, None).unwrap();
            let (_switch, stop) = stop::channel();
            let path = std::env::var_os("PATH").unwrap();
            let git = Git::new(
                path,
                stop,
                true,
                layout.git_config(),
                crate::git_credentials::GitCredentials::new(&[], None),
                None,
            );
            let mut repository = Repository::new(git, &layout);
            repository.most_history = most_history;
            let limit = Duration::from_secs(60);
            let base = repository.clone(&source, None, limit).await.unwrap();
            assert_eq!(base.depth, depth);
            let count = Call::new(["rev-list", "--count", "HEAD"]);
            let count = repository.git.call(repository.here(count)).await.unwrap();
            assert_eq!(count, format!("{commits}\n").as_bytes());
            let tags = repository.tags.get().unwrap();
            let tags = tags.split(|byte| *byte == b'\n').count() - 1;
            assert_eq!(tags, commits);
        }
    }
}
