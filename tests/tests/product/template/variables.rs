//! The variables of the template's functions: those that a function reads when it starts, with the
//! values that the template's globals and `infra/sam/functions.yaml` give them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use awo_cloud::{Cloud, Environment, http_client, telemetry};
use awo_local::function::Registry;
use awo_local::functions::Program;

use super::ONE_MACHINE;
use super::written::HAND_KEPT;

/// Longest line of variables; more of them get a line each.
const MAX_LINE: usize = 120;

/// A variable with its value in the template.
pub struct Variable<'a> {
    pub name: &'a str,
    pub value: &'a str,
    /// True if it is among the template's globals.
    pub is_global: bool,
}

/// Every variable.
pub fn variables<'a>(template: &'a str, hand_kept: &'a str) -> Vec<Variable<'a>> {
    let of = |text: &'a str, is_global| {
        let lines = text
            .lines()
            .filter(|line| line.trim_start().starts_with("AWO_"));
        lines.map(move |line| {
            let (name, value) = line.trim_start().split_once(": ").expect("a value");
            Variable {
                name,
                value,
                is_global,
            }
        })
    };
    let (globals, _) = template.split_once("\nResources:\n").expect("resources");
    let (own, _) = hand_kept.split_once("\nfunctions:\n").expect("functions");
    of(globals, true).chain(of(own, false)).collect()
}

/// A value that reads.
fn sample(name: &str) -> Option<String> {
    let value = match name {
        "AWO_DEFAULT_AGENT" => "command",
        "AWO_CORS_ORIGINS" => "https://app.example.com",
        "AWO_PRIVATE_HOSTS" => "registry.corp.example",
        // Empty without a layer; a name is a file that has to be there.
        "AWO_PRICES_FILE" => return None,
        "AWS_REGION" | "AWO_BEDROCK_REGION" => "us-east-1",
        "AWO_BEDROCK_INFERENCE_PROFILES" => "model=profile",
        "AWO_ANTHROPIC_BASE_URL" | "AWO_OPENAI_BASE_URL" => "https://gateway.example.com",
        _ => "1",
    };
    Some(value.to_owned())
}

/// The variables that a function reads when it starts, of those that the cloud sets. Nothing reads
/// later: handlers have no environment.
fn read(program: &Program) -> BTreeSet<String> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&seen);
    let environment = Environment::new(move |name| {
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.insert(name.to_owned());
        let is_cloud = name == "AWS_REGION" || is_of_template(name);
        is_cloud.then(|| sample(name)).flatten()
    });
    let cloud = Cloud::new(environment, http_client());
    let registered = program.register(&Registry::new(), &cloud);
    registered.unwrap_or_else(|why| panic!("{}: {why}", program.name));
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    seen.retain(|name| is_of_template(name));
    // Every program begins with its log.
    seen.insert(telemetry::LEVELS.to_owned());
    seen
}

fn is_of_template(name: &str) -> bool {
    name.starts_with("AWO_") && !ONE_MACHINE.contains(&name)
}

/// Variable that no code reads. It makes a reservation part of what Lambda publishes as a version.
pub const RESERVED: &str = "AWO_RESERVED_CONCURRENCY";

/// Kind of a function, as far as its variables depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Latest code and properties.
    Latest,
    /// A published version is called. SAM does not see parameters among the globals when it names one.
    Published,
    /// As `Published`, with reserved concurrency. SAM names a version by that, too, and Lambda does not publish it.
    PublishedAndReserved,
}

/// Whether a function has the globals' environment, and its own as a property.
pub fn environment(program: &Program, variables: &[Variable<'_>], kind: Kind) -> (bool, String) {
    let mut read = read(program);
    if kind == Kind::PublishedAndReserved {
        read.insert(RESERVED.to_owned());
    }
    let known = |name: &&String| !variables.iter().any(|of| of.name == name.as_str());
    let unknown: Vec<&String> = read.iter().filter(known).collect();
    assert!(
        unknown.is_empty(),
        "{}: {HAND_KEPT} has no value for {unknown:?}",
        program.name
    );
    let is_read = |of: &&Variable<'_>| read.contains(of.name);
    let mut globals = variables.iter().filter(|of| of.is_global);
    let has_globals = kind == Kind::Latest && globals.all(|of| is_read(&of));
    let own = variables
        .iter()
        .filter(is_read)
        .filter(|of| !(of.is_global && has_globals));
    let own: Vec<String> = own.map(|of| format!("{}: {}", of.name, of.value)).collect();
    let line = format!("      Environment: {{Variables: {{{}}}}}\n", own.join(", "));
    let text = match own.as_slice() {
        [] => String::new(),
        _ if line.trim_end().len() <= MAX_LINE => line,
        own => format!(
            "      Environment:\n        Variables:\n          {}\n",
            own.join("\n          ")
        ),
    };
    (has_globals, text)
}
