//! Fills submodules into a folder that holds a commit: the agent's workspace, or a checkout.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checkout::{FOLDERS, quoted};
use super::submodules::Submodule;
use super::{Repository, blocking};
use crate::git::{Call, GitError};
use crate::safe_files;

/// Location of a submodule's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objects {
    /// In the folder of the submodule, whose owner may change them.
    Copied,
    /// In the runner's repository.
    Shared,
}

impl Repository {
    /// Fills the submodules of `commit` into `dir`, as far as they are here.
    pub(crate) async fn populate(
        &self,
        commit: &str,
        dir: &Path,
        objects: Objects,
    ) -> Result<(), GitError> {
        let fetched = self.submodules().fetched.clone();
        if fetched.is_empty() {
            return Ok(());
        }
        let mut levels = vec![(PathBuf::new(), self.dir.clone(), commit.to_owned())];
        while let Some((above, git_dir, commit)) = levels.pop() {
            for (link, hash) in self.links(&git_dir, &commit).await? {
                let path = above.join(link);
                let Some(submodule) = fetched.get(&path) else {
                    continue;
                };
                if !self.has_in(&submodule.dir, &hash).await? {
                    continue;
                }
                self.fill(submodule, &hash, dir, &path, objects).await?;
                levels.push((path, submodule.dir.clone(), hash));
            }
        }
        let names: String = fetched
            .values()
            .filter(|submodule| submodule.of_base)
            .map(Submodule::config)
            .collect();
        let config = dir.join(".git/config");
        blocking(move || {
            let text = fs::read_to_string(&config)?;
            fs::write(&config, text + &names)
        })
        .await
    }

    async fn fill(
        &self,
        submodule: &Submodule,
        hash: &str,
        dir: &Path,
        path: &Path,
        objects: Objects,
    ) -> Result<(), GitError> {
        let root = safe_files::open_dir(dir);
        // No part of it is a link: what is written below stays below.
        root.and_then(|root| safe_files::open_dir_below(&root, path))
            .map_err(|why| GitError::Failed(format!("{}: {why}", path.display())))?;
        let target = dir.join(path);
        let index = submodule.dir.join("checkout.index");
        let _ = fs::remove_file(&index);
        let mut read = Call::new(["read-tree", "--reset", "-u", hash]);
        read.git_dir = Some(&submodule.dir);
        read.work_tree = Some(&target);
        read.index = Some(&index);
        self.git.call(read).await?;
        let submodule = submodule.clone();
        let hash = hash.to_owned();
        blocking(move || submodule.equip(&target.join(".git"), &hash, &index, objects)).await
    }

    pub(super) async fn has_in(&self, dir: &Path, commit: &str) -> Result<bool, GitError> {
        let object = format!("{commit}^{{commit}}");
        let mut call = Call::new(["cat-file", "-e", &object]);
        call.git_dir = Some(dir);
        Ok(self.git.answer(call).await?.success)
    }
}

impl Submodule {
    /// Gives a filled submodule its metadata.
    fn equip(&self, git: &Path, hash: &str, index: &Path, objects: Objects) -> io::Result<()> {
        for folder in FOLDERS {
            fs::create_dir(git.join(folder))?;
        }
        let own = self.dir.join("objects");
        match objects {
            Objects::Shared => {
                let line = format!("{}\n", own.display());
                fs::write(git.join("objects/info/alternates"), line)?;
            }
            Objects::Copied => copy_files(&own, &git.join("objects"))?,
        }
        let format = if hash.len() == 40 {
            "\trepositoryformatversion = 0\n"
        } else {
            "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n[core]\n"
        };
        let config = format!(
            "[core]\n{format}\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
             [remote \"origin\"]\n\turl = {}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            quoted(&self.url)
        );
        fs::write(git.join("config"), config)?;
        fs::write(git.join("HEAD"), format!("{hash}\n"))?;
        fs::copy(index, git.join("index"))?;
        match fs::copy(self.dir.join("shallow"), git.join("shallow")) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
            _ => Ok(()),
        }
    }

    /// The lines of a repository's configuration by which git knows that a submodule is in use.
    fn config(&self) -> String {
        if self.name.chars().any(char::is_control) {
            return String::new();
        }
        let (name, url) = (quoted(&self.name), quoted(&self.url));
        format!("[submodule {name}]\n\tactive = true\n\turl = {url}\n")
    }
}

/// Copies the files of a folder into one that may have folders of the same names.
fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_files(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
