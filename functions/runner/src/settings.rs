//! The runner's settings from the environment. They are read once, before there is a second thread;
//! the nonce is then erased from the environment.

use std::ffi::OsString;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use awo_domain::webhook::address::Reach;
use awo_domain::webhook::private_hosts::{PRIVATE_HOSTS, PrivateHosts};
use awo_domain::{OrgId, RunId, VerificationId};
use awo_forges::{API_VARIABLES, Hosts};
use awo_supervisor::{Sandbox, UidRange};
use url::{Host, Url};

use crate::agent_user::{AgentUser, UserClaim, owner_of};

/// Where programs are found if the environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// ECS sets it in each container of a task.
const TASK: &str = "ECS_CONTAINER_METADATA_URI_V4";

/// What the nonce is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// A run.
    Run(RunId),
    /// A manual verification.
    Verification(VerificationId),
}

impl Task {
    fn parse(id: &str) -> Option<Task> {
        let run = RunId::parse(id).map(Task::Run).ok();
        run.or_else(|| VerificationId::parse(id).map(Task::Verification).ok())
    }

    fn id(&self) -> &str {
        match self {
            Task::Run(id) => id.as_str(),
            Task::Verification(id) => id.as_str(),
        }
    }
}

/// The single-use nonce, split.
#[derive(Clone)]
pub(crate) struct Nonce {
    pub(crate) org: OrgId,
    pub(crate) task: Task,
    pub(crate) whole: String,
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nonce({}.{}.…)", self.org, self.task.id())
    }
}

impl Nonce {
    fn parse(whole: &str) -> Result<Nonce, String> {
        let malformed =
            || "AWO_NONCE must be <orgId>.<runId or verificationId>.<secret>".to_owned();
        let mut parts = whole.splitn(3, '.');
        let (Some(org), Some(id), Some(secret)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(malformed());
        };
        if secret.is_empty() {
            return Err(malformed());
        }
        Ok(Nonce {
            org: OrgId::parse(org).map_err(|_| malformed())?,
            task: Task::parse(id).ok_or_else(malformed)?,
            whole: whole.to_owned(),
        })
    }
}

/// All settings.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Without a slash at its end.
    pub(crate) control_url: String,
    /// True where the control API is spoken to in plain HTTP: only on loopback.
    pub(crate) plain_http: bool,
    pub(crate) nonce: Nonce,
    pub(crate) workspace_root: PathBuf,
    /// The folder of archived workspaces of ended runs, for other tasks.
    pub(crate) shared_root: Option<PathBuf>,
    /// Absent: agents run as the runner's own user, or, where that is root, as one of `agent_uids`.
    pub(crate) agent_user: Option<AgentUser>,
    /// Users of which a run has one, where the runner is root and none is named.
    pub(crate) agent_uids: UidRange,
    /// True if a run is refused where a layer of confinement is missing.
    pub(crate) requires_layers: bool,
    /// True if commands have namespaces of their own.
    pub(crate) is_private: bool,
    pub(crate) path: OsString,
    /// Variables that lead to tool chains.
    pub(crate) tool_homes: Vec<(&'static str, OsString)>,
    /// What agents and verifiers may read beside the system's programs.
    pub(crate) agent_paths: Vec<PathBuf>,
    /// Folders of the service on this machine that they never see.
    pub(crate) private_dirs: Vec<PathBuf>,
    /// Where git hosts and their APIs are.
    pub(crate) hosts: Hosts,
    /// Servers outside the public network that the operator lets runs call.
    pub(crate) private_hosts: PrivateHosts,
    /// True in a task of the cloud, which has no process of another run.
    pub(crate) is_task: bool,
    /// This program, for `supervise`.
    pub(crate) program: PathBuf,
}

impl Settings {
    /// Reads the environment.
    ///
    /// # Errors
    /// A sentence that names the variable.
    pub(crate) fn from_env() -> Result<Settings, String> {
        let settings = Settings::read(|name| std::env::var(name).ok());
        awo_supervisor::forget_variable(c"AWO_NONCE");
        settings
    }

