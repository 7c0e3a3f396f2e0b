//! From a source to a workspace for an agent, with its plan frozen; and the messages for users when
//! that fails.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use awo_domain::control::RunSpec;
use awo_domain::source::{Branch, GitSource, Repository as RepositoryUrl};

use crate::contained_process::ContainedProcesses;
use crate::gate;
use crate::git::GitError;
use crate::inspection::{Inspector, MEMORY_MB};
use crate::layout::{self, Layout};
use crate::plan::FrozenPlan;
use crate::repository::{Base, Objects, Repository};
use crate::resumed;
use crate::turns::{self, EarlierWork};

/// Longest time that a clone may take.
pub(crate) const CLONE_LIMIT: Duration = Duration::from_secs(300);
/// The folder in which a plan is read anew, and its index.
const PLAN_DIR: &str = "plan";
const PLAN_INDEX: &str = "plan.index";
/// The configuration of the agent's copy beyond the runner's: it has a work tree, a name to commit under,
/// and no sign of ours.
const AGENT_CONFIG: &str = "[core]\n\tbare = false\n[user]\n\tname = Agent\n\
\temail = agent@localhost\n[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";

/// Why there is no workspace.
#[derive(Debug)]
pub(crate) enum NoWorkspace {
    /// For people.
    Failed(String),
    /// What a child did is not to be had; for people.
    NoChild(String),
    Stopped,
}

/// Checks the spec, since it was not checked when it was read.
pub(crate) fn check_source(spec: &RunSpec) -> Result<(), String> {
    let repository = spec.source.repository.as_str();
    RepositoryUrl::parse(repository, spec.allow_file_repositories)
        .map_err(|why| format!("the repository {why}"))?;
    if let Some(branch) = &spec.source.branch {
        Branch::parse(branch.as_str()).map_err(|why| format!("the branch {why}"))?;
    }
    Ok(())
}

/// The one configuration file of all our git calls, and of the servers that git starts for
/// `file://`, which would refuse a repository of another user's.
pub(crate) fn write_git_config(layout: &Layout, allow_file: bool) -> io::Result<()> {
    let text = if allow_file {
        "[safe]\n\tdirectory = *\n"
    } else {
        ""
    };
    fs::write(layout.git_config(), text)
}

/// Clones, freezes the plan and makes the agent's copy of the repository. A run that goes on finds
/// its newest commit in the workspace, and what its children did in the repository.
pub(crate) async fn prepare(
    repository: &Repository,
    processes: &ContainedProcesses,
    layout: &Layout,
    spec: &RunSpec,
    earlier: EarlierWork<'_>,
    limit: Duration,
) -> Result<(Base, FrozenPlan), NoWorkspace> {
    let limit = limit.min(CLONE_LIMIT);
    let resumption = spec.resumption.as_ref();
    let start = resumption.map(|resumption| &resumption.base);
    let start = start.or(spec.start_commit.as_ref()).map(String::as_str);
    let continued = turns::continued(spec);
    let start = continued.map(|(_, first)| first).or(start);
    let start = start.filter(|_| spec.gate.is_none());
    let source = turns::source(spec);
    let cloned = repository.clone(&source, start, limit).await;
    let base = cloned.map_err(|why| not_cloned(why, &source))?;
    let mut base = turns::begin(repository, spec, earlier, base, limit).await?;
    let frozen = plan_in(processes, layout, &layout.workspace(), limit).await?;
    if base.thread.is_some() {
        let filled = repository.go_on_at(&base.commit).await;
        filled.map_err(not_created)?;
    }
    if spec.gate.is_some() {
        base.head = Some(gate::fetch_head(repository, spec, &base.commit, limit).await?);
    }
    let newest = match resumption {
        None => base.head.as_ref().map_or(&base.commit, |head| &head.commit),
        Some(resumption) => {
            resumed::fetch(repository, &spec.source, resumption, limit).await?;
            &resumption.commit
        }
    };
    let missing = repository.fetch_submodules(&spec.source, base.reference(), limit);
    let missing_submodules = missing.await.map_err(not_created)?;
    let fetched = repository.fetch_lfs(&spec.source, base.reference(), limit);
    fetched.await.map_err(not_created)?;
    let filter = repository.lfs_filter();
    let equip = move |layout: &Layout| equip(layout, filter);
    in_background(layout, equip).await.map_err(not_created)?;
    let workspace = layout.workspace();
    let populated = repository.populate(newest, &workspace, Objects::Copied);
    populated.await.map_err(not_created)?;
    let give = |layout: &Layout| layout.give_tree(&layout.workspace());
    in_background(layout, give).await.map_err(not_created)?;
    repository.detach(newest).map_err(not_created)?;
    repository.note_checkout().await.map_err(not_created)?;
    let base = Base {
        missing_submodules,
        ..base
    };
    Ok((base, frozen))
}

