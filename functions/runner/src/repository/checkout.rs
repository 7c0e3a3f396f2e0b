//! Makes a clean checkout a git repository that answers as a fresh clone of the delivered branch.
//!
//! The metadata are written here, file by file: nothing comes from the agent's `.git`. The objects
//! stay in the runner's repository, which commands can read and not write, so that a checkout costs
//! no more for a long history than for a short one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use awo_domain::source::GitSource;

use super::{Base, Repository, blocking};
use crate::git::{Call, GitError};
use crate::layout::Layout;

/// Folders of the metadata, outermost first.
pub(super) const FOLDERS: [&str; 8] = [
    "",
    "hooks",
    "info",
    "objects",
    "objects/info",
    "objects/pack",
    "refs",
    "refs/heads",
];
/// Length of a SHA-1 hash.
const SHA1_DIGITS: usize = 40;

/// The state in which a fresh clone would be.
pub(crate) struct FreshClone<'a> {
    /// The commit that is checked out.
    pub(crate) commit: &'a str,
    /// The branch that is delivered.
    pub(crate) branch: &'a str,
    pub(crate) base: &'a Base,
    pub(crate) source: &'a GitSource,
}

impl Repository {
    /// The commit whose content is that of `dir`: `commit` itself, or, where `restored` files of
    /// `dir` differ from it, one with these.
    pub(crate) async fn commit_of_checkout(
        &self,
        commit: &str,
        restored: &[PathBuf],
        dir: &Path,
        index: &Path,
    ) -> Result<String, GitError> {
        if restored.is_empty() {
            return Ok(commit.to_owned());
        }
        let args = ["update-index", "--add", "--remove", "-z", "--stdin"];
        let mut update = self.here(Call::new(args));
        update.work_tree = Some(dir);
        update.index = Some(index);
        let mut input = Vec::new();
        for path in restored {
            input.extend_from_slice(path.as_os_str().as_encoded_bytes());
            input.push(0);
        }
        update.input = Some(input);
        self.git.call(update).await?;
        let mut write = self.here(Call::new(["write-tree"]));
        write.index = Some(index);
        let tree = self.git.call(write).await?;
        self.with_tree(commit, String::from_utf8_lossy(&tree).trim())
            .await
    }

    /// Gives a checkout its metadata. All of it still belongs to the runner's user.
    pub(crate) async fn equip(&self, dir: &Path, head: &FreshClone<'_>) -> Result<(), GitError> {
        let git = dir.join(".git");
        let alternates = format!("{}\n", self.dir.join("objects").display());
        let files = [
            (
                "HEAD",
                format!("ref: refs/heads/{}\n", head.branch).into_bytes(),
            ),
            ("config", (head.config() + self.lfs_filter()).into_bytes()),
            ("packed-refs", self.packed_refs(head)),
            ("objects/info/alternates", alternates.into_bytes()),
        ];
        let shallow = self.dir.join("shallow");
        blocking(move || {
            for folder in FOLDERS {
                fs::create_dir(git.join(folder))?;
            }
            for (name, bytes) in files {
                fs::write(git.join(name), bytes)?;
            }
            match fs::copy(shallow, git.join("shallow")) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
                _ => Ok(()),
            }
        })
        .await
    }

    /// Gives an equipped checkout its index, once all files have their last owner: git compares
    /// that, too, and would otherwise see files as changed.
    pub(crate) async fn settle(
        &self,
        layout: &Layout,
        dir: &Path,
        index: &Path,
    ) -> Result<(), GitError> {
        self.refresh(dir, index).await?;
        let (from, to) = (index.to_owned(), dir.join(".git/index"));
        let layout = layout.clone();
        blocking(move || {
            fs::copy(from, &to)?;
            layout.give(&to)
        })
        .await
    }

    /// Lets an index know the files of its work tree as they are now.
    pub(super) async fn refresh(&self, dir: &Path, index: &Path) -> Result<(), GitError> {
        let mut refresh = self.with_lfs(Call::new(["update-index", "-q", "--refresh"]));
        refresh.work_tree = Some(dir);
        refresh.index = Some(index);
        // It fails where a file differs, which is for others to judge.
        self.git.answer(refresh).await.map(drop)
    }

    fn packed_refs(&self, head: &FreshClone<'_>) -> Vec<u8> {
        let mut refs = format!(
            "{commit} refs/heads/{branch}\n{commit} refs/remotes/origin/{branch}\n",
            commit = head.commit,
            branch = head.branch,
        );
        let base = &head.base.branch;
        if base != "HEAD" && base != head.branch {
            let commit = head.base.branch_head.as_ref().unwrap_or(&head.base.commit);
            refs += &format!("{commit} refs/remotes/origin/{base}\n");
        }
        let tags = self.tags.get().map(Vec::as_slice).unwrap_or_default();
        [refs.as_bytes(), tags].concat()
    }
}

impl FreshClone<'_> {
    fn config(&self) -> String {
        let url = quoted(self.source.repository.as_str());
        let name = quoted(self.branch);
        let merge = quoted(&format!("refs/heads/{}", self.branch));
        let (version, extensions) = if self.commit.len() == SHA1_DIGITS {
            (0, "")
        } else {
            (1, "[extensions]\n\tobjectformat = sha256\n")
        };
        format!(
            "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n\
             \tlogallrefupdates = true\n{extensions}[remote \"origin\"]\n\turl = {url}\n\
             \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch {name}]\n\tremote = origin\n\
             \tmerge = {merge}\n"
        )
    }
}

/// A value of git's configuration.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
