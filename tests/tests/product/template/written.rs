//! The functions of the template, written from the route table, the variables that each function
//! reads when it starts, and what people maintain in `infra/sam/functions.yaml`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use awo_http::routes::{Access, FALLBACK, ROUTES, Route};
use awo_local::functions::{Program, programs};

use super::root;
use super::variables::{Variable, environment, variables};

/// If it is set, template and programs are written rather than compared.
pub const WRITE: &str = "AWO_WRITE_TEMPLATE";
pub const HAND_KEPT: &str = "infra/sam/functions.yaml";
/// The fallback's second function: Lambda limits the permissions of one, of which each path needs
/// one.
const SECOND_FALLBACK: &str = "fallback-of-envelope";
/// Beginnings of the paths that the second one has. Another one moves its paths there.
const SECOND_PATHS: [&str; 3] = ["/api/", "/v1/exports/", "/v1/usage/"];
/// How long a streamed response may take, in seconds: more than another one, and API Gateway's limit.
const STREAM_SECONDS: std::ops::RangeInclusive<u32> = 30..=900;

/// What people maintain about a function.
#[derive(Default)]
struct Entry<'a> {
    name: &'a str,
    comments: Vec<&'a str>,
    properties: Vec<&'a str>,
}

impl<'a> Entry<'a> {
    /// The value of a property of one line.
    fn property(&self, name: &str) -> Option<&'a str> {
        let named = |line: &&'a str| line.trim_start().strip_prefix(name)?.strip_prefix(": ");
        self.properties.iter().find_map(named)
    }

    fn program(&self) -> &'a str {
        match self.name {
            SECOND_FALLBACK => FALLBACK,
            name => name,
        }
    }

    fn routes(&self) -> Vec<&'static Route> {
        ROUTES.iter().filter(|r| r.function == self.name).collect()
    }
}

fn entries(hand_kept: &str) -> Vec<Entry<'_>> {
    let (mut entries, mut comments): (Vec<Entry<'_>>, _) = (Vec::new(), Vec::new());
    let (_, functions) = hand_kept.split_once("\nfunctions:\n").expect("functions");
    for line in functions.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("  ").expect("an indented line") {
            comment if comment.starts_with('#') => comments.push(line),
            name if !name.starts_with(' ') => entries.push(Entry {
                name: name.strip_suffix(':').expect("a function's name"),
                comments: std::mem::take(&mut comments),
                properties: Vec::new(),
            }),
            _ => entries.last_mut().expect("a name").properties.push(line),
        }
    }
    entries
}

/// `get-run` as `GetRun`.
fn camel(name: &str) -> String {
    let words = name.split('-').filter(|word| !word.is_empty());
    words
        .map(|word| word[..1].to_uppercase() + &word[1..])
        .collect()
}

fn quoted(path: &str) -> String {
    if path.contains('{') {
        format!("'{path}'")
    } else {
        path.to_owned()
    }
}

fn event(name: &str, path: &str, method: &str, more: &str) -> String {
    let path = quoted(path);
    format!(
        "        {name}: {{Type: Api, Properties: {{RestApiId: !Ref Api, Path: {path}, Method: {method}{more}}}}}\n"
    )
}

/// The events of a function's own routes. A name is part of a permission's name in the stack.
fn own_events(entry: &Entry<'_>) -> String {
    let mut events = String::new();
    for route in entry.routes() {
        let seconds = entry
            .property("Timeout")
            .map(|text| text.parse().expect("seconds"));
        let more = match seconds {
            None if !route.streams => String::new(),
            Some(seconds) if route.streams && STREAM_SECONDS.contains(&seconds) => {
                format!(", ResponseTransferMode: RESPONSE_STREAM, TimeoutInMillis: {seconds}000")
            }
            _ => panic!(
                "{}: streaming routes have a Timeout, others have none",
                entry.name
            ),
        };
        for method in route.methods() {
            let word = method[..1].to_owned() + &method[1..].to_lowercase();
            let name = match route.name.strip_prefix(route.function) {
                Some(part) => word + &camel(part),
                None => camel(route.name),
            };
            events += &event(&name, route.path, method, &more);
        }
    }
    events
}

/// The fallback's events: the other methods of every path, and every other path.
fn fallback_events(entry: &Entry<'_>) -> String {
    let is_second = entry.name == SECOND_FALLBACK;
    let is_its = |path: &str| SECOND_PATHS.iter().any(|of| path.starts_with(of)) == is_second;
    let (mut events, mut done) = (String::new(), BTreeSet::new());
    for route in ROUTES.iter().filter(|route| is_its(route.path)) {
        if done.insert(route.path) {
            let mut same = ROUTES.iter().filter(|of| of.path == route.path);
            let named = same.find(|of| of.method == "GET").unwrap_or(route).name;
            let name = ["get-", "list-"]
                .iter()
                .find_map(|verb| named.strip_prefix(verb));
            events += &event(&camel(name.unwrap_or(named)), route.path, "ANY", "");
        }
    }
    if !is_second {
        events += &event("Root", "/", "ANY", "");
        events += &event("Else", "/{proxy+}", "ANY", "");
    }
    events
}

