//! Faults of the machine that no agent can correct: a full disk, and a host that cannot be reached. A
//! command's words for it count only if the runner finds the same.

use std::ffi::OsString;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use awo_supervisor::Limits;
use nix::sys::statvfs::statvfs;
use regex::Regex;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use url::Url;

use super::Verification;
use crate::contained_process::{AtTimeout, ContainedProcesses, Job, Variables};
use crate::safe_files;
use crate::toolchains::{self, gates};

/// Less free space than this is a full disk.
const MIN_FREE_BYTES: u64 = 1 << 20;
/// Words of the system for a full disk.
const NO_SPACE: [&str; 2] = ["No space left on device", "ENOSPC"];
/// Time for each step towards a host.
const REACH_LIMIT: Duration = Duration::from_secs(5);
/// Most changed files that are searched for a host's name, and the largest.
const MAX_SEARCHED: usize = 500;
const MAX_SEARCHED_BYTES: u64 = 262_144;
/// Messages of installers that name a host which they do not reach, and its port where they do.
const UNREACHABLE: [&str; 9] = [
    r"getaddrinfo (?:ENOTFOUND|EAI_AGAIN) (?P<host>[\w.-]+)",
    r"connect (?:ECONNREFUSED|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH) (?P<host>[\d.]+):(?P<port>\d+)",
    r"host='(?P<host>[\w.-]+)', port=(?P<port>\d+)\): Max retries exceeded",
    r"(?:Could not resolve|Failed to connect to|Couldn't resolve) (?:host:? ?)?'?(?P<host>[\w.-]+\.[\w-]+)(?: port (?P<port>\d+))?",
    r"dial tcp: lookup (?P<host>[\w.-]+)",
    r"request to https?://(?P<host>[\w.-]+)(?::(?P<port>\d+))?/\S* failed",
    r"getaddrinfo for (?P<host>[\w.-]+) failed",
    r"Could not (?:fetch specs from https?://|reach host )(?P<host>[\w-]+(?:\.[\w-]+)+)",
    r"Could not transfer artifact .*[: ](?:Unknown host|Connect to) (?P<host>[\w.-]+)(?::(?P<port>\d+))?",
];
/// Messages of tools that install what they need while they build or test: no test prints them.
const WHILE_TESTING: [&str; 5] = [
    r"Could not transfer artifact .*[: ](?:Unknown host|Connect to) (?P<host>[\w.-]+)(?::(?P<port>\d+))?",
    r"Could not (?:GET|HEAD) 'https?://(?P<host>[\w.-]+)(?::(?P<port>\d+))?/",
    r"\[6\] Could(?:n't| not) resolve host(?:name|: )?.*\(Could not resolve host: (?P<host>[\w.-]+)\)",
    r"^go: .*dial tcp: lookup (?P<host>[\w.-]+)",
    r"^\S+\.go:\d+:\d+: .*dial tcp: lookup (?P<host>[\w.-]+)",
];
/// Messages of downloads in a recipe, which end it: they count in the last lines alone.
const DOWNLOADS: [&str; 2] = [
    r"curl: \(\d+\) (?:Could not resolve host: |Failed to connect to )(?P<host>[\w.-]+)(?: port (?P<port>\d+))?",
    r"^wget: unable to resolve host address \S?(?P<host>[\w-]+(?:\.[\w-]+)+)",
];
const LAST_LINES: usize = 5;
/// Words for a network that is not there, in messages without a host.
const NO_NETWORK: [&str; 7] = [
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "No route to host",
    "Failed to establish a new connection",
    "Connection refused",
    "ConnectTimeoutError",
];
/// Longest time in which a program names its registry, and the longest answer.
const REGISTRY_LIMIT: Duration = Duration::from_secs(20);
const MAX_URL_BYTES: usize = 4_096;
const HTTPS: u16 = 443;

static MESSAGES: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(&UNREACHABLE));
static TOOL_MESSAGES: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(&WHILE_TESTING));
static DOWNLOAD_MESSAGES: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(&DOWNLOADS));

fn compiled(texts: &[&str]) -> Vec<Regex> {
    let compiled = texts.iter().map(|text| Regex::new(text));
    compiled.filter_map(Result::ok).collect()
}

