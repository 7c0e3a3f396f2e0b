//! Additional environment of runners on this machine: the tool chains of its version managers,
//! since only the image of runs has its tools in the system's own folders; and the operator's
//! settings.

use std::collections::BTreeMap;

/// Passed on to runners: another place of GitHub's API than its own, whom git trusts besides, the
/// users that agents run as, private servers that may be called, what agents may read beside programs, and which layers they need.
const PASSED_ON: [&str; 8] = [
    "AWO_AGENT_GID",
    "AWO_AGENT_PATHS",
    "AWO_AGENT_UID",
    "AWO_AGENT_UIDS",
    "AWO_CONFINEMENT",
    "AWO_GITHUB_API_URL",
    "AWO_GIT_CA_FILE",
    "AWO_PRIVATE_HOSTS",
];

/// All of it; `settings` come before this process's environment.
pub(crate) fn of(settings: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let value = |name: &str| settings.get(name).cloned().or(std::env::var(name).ok());
    let passed_on = PASSED_ON.into_iter();
    let passed_on = passed_on.filter_map(|name| Some((name.to_owned(), value(name)?)));
    let tool_homes = awo_supervisor::tool_homes().into_iter();
    let tool_homes =
        tool_homes.filter_map(|(name, place)| Some((name.to_owned(), place.into_string().ok()?)));
    tool_homes.chain(passed_on).collect()
}