fn function(entry: &Entry<'_>, program: &Program, variables: &[Variable<'_>]) -> String {
    let (has_globals, environment) = environment(program, variables);
    let mut text = String::new();
    for comment in &entry.comments {
        writeln!(text, "{comment}").expect("text");
    }
    let ignored = if has_globals {
        ""
    } else {
        "    IgnoreGlobals: [Environment]\n"
    };
    write!(
        text,
        "  {}:\n    Type: AWS::Serverless::Function\n{ignored}    \
         Metadata: {{BuildMethod: makefile, ProjectRootDirectory: infra/sam}}\n    Properties:\n      \
         FunctionName: !Sub ${{AWS::StackName}}-{}\n      CodeUri: target/lambda/{}/\n{environment}",
        camel(entry.name),
        entry.name,
        entry.program(),
    )
    .expect("text");
    let properties = entry
        .properties
        .iter()
        .filter(|line| !line.starts_with("    Throttle:"));
    for line in properties {
        writeln!(text, "  {line}").expect("text");
    }
    let events = match entry.program() {
        FALLBACK => fallback_events(entry),
        _ => own_events(entry),
    };
    if !events.is_empty() {
        write!(text, "      Events:\n{events}").expect("text");
    }
    text
}

/// The limits of the routes that have no key by which to limit.
fn throttling(entries: &[Entry<'_>]) -> String {
    let mut text = String::new();
    for entry in entries {
        for route in entry.routes() {
            let limits = entry.property("Throttle");
            let is_keyed = matches!(route.access, Access::Key(_));
            assert_ne!(is_keyed, limits.is_some(), "{}: Throttle", entry.name);
            let Some(limits) = limits else { continue };
            let limits = limits.trim_matches(['[', ']']).split_once(", ");
            let (rate, burst) = limits.expect("rate and burst");
            let path = quoted(&format!("/{}", route.path.replace('/', "~1")));
            for method in route.methods() {
                writeln!(
                    text,
                    "        - {{ResourcePath: {path}, HttpMethod: {method}, \
                     ThrottlingRateLimit: {rate}, ThrottlingBurstLimit: {burst}}}"
                )
                .expect("text");
            }
        }
    }
    text
}

/// The template with this between the comments that begin and end a section.
fn with_section(template: &str, name: &str, text: &str) -> String {
    let (before, rest) = template
        .split_once(&format!("# <{name}>"))
        .expect("its begin");
    let (old, after) = rest.split_once(&format!("# </{name}>")).expect("its end");
    let comment = old.split_inclusive('\n').next().expect("a line");
    let indent = before.rsplit('\n').next().expect("an indent");
    format!("{before}# <{name}>{comment}{text}{indent}# </{name}>{after}")
}

#[tokio::test]
async fn the_functions_are_what_the_route_table_their_code_and_their_grants_say() {
    let (path, hand_kept) = (root().join("template.yaml"), root().join(HAND_KEPT));
    let template = std::fs::read_to_string(&path).expect("the template");
    let hand_kept = std::fs::read_to_string(hand_kept).expect(HAND_KEPT);
    let (entries, variables) = (entries(&hand_kept), variables(&template, &hand_kept));
    let programs: Vec<Program> = programs().collect();
    let known: BTreeSet<&str> = programs
        .iter()
        .map(|of| of.name)
        .chain([SECOND_FALLBACK])
        .collect();
    let stored: BTreeSet<&str> = entries.iter().map(|of| of.name).collect();
    assert_eq!(stored, known, "{HAND_KEPT} has every function and no other");
    let functions = entries.iter().map(|entry| {
        let mut programs = programs.iter();
        let program = programs.find(|of| of.name == entry.program());
        function(entry, program.expect("a program"), &variables)
    });
    let functions = functions.collect::<Vec<_>>().join("\n");
    for of in variables.iter().filter(|of| !of.is_global) {
        let line = format!("{}: {}", of.name, of.value);
        assert!(functions.contains(&line), "nothing reads {}", of.name);
    }
    let wanted = with_section(&template, "throttling", &throttling(&entries));
    let wanted = with_section(&wanted, "functions", &functions);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path, &wanted).expect("the template");
    } else {
        assert!(
            template == wanted,
            "template.yaml is not what the route table, the code and {HAND_KEPT} say: run `make template`"
        );
    }
}