impl Verification<'_> {
    /// The fault of the machine that this output of a failed command names, if the runner sees it, too.
    pub(super) async fn machine_fault(
        &self,
        run: &str,
        output: &str,
        is_install: bool,
    ) -> Option<String> {
        let has_no_space = NO_SPACE.iter().any(|words| output.contains(words));
        if has_no_space && self.subject.places().into_iter().any(is_full) {
            let why = "the disk is full: free space where runs happen, or use a larger size";
            return Some(why.to_owned());
        }
        if !is_install && host_of_tool(output).is_none() {
            return None;
        }
        let network = Network {
            processes: self.processes,
            home: &self.subject.home,
            tmp: &self.subject.tmp,
            variables: &self.variables,
        };
        network
            .fault(run, output, |host| self.names_host(host))
            .await
    }

    /// True if the run itself may have brought the host: in a file that decides what is installed, or by
    /// its name.
    fn names_host(&self, host: &str) -> bool {
        let changed = self.subject.changed.as_deref().unwrap_or_default();
        changed.iter().any(|path| gates::decides(path))
            || changed.iter().take(MAX_SEARCHED).any(|path| {
                let read = safe_files::read_within(&self.subject.dir, path, MAX_SEARCHED_BYTES);
                read.is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(host))
            })
    }
}

/// The network, as commands with these folders and variables see it.
pub(crate) struct Network<'a> {
    pub(crate) processes: &'a ContainedProcesses,
    pub(crate) home: &'a Path,
    pub(crate) tmp: &'a Path,
    pub(crate) variables: &'a Variables,
}

impl Network<'_> {
    /// The host that this output of the installation `run` names, or that of its registry, if the runner
    /// does not reach it either. A host that is the run's own does not count.
    pub(crate) async fn fault(
        &self,
        run: &str,
        output: &str,
        is_own: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let named = unreachable_host(output).or_else(|| host_of_tool(output));
        let (host, port) = match named {
            Some(named) => named,
            None if NO_NETWORK.iter().any(|words| output.contains(words)) => {
                self.registry(run).await?
            }
            None => return None,
        };
        if is_own(&host) || is_reachable(&host, port).await {
            return None;
        }
        Some(format!(
            "{host} cannot be reached from this machine: connect it, or give the environment a registry or \
             a setup that needs no network"
        ))
    }

    /// Host and port of the registry that an installation uses, as its own program names it.
    async fn registry(&self, run: &str) -> Option<(String, u16)> {
        let argv = ["sh", "-c", toolchains::registry(run)?].map(OsString::from);
        let variables = self.variables.iter();
        let env: Vec<(&str, OsString)> = variables
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        let job = Job {
            argv: &argv,
            dir: self.tmp,
            home: self.home,
            tmp: self.tmp,
            reads: &[],
            env: &env,
            limit: REGISTRY_LIMIT,
            at_timeout: AtTimeout::Kill,
            limits: Limits::default(),
            called_off: None,
            keep_bytes: MAX_URL_BYTES,
            heard: None,
        };
        let finished = self.processes.run(job).await.ok()?;
        let url = Url::parse(finished.stdout.text().trim()).ok()?;
        Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
    }
}

fn is_full(place: &Path) -> bool {
    statvfs(place).is_ok_and(|disk| {
        let free = disk.blocks_available().saturating_mul(disk.fragment_size());
        free < MIN_FREE_BYTES || (disk.files() > 0 && disk.files_available() == 0)
    })
}

/// The host and port that an installer does not reach, by its last message of that.
fn unreachable_host(output: &str) -> Option<(String, u16)> {
    host_in(&MESSAGES, output)
}

/// The host that a build does not reach while it tests.
fn host_of_tool(output: &str) -> Option<(String, u16)> {
    host_in(&TOOL_MESSAGES, output).or_else(|| {
        let lines: Vec<&str> = output.lines().collect();
        let last = lines.get(lines.len().saturating_sub(LAST_LINES)..)?;
        host_in(&DOWNLOAD_MESSAGES, &last.join("\n"))
    })
}

