//! The clean checkout in which a commit is verified: a clone of the delivered branch with only the
//! commit's files, of which protected files are restored to the base.

use std::io;
use std::path::{Path, PathBuf};

use awo_domain::source::GitSource;
use awo_domain::verification::Check;

use super::contracts::list_some;
use super::guard::{Guard, GuardedChanges, MergedFile, NotPrepared, contains};
use super::{Subject, failed};
use crate::git::GitError;
use crate::layout::{self, Layout};
use crate::plan::{FrozenPlan, is_test_change};
use crate::repository::{Base, Change, ChangeKind, FreshClone, Objects, Repository};
use crate::safe_files;

/// The file for requests of inspections.
const REQUEST: &str = "inspection.json";
/// The check of files that are stored with Git LFS.
const LFS: &str = "lfs";
/// Largest manifest that is rewritten.
const MAX_MANIFEST_BYTES: u64 = 1_048_576;

/// A commit that is to be verified.
pub(crate) struct Candidate<'a> {
    pub(crate) commit: &'a str,
    /// The branch as which it would be delivered.
    pub(crate) branch: &'a str,
    pub(crate) base: &'a Base,
    pub(crate) reference: Reference<'a>,
    pub(crate) source: &'a GitSource,
    /// Number of the verification.
    pub(crate) number: u32,
}

/// The commit that a verified one is held against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reference<'a> {
    /// The content of protected files.
    pub(crate) commit: &'a str,
    /// The commit from which changes are counted.
    pub(crate) since: &'a str,
    /// True if protected files and commands are put back to the reference's content.
    pub(crate) restores: bool,
}

/// Makes the checkout of a commit.
pub(crate) async fn prepare(
    repository: &Repository,
    layout: &Layout,
    guard: &Guard<'_>,
    candidate: &Candidate<'_>,
) -> Result<Subject, NotPrepared> {
    let Candidate { commit, number, .. } = *candidate;
    let base = candidate.reference;
    let frozen = guard.frozen;
    let room = layout.verify_root().join(number.to_string());
    let index = index(layout, number);
    std::fs::create_dir(&room).map_err(broken)?;
    // Fresh ones for each verification: what the agent or an earlier test left in its home could
    // decide how the next one goes.
    let (dir, home, tmp) = (room.join("checkout"), room.join("home"), room.join("tmp"));
    for private in [&home, &tmp, &dir] {
        layout.make_agents_dir(private).map_err(broken)?;
    }
    let (checked_out, changes) =
        tokio::join!(repository.check_out(commit, &dir, Some(&index)), async {
            if base.since == commit {
                return Ok(Vec::new());
            }
            repository.changes(base.since, commit).await
        });
    checked_out?;
    let changes = changes?;
    let held = guard.hold(&changes, base, commit).await?;
    let tests_changed = tests_changed(guard.frozen, &changes, &held);
    let is_of_order = candidate.base.head.is_some();
    let gate_changed = gate_changed(&changes, &held, is_of_order);
    let mut restored: Vec<PathBuf> = Vec::new();
    if base.restores {
        restored = put_back(repository, base.commit, &held, &dir, &index).await?;
        restored.extend(put_back_commands(frozen, &changes, &dir).map_err(broken)?);
    }
    let content = repository.content_in_place_of_pointers(commit, &changes, &index);
    let content = content.await?;
    if !content.is_empty() {
        return Err(NotPrepared::Check(content_of_lfs(&content)));
    }
    let commit = repository.commit_of_checkout(commit, &restored, &dir, &index);
    let head = FreshClone {
        commit: &commit.await?,
        branch: candidate.branch,
        base: candidate.base,
        source: candidate.source,
    };
    make_clone(repository, layout, &head, &dir, &index).await?;
    Ok(Subject {
        gone_test_files: if base.restores {
            gone_test_files(frozen, &changes)
        } else {
            Vec::new()
        },
        tests_changed,
        gate_changed,
        changed: Some(paths_that_are_there(changes)),
        request: room.join(REQUEST),
        dir,
        home,
        tmp,
        only: None,
        prompt: Some(layout.prompt()),
    })
}

/// Makes a filled checkout a repository that belongs to the agent's user.
async fn make_clone(
    repository: &Repository,
    layout: &Layout,
    head: &FreshClone<'_>,
    dir: &Path,
    index: &Path,
) -> Result<(), NotPrepared> {
    repository.fill_lfs(dir, index).await?;
    repository.equip(dir, head).await?;
    let populated = repository.populate(head.commit, dir, Objects::Shared);
    populated.await?;
    let (of_agent, giver) = (dir.to_owned(), layout.clone());
    tokio::task::spawn_blocking(move || giver.give_tree(&of_agent))
        .await
        .unwrap_or_else(|_| Err(io::Error::other("a thread was lost")))
        .map_err(broken)?;
    Ok(repository.settle(layout, dir, index).await?)
}

fn content_of_lfs(paths: &[PathBuf]) -> Check {
    let message = format!(
        "the repository stores these files with Git LFS (filter=lfs), and the commit has their \
         content in place of pointers: {}. Without git-lfs the run cannot store it: undo the changes of \
         these files, or have .gitattributes not name them",
        list_some(paths)
    );
    failed(LFS, &message)
}

