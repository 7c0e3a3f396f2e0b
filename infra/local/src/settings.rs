//! The settings of the local service: one table, the source of the help, of the warnings about
//! unknown names and of the examples in refusals.

use std::fmt::Write as _;

/// A setting of the environment.
struct Setting {
    name: &'static str,
    what: &'static str,
    /// What holds where it is not set, for people.
    default: &'static str,
    /// A value that is right.
    example: &'static str,
}

const fn setting(
    name: &'static str,
    what: &'static str,
    default: &'static str,
    example: &'static str,
) -> Setting {
    Setting {
        name,
        what,
        default,
        example,
    }
}

const SETTINGS: [Setting; 32] = [
    setting(
        "AWO_PORT",
        "port on loopback; 0 takes any free one",
        "8787",
        "8787",
    ),
    setting(
        "AWO_DATA_DIR",
        "folder of all data",
        ".local",
        "/var/lib/awo",
    ),
    setting(
        "AWO_WORKSPACE_ROOT",
        "folder of the runs' workspaces",
        "<AWO_DATA_DIR>/workspaces; a folder of the system's if a project is above",
        "/srv/awo",
    ),
    setting(
        "AWO_READY_FILE",
        "file that receives {\"baseUrl\",\"apiKey\",\"orgId\",\"pid\"} once the service is ready",
        "none",
        "/run/awo/ready",
    ),
    setting(
        "AWO_CONFIG_DIR",
        "folder of the settings of `awo`, and of this service's record",
        "~/.config/awo",
        "/etc/awo",
    ),
    setting(
        "AWO_LOG",
        "lowest level that is logged: error, warn, info, debug",
        "info; warn on a terminal",
        "warn",
    ),
    setting(
        "AWO_LOG_FORMAT",
        "format of the log: text or json",
        "text on a terminal, else json",
        "json",
    ),
    setting(
        "AWO_METRICS_PORT",
        "port on loopback for GET /metrics (Prometheus)",
        "none",
        "9187",
    ),
    setting(
        "AWO_MAX_CONCURRENT",
        "concurrent runs of an organization",
        "5",
        "5",
    ),
    setting(
        "AWO_MAX_QUEUE_SIZE",
        "maximum of work orders that wait in an organization's queue",
        "100",
        "100",
    ),
    setting(
        "AWO_MAX_TASKS",
        "concurrent tasks of all organizations",
        "100",
        "100",
    ),
    setting(
        "AWO_REQUESTS_PER_MINUTE",
        "requests per minute and key",
        "600",
        "600",
    ),
    setting(
        "AWO_HOLD_CREDITS",
        "credits reserved for a run whose work order has no limit",
        "1000",
        "1000",
    ),
    setting(
        "AWO_CREDITS_PER_USD",
        "credits per dollar of model cost",
        "100",
        "100",
    ),
    setting(
        "AWO_CREDITS_PER_MINUTE",
        "credits per minute of compute",
        "1",
        "0.5",
    ),
    setting(
        "AWO_PRICES_FILE",
        "file of prices in addition to the built-in ones",
        "none",
        "/etc/awo/prices.json",
    ),
    setting(
        "AWO_DEFAULT_AGENT",
        "agent of work orders that name no agent",
        "command",
        "claude-code",
    ),
    setting(
        "AWO_ANTHROPIC_BASE_URL",
        "where models of Anthropic's are called, such as a gateway; gets the organizations' keys",
        "https://api.anthropic.com",
        "https://gateway.example.com/anthropic",
    ),
    setting(
        "AWO_OPENAI_BASE_URL",
        "where models of OpenAI's are called, without /v1",
        "https://api.openai.com",
        "https://gateway.example.com/openai",
    ),
    setting(
        "AWO_ALLOW_FILE_REPOSITORIES",
        "0 rejects file:// repositories",
        "1",
        "0",
    ),
    setting(
        "AWO_ALLOW_LOOPBACK_REGISTRIES",
        "1 lets environments name registries on this machine by http://",
        "0",
        "1",
    ),
    setting(
        "AWO_PRIVATE_HOSTS",
        "hosts and networks that are not public at which registries may be, separated by ','",
        "none",
        "npm.corp.example,10.1.0.0/16",
    ),
    setting(
        "AWO_AGENT_UIDS",
        "user ids of which each run has one of its own, if the service runs as root",
        "500000-524287",
        "500000-524287",
    ),
    setting(
        "AWO_AGENT_UID",
        "one user id for the agents of all runs instead, if the service runs as root",
        "none",
        "10001",
    ),
    setting(
        "AWO_CONFINEMENT",
        "require refuses to start without all layers of confinement that this kind of host can have",
        "none",
        "require",
    ),
    setting(
        "AWO_AGENT_PATHS",
        "paths that agents may read besides the system's programs, separated by ':'",
        "none",
        "/opt/tools",
    ),
    setting(
        "AWO_ALLOW_UNCONFINED_SECRETS",
        "1 stores organizations' secrets even if agents could read them",
        "0",
        "1",
    ),
    setting(
        "AWO_CORS_ORIGINS",
        "origins of web pages that may call the API",
        "none",
        "https://console.example.com",
    ),
    setting(
        "AWO_WEBHOOK_ALLOW_LOOPBACK",
        "1 allows webhooks on this machine; for tests",
        "0",
        "1",
    ),
    setting(
        "AWO_WEBHOOK_CA_FILE",
        "PEM file of an additional trusted authority; for tests",
        "none",
        "/etc/awo/ca.pem",
    ),
    setting(
        "AWO_WEBHOOK_NAME_SERVER",
        "name server for webhooks; for tests",
        "the machine's",
        "127.0.0.1:5353",
    ),
    setting(
        "AWO_WEBHOOK_RETRY_DELAYS_MS",
        "delays before the second to the fifth attempt; for tests",
        "60000,300000,1800000,7200000",
        "1,1,1,1",
    ),
];