/// The plan of the files in `dir`.
async fn plan_in(
    processes: &ContainedProcesses,
    layout: &Layout,
    dir: &Path,
    limit: Duration,
) -> Result<FrozenPlan, NoWorkspace> {
    let inspector = Inspector {
        processes,
        dir,
        home: &layout.home(),
        tmp: &layout.tmp(),
        request: layout.inspection(),
        memory_mb: MEMORY_MB,
    };
    match inspector.plan(limit).await {
        Err(_) => Err(NoWorkspace::Stopped),
        Ok(frozen) => frozen.map_err(|why| {
            let next = "correct it on the base branch and start the run again";
            NoWorkspace::Failed(format!("{why}; {next}"))
        }),
    }
}

/// The plan of a commit, read in a folder of its own: files that an agent left in the workspace decide
/// nothing.
pub(crate) async fn freeze(
    repository: &Repository,
    processes: &ContainedProcesses,
    layout: &Layout,
    commit: &str,
    limit: Duration,
) -> Result<FrozenPlan, NoWorkspace> {
    let root = layout.verify_root();
    let (dir, index) = (root.join(PLAN_DIR), root.join(PLAN_INDEX));
    let clear = || -> io::Result<()> {
        for path in [&dir, &index] {
            layout::clear(path)?;
        }
        layout.make_agents_dir(&dir)
    };
    clear().map_err(not_created)?;
    let filled = repository.check_out(commit, &dir, Some(&index)).await;
    filled.map_err(not_created)?;
    let given = dir.clone();
    let give = move |layout: &Layout| layout.give_tree(&given);
    in_background(layout, give).await.map_err(not_created)?;
    plan_in(processes, layout, &dir, limit).await
}

fn not_created(why: impl Into<GitError>) -> NoWorkspace {
    match why.into() {
        GitError::Stopped => NoWorkspace::Stopped,
        why => NoWorkspace::Failed(format!("the workspace could not be created: {why}")),
    }
}

async fn in_background(
    layout: &Layout,
    work: impl FnOnce(&Layout) -> io::Result<()> + Send + 'static,
) -> io::Result<()> {
    let layout = layout.clone();
    let done = tokio::task::spawn_blocking(move || work(&layout)).await;
    done.unwrap_or_else(|_| Err(io::Error::other("a thread was lost")))
}

/// Gives the agent a `.git` of its own. It is a copy and not a link: what the agent does to its
/// objects must not reach ours.
fn equip(layout: &Layout, filter: &str) -> io::Result<()> {
    let git = layout.workspace().join(".git");
    copy_tree(&layout.repo(), &git)?;
    let config = git.join("config");
    let mut text = fs::read_to_string(&config)?;
    text.push_str(AGENT_CONFIG);
    text.push_str(filter);
    fs::write(&config, text)
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

fn not_cloned(why: GitError, source: &GitSource) -> NoWorkspace {
    let url = source.repository.as_str();
    let branch = source.branch.as_ref().map_or("", Branch::as_str);
    NoWorkspace::Failed(match why {
        GitError::Stopped => return NoWorkspace::Stopped,
        GitError::TimedOut(limit) => format!(
            "cloning {url} timed out after {} s: check that the repository can be reached from \
             the runner and start again",
            limit.as_secs()
        ),
        GitError::TooLarge(_) | GitError::TokenRefused { .. } => {
            format!("cloning {url} failed: {why}")
        }
        GitError::Failed(ref reported) => match clone_fault(reported) {
            Some(CloneFault::NoBranch) => format!(
                "{url} has no branch {branch}: use an existing branch, or omit it for the default \
                 branch"
            ),
            Some(CloneFault::Moved) => format!(
                "{url} has moved, or leads elsewhere, and the organization's credential is not \
                 sent to the new address: use the repository's current URL"
            ),
            Some(CloneFault::NoRepository) => format!(
                "{url} does not exist, or may not be seen without a credential: check the URL, \
                 or have the operator set a credential for its host"
            ),
            Some(CloneFault::NeedsCredential) => format!(
                "{url} asks for authentication, and the organization's credential for its host \
                 is missing or not accepted: have the operator set one"
            ),
            None => format!("cloning {url} failed: {reported}"),
        },
    })
}

enum CloneFault {
    NoBranch,
    Moved,
    NoRepository,
    NeedsCredential,
}

fn clone_fault(reported: &str) -> Option<CloneFault> {
    let has = |parts: &[&str]| parts.iter().any(|part| reported.contains(part));
    if has(&["Remote branch"]) && has(&["not found"]) {
        Some(CloneFault::NoBranch)
    } else if is_redirect(reported) {
        Some(CloneFault::Moved)
    } else if needs_credential(reported) {
        Some(CloneFault::NeedsCredential)
    } else if has(&["does not appear to be a git repository", "does not exist"])
        || (has(&["repository '"]) && has(&["not found"]))
    {
        Some(CloneFault::NoRepository)
    } else {
        None
    }
}

/// True if a remote sent git elsewhere, and git did not go.
pub(crate) fn is_redirect(reported: &str) -> bool {
    reported.contains("returned error: 30")
}

/// True if a remote requested credentials, or refused them.
pub(crate) fn needs_credential(reported: &str) -> bool {
    [
        "could not read Username",
        "could not read Password",
        "Authentication failed",
        "terminal prompts disabled",
        "returned error: 401",
        "returned error: 403",
    ]
    .iter()
    .any(|part| reported.contains(part))
}