    /// Reads an environment; an empty variable counts as unset.
    fn read(of: impl Fn(&str) -> Option<String> + Copy) -> Result<Settings, String> {
        let text = |name: &str| of(name).filter(|value| !value.is_empty());
        let required = |name: &str| text(name).ok_or_else(|| format!("{name} must be set"));
        let (control_url, plain_http) = control_url(&required("AWO_CONTROL_URL")?)?;
        let nonce = Nonce::parse(&required("AWO_NONCE")?);
        let workspace_root = PathBuf::from(required("AWO_WORKSPACE_ROOT")?);
        if !workspace_root.is_absolute() {
            return Err("AWO_WORKSPACE_ROOT must be an absolute path".to_owned());
        }
        let shared_root = text("AWO_SHARED_ROOT").map(PathBuf::from);
        if shared_root.as_ref().is_some_and(|root| !root.is_absolute()) {
            return Err("AWO_SHARED_ROOT must be an absolute path".to_owned());
        }
        let id = |name: &str| {
            text(name)
                .map(|value| value.parse::<u32>())
                .transpose()
                .map_err(|_| format!("{name} must be a number"))
        };
        let agent_user = match (id("AWO_AGENT_UID")?, id("AWO_AGENT_GID")?) {
            (None, None) => None,
            (Some(0), _) => {
                return Err(
                    "AWO_AGENT_UID must not be 0: client code never runs as root".to_owned(),
                );
            }
            (Some(uid), gid) => Some(AgentUser {
                uid,
                gid: gid.unwrap_or(uid),
            }),
            (None, Some(_)) => return Err("AWO_AGENT_GID needs AWO_AGENT_UID".to_owned()),
        };
        Ok(Settings {
            control_url,
            plain_http,
            nonce: nonce?,
            workspace_root,
            shared_root,
            agent_user,
            agent_uids: match text("AWO_AGENT_UIDS") {
                None => UidRange::default(),
                Some(range) => {
                    UidRange::parse(&range).map_err(|why| format!("AWO_AGENT_UIDS: {why}"))?
                }
            },
            requires_layers: requires_layers(text("AWO_CONFINEMENT"))?,
            is_private: false,
            agent_paths: paths("AWO_AGENT_PATHS", text)?,
            private_dirs: paths("AWO_PRIVATE_DIRS", text)?,
            hosts: Hosts::from_env(&API_VARIABLES, text, is_loopback)?,
            path: tools().0,
            tool_homes: tools().1,
            private_hosts: private_hosts(text(PRIVATE_HOSTS), text(TASK).is_some())?,
            is_task: text(TASK).is_some(),
            program: own_program()?,
        })
    }
}

/// In a task loopback is that of the task; on one machine the service decides who may name it.
fn private_hosts(listed: Option<String>, is_task: bool) -> Result<PrivateHosts, String> {
    let reach = if is_task {
        Reach::Public
    } else {
        Reach::PublicAndLoopback
    };
    let listed = listed.unwrap_or_default();
    let entries = listed.split(',').map(str::trim);
    let entries = entries.filter(|entry| !entry.is_empty());
    PrivateHosts::parse(entries.map(str::to_owned), reach)
        .map_err(|why| format!("{PRIVATE_HOSTS}: {why}"))
}

fn requires_layers(confinement: Option<String>) -> Result<bool, String> {
    match confinement.as_deref() {
        None => Ok(false),
        Some("require") => Ok(true),
        Some(_) => Err("AWO_CONFINEMENT must be `require`, or not be set".to_owned()),
    }
}

/// Folders in which programs are found, and those of their tool chains.
pub(crate) fn tools() -> (OsString, Vec<(&'static str, OsString)>) {
    let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    (path, awo_supervisor::tool_homes())
}

/// This program's own file.
pub(crate) fn own_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|why| format!("cannot find this program's own file: {why}"))
}

impl Settings {
    /// Takes the layers of confinement that this host has.
    ///
    /// # Errors
    /// If one is missing that is required.
    pub(crate) fn confine(&mut self) -> Result<(), String> {
        let namespaces = awo_supervisor::try_namespaces();
        self.is_private = namespaces.is_ok();
        if !self.requires_layers || self.is_task {
            return Ok(());
        }
        namespaces.map_err(|why| format!("AWO_CONFINEMENT=require: {why}"))?;
        if Sandbox::is_available() {
            Ok(())
        } else {
            Err("AWO_CONFINEMENT=require: this kernel has no Landlock".to_owned())
        }
    }

    /// Settings with a user for one run, or for one verification in a run's `workspace`, whose user it then has. The
    /// claim is to be held as long as something runs as that user.
    ///
    /// # Errors
    /// If no user is free.
    pub(crate) fn with_user(
        &self,
        workspace: Option<&Path>,
    ) -> std::io::Result<(Settings, Option<UserClaim>)> {
        let mut settings = self.clone();
        if self.agent_user.is_some() || !nix::unistd::geteuid().is_root() {
            return Ok((settings, None));
        }
        settings.agent_user = workspace.and_then(|path| owner_of(path, self.agent_uids));
        if settings.agent_user.is_some() {
            return Ok((settings, None));
        }
        let name = self.nonce.task.id();
        let claim = UserClaim::take(&self.workspace_root, self.agent_uids, name)?;
        settings.agent_user = Some(claim.user);
        Ok((settings, Some(claim)))
    }