/// Names that are of `awo`, of runs, of a cloud's models, of the forge's address, or of our tests.
const OTHERS: [&str; 13] = [
    "AWO_URL",
    "AWO_API_KEY",
    "AWO_CONTEXT",
    "AWO_BIN_DIR",
    "AWO_BEDROCK_BASE_URL",
    "AWO_BEDROCK_INFERENCE_PROFILES",
    "AWO_BEDROCK_REGION",
    "AWO_BEDROCK_ROLE_ARN",
    "AWO_GITHUB_API_URL",
    "AWO_GIT_CA_FILE",
    "AWO_TEST_MARK",
    "AWO_CALLS_FILE",
    "AWO_ANSWERS_FILE",
];

/// The settings as `--help` shows them.
pub fn help() -> String {
    let mut help = "Settings, all of them optional variables of the environment:\n".to_owned();
    for Setting {
        name,
        what,
        default,
        ..
    } in SETTINGS
    {
        // A String takes all that is written to it.
        let _ = writeln!(help, "  {name:<29} {what} [{default}]");
    }
    help
}

/// Names of the environment that resemble settings and are none.
pub fn unknown(names: impl Iterator<Item = String>) -> Vec<String> {
    let is_known =
        |name: &str| OTHERS.contains(&name) || SETTINGS.iter().any(|setting| setting.name == name);
    // The names by which our tests write anew what is checked in.
    let is_ours = |name: &str| name.starts_with("AWO_WRITE_") || name.starts_with("AWO_MODEL_");
    let mut unknown: Vec<String> = names
        .filter(|name| name.starts_with("AWO_") && !is_known(name) && !is_ours(name))
        .collect();
    unknown.sort();
    unknown
}

/// A refusal with an example of the setting that it names.
pub fn with_example(refusal: &str) -> String {
    let named = |setting: &&Setting| {
        let mut words = refusal.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.any(|word| word == setting.name)
    };
    match SETTINGS.iter().find(named) {
        Some(setting) => format!(
            "{refusal}: {}; for example {}={}",
            setting.what, setting.name, setting.example
        ),
        None => refusal.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_is_none_is_named() {
        let names = [
            "PATH",
            "AWO_PORT",
            "AWO_URL",
            "AWO_MAX_CONCURENT",
            "AWO_WRITE_CALLS",
        ];
        let unknown = unknown(names.into_iter().map(str::to_owned));
        assert_eq!(unknown, ["AWO_MAX_CONCURENT"]);
    }

    #[test]
    fn a_refusal_shows_what_would_be_right() {
        let shown = with_example("the environment variable AWO_MAX_TASKS is not valid: x");
        assert!(shown.ends_with("for example AWO_MAX_TASKS=100"), "{shown}");
        assert_eq!(with_example("no room"), "no room");
    }

    #[test]
    fn the_documents_table_has_every_setting() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/single-server.md");
        let page = std::fs::read_to_string(path).unwrap_or_default();
        for Setting {
            name,
            what,
            default,
            ..
        } in SETTINGS
        {
            let row = format!("| `{name}` | {what} | {default} |");
            assert!(page.contains(&row), "docs/single-server.md lacks: {row}");
        }
    }
}
