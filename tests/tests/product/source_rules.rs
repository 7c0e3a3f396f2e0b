//! Rules of the repository's own text and structure: its vocabulary, the direction of its crates,
//! the length of its files, and names that mean one thing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use awo_domain::agent::AgentType;
use regex::Regex;

/// Longest source file, in lines.
const MAX_LINES: usize = 400;
/// Words that the glossary of `ARCHITECTURE.md` has a better term for. Each is written in two parts,
/// so that this file holds none of them.
const RETIRED: [(&str, &str); 26] = [
    ("wi", "sh"),
    ("wi", "shes"),
    ("wi", "shed"),
    ("err", "and"),
    ("err", "ands"),
    ("doorb", "ell"),
    ("be", "ll"),
    ("be", "lls"),
    ("la", "ne"),
    ("la", "nes"),
    ("a", "waken"),
    ("dis", "own"),
    ("do", "om"),
    ("do", "omed"),
    ("do", "or"),
    ("do", "ors"),
    ("de", "sk"),
    ("me", "nd"),
    ("me", "nds"),
    ("me", "nded"),
    ("me", "nding"),
    ("by ", "hand"),
    ("to", "ld"),
    ("tell", "ing"),
    ("sa", "id"),
    ("who", "ever"),
];
/// Names of types that end as participles do, and are nouns.
const NOUNS: [&str; 2] = ["Feed", "Seed"];
/// Participles that do not end in "ed".
const IRREGULAR_PARTICIPLES: [&str; 22] = [
    "Begun", "Bound", "Built", "Cut", "Done", "Drawn", "Found", "Given", "Gone", "Heard", "Held",
    "Hidden", "Kept", "Known", "Left", "Lost", "Made", "Seen", "Sent", "Shown", "Swept", "Taken",
];
/// What a crate may stand on: a crate names only crates of the groups before its own.
const LAYERS: [&[&str]; 8] = [
    &["awo-domain", "awo-supervisor", "awo-origins"],
    &[
        "awo-store",
        "awo-pricing",
        "awo-forges",
        "awo-schedules",
        "awo-triggers",
        "awo-mcp",
    ],
    &["awo-cloud", "awo-contract"],
    &["awo-http", "awo-execution", "awo-webhooks"],
    &["functions of a route"],
    &["awo-openapi", "awo-runner"],
    &["awo-local"],
    &["awo"],
];