fn host_in(messages: &[Regex], output: &str) -> Option<(String, u16)> {
    output.lines().rev().find_map(|line| {
        let captures = messages.iter().find_map(|message| message.captures(line))?;
        let port = captures.name("port");
        let port = port.and_then(|port| port.as_str().parse().ok());
        Some((
            captures.name("host")?.as_str().to_owned(),
            port.unwrap_or(HTTPS),
        ))
    })
}

async fn is_reachable(host: &str, port: u16) -> bool {
    let Ok(Ok(addresses)) = timeout(REACH_LIMIT, lookup_host((host, port))).await else {
        return false;
    };
    for address in addresses.take(2) {
        if matches!(
            timeout(REACH_LIMIT, TcpStream::connect(address)).await,
            Ok(Ok(_))
        ) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_installers_message_is_known() {
        for (line, host, port) in [
            (
                "npm error request to https://registry.example/x failed, reason: ",
                "registry.example",
                443,
            ),
            (
                "npm error getaddrinfo ENOTFOUND registry.example",
                "registry.example",
                443,
            ),
            (
                "npm error connect ECONNREFUSED 127.0.0.1:4873",
                "127.0.0.1",
                4873,
            ),
            (
                "HTTPSConnectionPool(host='index.example', port=8443): Max retries exceeded with url: /simple/",
                "index.example",
                8443,
            ),
            (
                "  [6] Could not resolve hostname (Could not resolve host: index.example)",
                "index.example",
                443,
            ),
            (
                "curl: (7) Failed to connect to index.example port 80 after 1 ms",
                "index.example",
                80,
            ),
            (
                "  : php_network_getaddresses: getaddrinfo for packages.example failed: Name  ",
                "packages.example",
                443,
            ),
            (
                "Could not fetch specs from https://gems.example/ due to underlying error",
                "gems.example",
                443,
            ),
            (
                "Could not reach host index.gems.example. Check your network connection and try again.",
                "index.gems.example",
                443,
            ),
            (
                "dial tcp: lookup proxy.example on 127.0.0.1:53: no such host",
                "proxy.example",
                443,
            ),
        ] {
            assert_eq!(
                unreachable_host(line),
                Some((host.to_owned(), port)),
                "{line}"
            );
        }
        assert_eq!(unreachable_host("error: no such file a.example"), None);
    }

    #[test]
    fn a_tool_that_installs_while_it_tests_names_its_host() {
        for (line, host) in [
            (
                "[ERROR] Plugin a:b:2.6 could not be resolved: Could not transfer artifact a:b:pom:2.6 from/to \
                 central (https://maven.example/x): transfer failed: Unknown host maven.example: Name or service \
                 not known -> [Help 1]",
                Some("maven.example"),
            ),
            (
                "      > Could not GET 'https://gradle.example/a/b.pom'.",
                Some("gradle.example"),
            ),
            (
                "  [6] Couldn't resolve host name (Could not resolve host: crates.example)",
                Some("crates.example"),
            ),
            (
                "a.go:3:8: example.com/x@v1.0.0: Get \"https://go.example/x\": dial tcp: lookup go.example: no such host",
                Some("go.example"),
            ),
            (
                "go: example.com/x@v1.0.0: dial tcp: lookup go.example on 127.0.0.1:53: no such host",
                Some("go.example"),
            ),
            (
                "  0     0 --:--:--     0curl: (6) Could not resolve host: data.example\nmake: *** [Makefile:9: data/a.txt] Error 6",
                Some("data.example"),
            ),
            (
                "curl: (6) Could not resolve host: data.example\nok\nok\nok\nok\n1 failed",
                None,
            ),
            ("    dial tcp: lookup db.example: no such host", None),
            ("getaddrinfo ENOTFOUND db.example", None),
        ] {
            let named = host_of_tool(line).map(|(host, _)| host);
            assert_eq!(named.as_deref(), host, "{line}");
        }
    }

    #[tokio::test]
    async fn a_host_is_reached_by_trying() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_reachable("127.0.0.1", port).await);
        drop(listener);
        assert!(!is_reachable("127.0.0.1", port).await);
        assert!(!is_full(Path::new(env!("CARGO_MANIFEST_DIR"))));
    }
}
