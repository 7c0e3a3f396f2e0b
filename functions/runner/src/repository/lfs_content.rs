//! Content of files that Git LFS stores, where `git-lfs` is installed: it is in the workspace and in
//! checkouts, new content becomes pointers in commits, and reaches the LFS server before a push.
//!
//! The server is the one that the base names. No change of `.lfsconfig` leads elsewhere.

use std::path::Path;
use std::time::Duration;

use awo_domain::source::{GitSource, Repository as RepositoryUrl};
use url::Url;

use super::Repository;
use super::submodule_urls::resolved;
use crate::git::{Answer, Call, GitError, SizeLimit};

/// Git's program for it.
const PROGRAM: &str = "git-lfs";
/// Settings of a clone in which `git lfs install` was run.
pub(super) const FILTER: &str = "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\
    \tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n";
/// Settings of the runner's own calls: a checkout fetches nothing.
const SETTINGS: [(&str, &str); 6] = [
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge --skip -- %f"),
    ("filter.lfs.process", "git-lfs filter-process --skip"),
    ("filter.lfs.required", "true"),
    ("lfs.locksverify", "false"),
    ("lfs.skipdownloaderrors", "true"),
];

/// Conversion and transfer of content.
#[derive(Debug, Default)]
pub(super) struct Lfs {
    pub(super) settings: Vec<(String, String)>,
    /// True if the run's credentials are not meant for the server.
    anonymous: bool,
}

impl Repository {
    /// Fetches the content of the newest commit's files, and fills it into the workspace; pointers
    /// stay where that is not possible.
    pub(crate) async fn fetch_lfs(
        &self,
        source: &GitSource,
        base: &str,
        limit: Duration,
    ) -> Result<(), GitError> {
        if !self.git.has_program(PROGRAM) {
            return Ok(());
        }
        let url = source.repository.as_str();
        let Some(server) = self.lfs_server(url, base).await? else {
            return Ok(());
        };
        let mut settings: Vec<(String, String)> = SETTINGS
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        for key in ["lfs.url", "lfs.pushurl"] {
            settings.push((key.to_owned(), server.clone()));
        }
        let host = |url: &str| Url::parse(url).ok().map(|url| url.origin());
        let anonymous = host(url) != host(&server);
        // A repository is cloned once.
        let _ = self.lfs.set(Lfs {
            settings,
            anonymous,
        });
        if !self.has_lfs_files().await? {
            return Ok(());
        }
        let contents = self.dir.join("lfs");
        let mut fetch = self.with_lfs(Call::new(["lfs", "fetch", "origin", "HEAD"]));
        fetch.remote = true;
        fetch.limit = Some(limit);
        fetch.watched = Some(SizeLimit {
            dir: &contents,
            most_bytes: self.most_history,
            patience: limit,
        });
        match self.git.call(fetch).await {
            Err(GitError::Stopped) => return Err(GitError::Stopped),
            Err(why) => {
                tracing::warn!(event = "lfs_not_fetched", %why, "files of Git LFS stay pointers");
            }
            Ok(_) => {}
        }
        let index = self.dir.join("index");
        self.fill_lfs(&self.workspace, &index).await
    }

    /// Puts the content of the newest commit's files, as far as it is here, in place of pointers.
    pub(crate) async fn fill_lfs(&self, dir: &Path, index: &Path) -> Result<(), GitError> {
        if !self.has_lfs_content() {
            return Ok(());
        }
        let mut fill = self.with_lfs(Call::new(["lfs", "checkout"]));
        fill.work_tree = Some(dir);
        fill.index = Some(index);
        self.git.call(fill).await.map(drop)
    }

    /// Stores the content of a commit's files before the commit itself is pushed; the answer, if
    /// that was refused.
    pub(super) async fn push_lfs(
        &self,
        commit: &str,
        limit: Duration,
    ) -> Result<Option<Answer>, GitError> {
        if !self.has_lfs_content() {
            return Ok(None);
        }
        let mut push = self.with_lfs(Call::new(["lfs", "push", "origin", commit]));
        push.remote = true;
        push.limit = Some(limit);
        let answer = self.git.answer(push).await?;
        if answer.success {
            return Ok(None);
        }
        let reported = &answer.stderr;
        let stderr = format!("Git LFS did not store the content of its files: {reported}");
        Ok(Some(Answer { stderr, ..answer }))
    }

    /// A call of the runner's repository that converts between content and pointers.
    pub(super) fn with_lfs<'a>(&'a self, call: Call<'a>) -> Call<'a> {
        let mut call = self.here(call);
        if let Some(lfs) = self.lfs.get() {
            call.settings = &lfs.settings;
            call.anonymous = lfs.anonymous;
        }
        call
    }

    /// The configuration by which a repository converts; empty without `git-lfs`.
    pub(crate) fn lfs_filter(&self) -> &'static str {
        self.lfs.get().map_or("", |_| FILTER)
    }

    fn has_lfs_content(&self) -> bool {
        self.lfs.get().is_some() && self.dir.join("lfs/objects").is_dir()
    }

    async fn has_lfs_files(&self) -> Result<bool, GitError> {
        let listed = self.git.call(self.here(Call::new(["ls-files", "-z"])));
        Ok(!self.lfs_paths(listed.await?, None).await?.is_empty())
    }

    /// The server: what the base's `.lfsconfig` names, or the repository's own.
    async fn lfs_server(&self, url: &str, base: &str) -> Result<Option<String>, GitError> {
        let blob = format!("{base}:.lfsconfig");
        let get = Call::new(["config", "--blob", &blob, "--get", "lfs.url"]);
        let named = self.git.answer(self.here(get)).await?;
        let named = String::from_utf8_lossy(&named.stdout).trim().to_owned();
        let is_file = url.starts_with("file:");
        let server = match (named.is_empty(), is_file) {
            (false, _) => resolved(url, &named),
            (true, true) => Some(url.to_owned()),
            (true, false) => {
                let plain = url.trim_end_matches('/').trim_end_matches(".git");
                Some(format!("{plain}.git/info/lfs"))
            }
        };
        Ok(server.filter(|server| RepositoryUrl::parse(server, is_file).is_ok()))
    }
}