/// Attributes that expressions alone read, so no item has a field for them.
const IN_EXPRESSIONS_ONLY: [&str; 5] = [
    "askedAt",
    "freeAt",
    "noWebhooksMarked",
    "refundedMicro",
    "since",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Files of the repository below `dir` with one of these endings, by their path in it.
fn files(endings: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![root()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !["target", "node_modules", "vendor"].contains(&name.as_str())
                    && !name.starts_with(['.', '_'])
                {
                    dirs.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let inside = path.strip_prefix(root()).unwrap().display().to_string();
                found.insert(inside, fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(found.len() > 10, "{found:?}");
    found
}

fn sources() -> BTreeMap<String, String> {
    files(&[".rs"])
}

#[test]
fn retired_words_stand_nowhere() {
    let words: Vec<String> = RETIRED.map(|(begin, end)| format!("{begin}{end}")).to_vec();
    let any = words.join("|");
    // An identifier's parts count, too: `take_x`, `TakeX`, `XTaken`.
    let small = Regex::new(&format!("(^|[^A-Za-z])(?i:{any})([^a-z]|$)")).unwrap();
    let large: Vec<String> = words
        .iter()
        .map(|word| word[..1].to_uppercase() + &word[1..])
        .collect();
    let large = Regex::new(&format!("[a-z]({})([^a-z]|$)", large.join("|"))).unwrap();
    let text = files(&[".rs", ".md", ".yaml", ".toml", ".py", ".sh", ".mk"]);
    let found: Vec<String> = text
        .iter()
        .flat_map(|(path, text)| {
            text.lines()
                .enumerate()
                .map(move |(at, line)| (path, at, line))
        })
        .filter(|(.., line)| small.is_match(line) || large.is_match(line))
        .map(|(path, at, line)| format!("{path}:{}: {}", at + 1, line.trim()))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// The names that a source's fields have in an item.
fn attributes(source: &str) -> Vec<String> {
    let field = Regex::new(r"(?m)^    (?:pub(?:\(crate\))? )?([a-z0-9_]+): \w").unwrap();
    let renamed = Regex::new(r#"rename = "(\w+)""#).unwrap();
    let camel_case = |name: &str| {
        let mut words = name.split('_').map(str::to_owned);
        let first = words.next().unwrap_or_default();
        words.fold(first, |name, word| {
            name + &word[..1].to_uppercase() + &word[1..]
        })
    };
    let fields = field.captures_iter(source).map(|of| camel_case(&of[1]));
    let renamed = renamed.captures_iter(source).map(|of| of[1].to_owned());
    fields.chain(renamed).collect()
}

#[test]
fn an_attribute_that_a_change_names_is_a_field_of_an_item() {
    let sources = sources();
    let of = |of: &'static str| sources.iter().filter(move |(path, _)| path.starts_with(of));
    let mut known: BTreeSet<String> = ["shared/store/src", "shared/domain/src"]
        .into_iter()
        .flat_map(of)
        .flat_map(|(_, text)| attributes(text))
        .collect();
    known.extend(IN_EXPRESSIONS_ONLY.map(str::to_owned));
    let constant = Regex::new(r#"const ([A-Z_]+): &str = "(\w+)";"#).unwrap();
    let store: Vec<_> = of("shared/store/src").collect();
    let constants: BTreeMap<&str, &str> = store
        .iter()
        .flat_map(|(_, text)| constant.captures_iter(text))
        .map(|of| (of.get(1).unwrap().as_str(), of.get(2).unwrap().as_str()))
        .collect();
    let named = Regex::new(
        r#"\.(?:set\w*|add|remove|when\w*|compare\w*|at_most_or_missing)\(\s*(?:"(\w+)"|([A-Z_]+)\b)"#,
    )
    .unwrap();
    let mut used = BTreeSet::new();
    for (path, text) in &store {
        for call in named.captures_iter(text) {
            let name = match (call.get(1), call.get(2)) {
                (Some(name), _) => name.as_str(),
                (None, constant) => constants[constant.unwrap().as_str()],
            };
            assert!(known.contains(name), "{path}: no item has {name}");
            used.insert(name);
        }
    }
    assert!(used.len() > 100, "{used:?}");
}

#[test]
fn no_source_file_is_longer_than_its_limit() {
    let long: Vec<(String, usize)> = sources()
        .into_iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .collect();
    assert!(long.is_empty(), "more than {MAX_LINES} lines: {long:#?}");
}

#[test]
fn a_public_type_name_stands_once_in_a_shared_crate() {
    let public = Regex::new(r"(?m)^pub (?:struct|enum|trait|type) (\w+)").unwrap();
    let mut homes: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources() {
        let Some((krate, _)) = path.split_once("/src/") else {
            continue;
        };
        if krate.starts_with("shared/") && !path.contains("/bin/") {
            for name in public.captures_iter(&text) {
                let name = (krate.to_owned(), name[1].to_owned());
                homes.entry(name).or_default().insert(path.clone());
            }
        }
    }
    homes.retain(|_, homes| homes.len() > 1);
    assert!(homes.is_empty(), "{homes:#?}");
}

#[test]
fn no_type_is_named_by_a_participle_alone() {
    let word =
        Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|type) ([A-Z][a-z]+)\b").unwrap();
    let mut found = Vec::new();
    for (path, text) in sources() {
        for name in word.captures_iter(&text) {
            let name = &name[1];
            let is_participle = name.ends_with("ed") || IRREGULAR_PARTICIPLES.contains(&name);
            if is_participle && !NOUNS.contains(&name) {
                found.push(format!("{path}: {name}"));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Position in [`LAYERS`].
fn layer(name: &str) -> usize {
    let named = LAYERS.iter().position(|layer| layer.contains(&name));
    named.unwrap_or(
        LAYERS
            .iter()
            .position(|layer| layer[0].contains(' '))
            .unwrap(),
    )
}

#[test]
fn a_crate_stands_on_crates_of_lower_layers_only() {
    let named = Regex::new(r#"(?m)^name = "([\w-]+)""#).unwrap();
    let own = Regex::new(r"(?m)^(awo[\w-]*)\b.*(?:workspace|path)").unwrap();
    let mut upward = Vec::new();
    for (path, text) in files(&["Cargo.toml"]) {
        let is_product = ["shared/", "functions/", "infra/"]
            .iter()
            .any(|dir| path.starts_with(dir));
        let Some(name) = named.captures(&text).filter(|_| is_product) else {
            continue;
        };
        // What only tests stand on may be anything.
        let text = text.split("[dev-dependencies]").next().unwrap();
        for on in own.captures_iter(text) {
            if layer(&on[1]) >= layer(&name[1]) {
                upward.push(format!("{} stands on {}", &name[1], &on[1]));
            }
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}

/// The arms of each `match` in a source, with the line at which it begins.
fn matches(text: &str) -> Vec<(usize, &str)> {
    let head = Regex::new(r"\bmatch [^{};]*\{").unwrap();
    let body = |at: usize| {
        let mut depth = 1;
        let end = text[at..].find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        &text[at..at + end.unwrap_or(0)]
    };
    head.find_iter(text)
        .map(|found| (text[..found.start()].lines().count(), body(found.end())))
        .collect()
}

#[test]
fn a_new_agent_type_cannot_silently_get_the_settings_of_another() {
    let of_agents = Regex::new(r"(?m)^\s*\|?\s*\(?AgentType::\w+.*=>").unwrap();
    let wildcard = Regex::new(r"(?m)^\s*_ (?:if .*)?=>|^\s*\(_, ").unwrap();
    let hidden = Regex::new(r"(?:matches!\([^;]*?|if let |while let )AgentType::").unwrap();
    let mut found = Vec::new();
    let mut seen = 0;
    for (path, text) in sources() {
        for (line, body) in matches(&text) {
            if of_agents.is_match(body) {
                seen += 1;
                if wildcard.is_match(body) {
                    found.push(format!("{path}:{line}"));
                }
            }
        }
        let hidden = hidden.find_iter(&text);
        found.extend(hidden.map(|of| format!("{path}: {}", of.as_str())));
    }
    assert!(seen > 1, "no match over agent types was found");
    assert!(found.is_empty(), "matches with a wildcard: {found:#?}");
}

/// The product's tables of agent types: names and providers, and what drives each.
const TABLES_OF_AGENTS: [&str; 2] = [
    "shared/domain/src/agent.rs",
    "functions/runner/src/agent/drivers.rs",
];

#[test]
fn a_drivers_agent_type_is_named_in_the_tables_of_agents_only() {
    let named = Regex::new(r"\bAgentType::(\w+)").unwrap();
    let drivers: Vec<String> = AgentType::ALL
        .iter()
        .filter(|kind| is_driver(**kind))
        .map(|kind| format!("{kind:?}"))
        .collect();
    assert!(!drivers.is_empty());
    let mut homes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources() {
        let is_product = ["shared/", "functions/", "infra/"]
            .iter()
            .any(|dir| path.starts_with(dir));
        let is_test = ["tests.rs", "recorded.rs"]
            .iter()
            .any(|name| path.ends_with(name));
        if !is_product || is_test || path.contains("/tests/") {
            continue;
        }
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for name in named.captures_iter(text) {
            homes
                .entry(path.clone())
                .or_default()
                .insert(name[1].to_owned());
        }
    }
    for (path, names) in homes {
        let of_drivers = |name: &&String| drivers.contains(name);
        let known = names.iter().filter(of_drivers).count();
        if TABLES_OF_AGENTS.contains(&path.as_str()) {
            assert_eq!(known, drivers.len(), "{path} lacks a driver: {names:?}")
        } else {
            assert_eq!(known, 0, "{path} names a driver: {names:?}")
        }
    }
}

/// False for a command or a file of the work order or its repository.
fn is_driver(kind: AgentType) -> bool {
    ![AgentType::Command, AgentType::Patch].contains(&kind)
}

#[test]
fn each_line_of_the_log_has_a_code_of_its_event() {
    let line = Regex::new(r"tracing::(?:error|warn|info)!\(\s*(\w+)").unwrap();
    let product = |path: &str| path.starts_with("shared/") || path.starts_with("functions/");
    let mut seen = 0;
    for (path, text) in sources().iter().filter(|(path, _)| product(path)) {
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for found in line.captures_iter(text) {
            seen += 1;
            assert_eq!(&found[1], "event", "{path}: {}", &found[0]);
        }
    }
    assert!(seen > 50, "{seen} lines");
}
