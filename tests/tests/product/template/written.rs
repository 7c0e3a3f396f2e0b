//! The functions of the template, written from the route table, the variables that each function
//! reads when it starts, and what people maintain in `infra/sam/functions.yaml`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use awo_http::routes::{FALLBACK, ROUTES, Route};
use awo_local::functions::{Program, programs};

use super::root;
use super::variables::{Kind, Variable, environment, variables};

/// If it is set, template and programs are written rather than compared.
pub const WRITE: &str = "AWO_WRITE_TEMPLATE";
pub const HAND_KEPT: &str = "infra/sam/functions.yaml";
/// Paths of no route: those of the fallback alone.
const OTHER_PATHS: [&str; 2] = ["/", "/{proxy+}"];
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

    /// Function, or its alias if an update shifts traffic to it, in the words of `!Sub`.
    fn target(&self) -> String {
        let alias = self.property("AutoPublishAlias");
        let qualifier = alias.map_or(String::new(), |alias| format!(":{alias}"));
        format!("${{{}.Arn}}{qualifier}", camel(self.name))
    }

    fn kind(&self) -> Kind {
        let is_reserved = self.property("ReservedConcurrentExecutions").is_some();
        match self.property("AutoPublishAlias") {
            None => Kind::Latest,
            Some(_) if is_reserved => Kind::PublishedAndReserved,
            Some(_) => Kind::Published,
        }
    }

    /// Longest duration of its responses in seconds, if they stream.
    fn stream_seconds(&self, route: &Route) -> Option<u32> {
        let seconds = self
            .property("Timeout")
            .map(|text| text.parse().expect("seconds"));
        match seconds {
            None if !route.streams => None,
            Some(seconds) if route.streams && STREAM_SECONDS.contains(&seconds) => Some(seconds),
            _ => panic!(
                "{}: streaming routes have a Timeout, others have none",
                self.name
            ),
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

/// A method of a path in the API's definition, and the function that it calls.
fn method(name: &str, entry: &Entry<'_>, stream_seconds: Option<u32>) -> String {
    let (version, invocations, more) = match stream_seconds {
        None => ("2015-03-31", "invocations", String::new()),
        Some(seconds) => (
            "2021-11-15",
            "response-streaming-invocations",
            format!(", responseTransferMode: STREAM, timeoutInMillis: {seconds}000"),
        ),
    };
    let target = entry.target();
    format!(
        "            {name}: {{responses: {{}}, x-amazon-apigateway-integration: {{type: aws_proxy, httpMethod: POST, \
         credentials: !GetAtt ApiRole.Arn, uri: !Sub 'arn:${{AWS::Partition}}:apigateway:${{AWS::Region}}:lambda:path/\
         {version}/functions/{target}/{invocations}'{more}}}}}\n"
    )
}

/// Paths of the API's definition. The fallback answers the other methods of every path, and every other path.
fn paths(entries: &[Entry<'_>]) -> String {
    let entry = |name| {
        let named = entries.iter().find(|entry| entry.name == name);
        named.expect("a function")
    };
    let (mut text, mut done) = (String::new(), BTreeSet::new());
    for path in ROUTES.iter().map(|route| route.path).chain(OTHER_PATHS) {
        if !done.insert(path) {
            continue;
        }
        writeln!(text, "          {}:", quoted(path)).expect("text");
        for route in ROUTES.iter().filter(|route| route.path == path) {
            let entry = entry(route.function);
            for name in route.methods() {
                text += &method(&name.to_lowercase(), entry, entry.stream_seconds(route));
            }
        }
        text += &method("x-amazon-apigateway-any-method", entry(FALLBACK), None);
    }
    text
}

fn function(entry: &Entry<'_>, program: &Program, variables: &[Variable<'_>]) -> String {
    let (has_globals, environment) = environment(program, variables, entry.kind());
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
        entry.name,
    )
    .expect("text");
    let properties = entry
        .properties
        .iter()
        .filter(|line| !line.starts_with("    Throttle:"));
    for line in properties {
        writeln!(text, "  {line}").expect("text");
    }
    text
}

/// The limits of the routes that have no key by which to limit.
fn throttling(entries: &[Entry<'_>]) -> String {
    let mut text = String::new();
    for entry in entries {
        for route in entry.routes() {
            let limits = entry.property("Throttle");
            assert_ne!(
                route.is_keyed(),
                limits.is_some(),
                "{}: Throttle",
                entry.name
            );
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
    let known: BTreeSet<&str> = programs.iter().map(|of| of.name).collect();
    let stored: BTreeSet<&str> = entries.iter().map(|of| of.name).collect();
    assert_eq!(stored, known, "{HAND_KEPT} has every function and no other");
    let functions = entries.iter().map(|entry| {
        let mut programs = programs.iter();
        let program = programs.find(|of| of.name == entry.name);
        function(entry, program.expect("a program"), &variables)
    });
    let functions = functions.collect::<Vec<_>>().join("\n");
    for of in variables.iter().filter(|of| !of.is_global) {
        let line = format!("{}: {}", of.name, of.value);
        assert!(functions.contains(&line), "nothing reads {}", of.name);
    }
    let written = with_section(&template, "throttling", &throttling(&entries));
    let written = with_section(&written, "paths", &paths(&entries));
    let written = with_section(&written, "functions", &functions);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path, &written).expect("the template");
    } else {
        assert!(
            template == written,
            "template.yaml is not what the route table, the code and {HAND_KEPT} say: run `make template`"
        );
    }
}