    /// The agents' user, where this process can become another one: only root can.
    pub(crate) fn effective_agent_user(&self) -> Option<AgentUser> {
        self.agent_user.filter(|_| nix::unistd::geteuid().is_root())
    }
}

/// Absolute paths, separated as those of PATH.
fn paths(name: &str, text: impl Fn(&str) -> Option<String>) -> Result<Vec<PathBuf>, String> {
    let Some(value) = text(name) else {
        return Ok(Vec::new());
    };
    let paths: Vec<PathBuf> = std::env::split_paths(&value).collect();
    if paths.iter().all(|path| path.is_absolute()) {
        Ok(paths)
    } else {
        Err(format!("{name} must be absolute paths, separated by ':'"))
    }
}

fn control_url(text: &str) -> Result<(String, bool), String> {
    let url = Url::parse(text).map_err(|why| format!("AWO_CONTROL_URL is not a URL: {why}"))?;
    let plain_http = match url.scheme() {
        "https" => false,
        "http" if is_loopback(&url) => true,
        _ => {
            return Err("AWO_CONTROL_URL must be https:// (http:// on loopback only)".to_owned());
        }
    };
    Ok((text.trim_end_matches('/').to_owned(), plain_http))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip).is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_loopback_only() {
        for good in [
            "http://127.0.0.1:1/x/",
            "http://[::1]:1",
            "https://a.example/prod",
        ] {
            assert!(control_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http://a.example",
            "ftp://127.0.0.1",
            "127.0.0.1:80",
            "http://10.0.0.1",
        ] {
            assert!(control_url(bad).is_err(), "{bad}");
        }
    }

    /// For one machine only, and for tests: the cloud has none of them.
    const ONE_MACHINE: [&str; 6] = [
        "AWO_AGENT_PATHS",
        "AWO_AGENT_UIDS",
        "AWO_CONFINEMENT",
        "AWO_GITHUB_API_URL",
        "AWO_GIT_CA_FILE",
        "AWO_PRIVATE_DIRS",
    ];

    /// A value of a mapping, below CloudFormation's short functions.
    fn under<'a>(of: &'a serde_norway::Value, name: &str) -> Option<&'a serde_norway::Value> {
        match of {
            serde_norway::Value::Tagged(tagged) => under(&tagged.value, name),
            other => other.get(name),
        }
    }

    #[test]
    fn the_task_has_the_variables_that_the_runner_reads_and_no_others() {
        let template = include_str!("../../../template.yaml");
        let template: serde_norway::Value = serde_norway::from_str(template).unwrap();
        let task = under(&template["Resources"]["RunnerTask"], "Properties").unwrap();
        let container = &task["ContainerDefinitions"][0];
        let reported = container["Environment"].as_sequence().unwrap().iter();
        let mut reported: Vec<&str> = reported.map(|of| of["Name"].as_str().unwrap()).collect();
        // With RunTask comes what is for this task alone.
        reported.push("AWO_NONCE");
        // ECS adds one of its own.
        reported.push(TASK);
        reported.sort_unstable();

        let read = std::cell::RefCell::new(std::collections::BTreeSet::new());
        let settings = Settings::read(|name| {
            read.borrow_mut().insert(name.to_owned());
            let value = match name {
                "AWO_CONTROL_URL" => "https://api.example.com/live",
                "AWO_NONCE" => "org_01k00000000000000000000000.run_01k00000000000000000000000.x",
                "AWO_WORKSPACE_ROOT" | "AWO_SHARED_ROOT" => "/workspaces",
                "AWO_AGENT_UID" | "AWO_AGENT_GID" => "10001",
                _ => return None,
            };
            Some(value.to_owned())
        });
        settings.unwrap();
        let mut read = read.into_inner();
        for name in ONE_MACHINE {
            assert!(read.remove(name), "{name} is read no more");
        }
        assert_eq!(read.into_iter().collect::<Vec<_>>(), reported);
    }

    #[test]
    fn a_nonce_is_never_shown_and_never_guessed_at() {
        let whole = "org_01k00000000000000000000000.run_01k00000000000000000000000.s3cret.x";
        let nonce = Nonce::parse(whole).unwrap();
        assert!(!format!("{nonce:?}").contains("s3cret"));
        assert_eq!(nonce.whole, whole);
        let of_verification = whole.replace("run_", "ver_");
        let task = Nonce::parse(&of_verification).unwrap().task;
        assert!(matches!(task, Task::Verification(_)), "{task:?}");
        for bad in [
            "",
            "a.b.c",
            "org_01k00000000000000000000000.run_01k00000000000000000000000.",
        ] {
            assert!(Nonce::parse(bad).is_err(), "{bad}");
        }
    }
}