fn broken(why: io::Error) -> NotPrepared {
    NotPrepared::Git(GitError::Failed(format!("the checkout failed: {why}")))
}

/// Git's index of the checkout for verification number `number`.
pub(crate) fn index(layout: &Layout, number: u32) -> PathBuf {
    layout.verify_root().join(format!("{number}.index"))
}

/// Removes a checkout; what cannot be removed costs space and nothing else.
pub(crate) fn remove(layout: &Layout, number: u32) {
    let root = layout.verify_root();
    for path in [root.join(number.to_string()), index(layout, number)] {
        if let Err(why) = layout::clear(&path) {
            tracing::warn!(event = "checkout_not_deleted", path = %path.display(), %why, "a checkout could not be deleted");
        }
    }
}

fn paths_that_are_there(changes: Vec<Change>) -> Vec<PathBuf> {
    let changes = changes.into_iter();
    let changes = changes.filter(|change| change.kind != ChangeKind::Deleted);
    changes.map(|change| change.path).collect()
}

/// Puts the base's content back; the paths of what was written or removed.
async fn put_back(
    repository: &Repository,
    base: &str,
    held: &GuardedChanges<'_>,
    dir: &Path,
    index: &Path,
) -> Result<Vec<PathBuf>, NotPrepared> {
    let back = held.put_back();
    let mut restored: Vec<PathBuf> = back.iter().map(|file| file.path.clone()).collect();
    put_back_protected(repository, base, back, dir, index).await?;
    restored.extend(write_merged(&held.merged, dir).map_err(broken)?);
    Ok(restored)
}

/// A protected file that the base does not have is removed: that is its base content.
async fn put_back_protected(
    repository: &Repository,
    base: &str,
    protected: Vec<&Change>,
    dir: &Path,
    index: &Path,
) -> Result<(), GitError> {
    let (added, others): (Vec<&Change>, Vec<&Change>) = protected
        .into_iter()
        .partition(|change| change.kind == ChangeKind::Added);
    for change in added {
        std::fs::remove_file(dir.join(&change.path))
            .map_err(|why| GitError::Failed(format!("the checkout failed: {why}")))?;
    }
    if others.is_empty() {
        return Ok(());
    }
    let paths: Vec<&Path> = others.iter().map(|change| change.path.as_path()).collect();
    repository.put_back(base, &paths, dir, index).await
}

/// Writes files that are put back in part; their paths.
fn write_merged(merged: &[MergedFile], dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for MergedFile { path, text } in merged {
        if is_in_plain_folder(dir, path) {
            layout::write_anew(&dir.join(path), text.as_bytes())?;
            written.push(path.clone());
        }
    }
    Ok(written)
}

/// Puts the base's commands back into manifests; those that were rewritten.
fn put_back_commands(
    frozen: &FrozenPlan,
    changes: &[Change],
    dir: &Path,
) -> io::Result<Vec<PathBuf>> {
    let mut rewritten = Vec::new();
    for manifest in &frozen.manifests {
        let name = manifest.path();
        if !changes.iter().any(|change| change.path == Path::new(name)) {
            continue;
        }
        // A link in the place of its folder is a change of a test file, and nothing is written behind it.
        if !is_in_plain_folder(dir, Path::new(name)) {
            continue;
        }
        let path = dir.join(name);
        // A manifest that is gone, a link or not text is not run by its tool as the base's.
        let now = safe_files::read(&path, MAX_MANIFEST_BYTES).unwrap_or_default();
        if let Some(text) = manifest.put_back(&String::from_utf8_lossy(&now)) {
            layout::write_anew(&path, text.as_bytes())?;
            rewritten.push(PathBuf::from(name));
        }
    }
    Ok(rewritten)
}

fn is_in_plain_folder(dir: &Path, path: &Path) -> bool {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let Some(folder) = folder else {
        return true;
    };
    safe_files::open_dir(dir).is_ok_and(|dir| safe_files::open_dir_below(&dir, folder).is_ok())
}

/// Changes of test files that stay, and in a detected plan of what decides how they run.
fn tests_changed(
    frozen: &FrozenPlan,
    changes: &[Change],
    held: &GuardedChanges<'_>,
) -> Vec<Change> {
    let back = held.put_back();
    let is_back = |change: &Change| {
        let mut merged = held.merged.iter();
        contains(&back, change) || merged.any(|file| file.path == change.path)
    };
    let decides = |change: &Change| frozen.keeps_test_files && contains(&held.gate, change);
    changes
        .iter()
        .filter(|change| is_test_change(change) || decides(change))
        .filter(|change| !is_back(change))
        .cloned()
        .collect()
}

/// Changes of files that decide what commands do; of a `verify` order's commit those of protected files,
/// too.
fn gate_changed(changes: &[Change], held: &GuardedChanges<'_>, is_of_order: bool) -> Vec<Change> {
    let is_gate = |change: &&Change| {
        contains(&held.gate, change) || (is_of_order && contains(&held.protected, change))
    };
    changes.iter().filter(is_gate).cloned().collect()
}

fn gone_test_files(frozen: &FrozenPlan, changes: &[Change]) -> Vec<PathBuf> {
    changes
        .iter()
        .filter(|change| frozen.keeps_test_files && change.kind == ChangeKind::Deleted)
        .filter(|change| is_test_change(change))
        .map(|change| change.path.clone())
        .collect()
}
