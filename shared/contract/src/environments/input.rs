//! The body of an environment, read field by field; rules across fields are the domain's.

use std::collections::BTreeMap;

use awo_domain::Fault;
use awo_domain::environment::{
    Egress, EnvironmentContent, EnvironmentName, EnvironmentRegistry, EnvironmentSecret,
    EnvironmentService, MAX_CACHES, MAX_COMMAND, MAX_DESCRIPTION, MAX_HOSTS, MAX_IMAGE, MAX_NAME,
    MAX_PATH, MAX_REGISTRIES, MAX_SCOPES, MAX_SECRETS, MAX_SERVICES, MAX_STEP_NAME, MAX_STEPS,
    MAX_URL, MAX_VALUE, MAX_VARIABLES, PhaseHosts, RegistryKind, SECRET_BYTES, STEP_MS,
    SecretPhase, SetupStep, Size, check_cache, check_host, check_image, check_name, check_ready,
    check_registry_name, check_scope, check_secret_value, check_service_image, check_service_name,
};
use awo_domain::profile::partial::check_line;
use serde_json::{Value as Json, json};

use crate::body::Value;
use crate::field::{Field, flag, list, map, one_of, parsed, pattern, small, text, typed, whole};
use crate::record::{Component, Members, Record};
use crate::schema::{Schemas, input};

/// Ports of services.
const PORTS: std::ops::RangeInclusive<u64> = 1..=65_535;
/// Longest name of a host, in characters.
const MAX_HOST: usize = 253;
/// Form of the names of variables and secrets.
pub(crate) const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]{0,127}$";
/// Form of the names of registries.
const REGISTRY_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
/// Form of scopes of npm.
const SCOPE: &str = "^@[a-z0-9~-][a-z0-9._~-]*$";

/// The body of a create.
#[derive(Debug)]
pub struct NewEnvironment;

impl Record for NewEnvironment {
    type Output = (EnvironmentName, EnvironmentContent);

    fn members<M: Members>(&self, members: &mut M) -> Option<Self::Output> {
        let name = members.required(
            "name",
            typed::<EnvironmentName, _, _>(EnvironmentName::parse).described("Its name."),
        );
        let content = content(members);
        Some((name?, content))
    }
}

/// The body with a secret's value.
#[derive(Debug)]
pub struct NewSecretValue;

impl Record for NewSecretValue {
    type Output = String;

    fn members<M: Members>(&self, members: &mut M) -> Option<String> {
        let value = parsed(text(SECRET_BYTES), |value| {
            check_secret_value(value).map(|()| value.to_owned())
        });
        members.required(
            "value",
            value.described("The value, of at most 32768 bytes and without NUL. One of fewer than 8 bytes is not masked in outputs."),
        )
    }
}

/// The body of a replacement, which may repeat the name but not change it.
#[derive(Debug)]
pub struct EnvironmentReplacement<'a> {
    /// The name; `None` in the document.
    pub name: Option<&'a EnvironmentName>,
}

impl Record for EnvironmentReplacement<'_> {
    type Output = EnvironmentContent;

    fn members<M: Members>(&self, members: &mut M) -> Option<EnvironmentContent> {
        let same = |text: &str| match self.name {
            Some(name) if name.as_str() != text => {
                Err(format!("must be {name}: an environment cannot be renamed"))
            }
            _ => Ok(()),
        };
        members.optional(
            "name",
            typed::<EnvironmentName, _, _>(same).described("Its name."),
        );
        ignored_time(members, "createdAt");
        ignored_time(members, "updatedAt");
        Some(content(members))
    }
}

/// Member of a response that a replacement may repeat.
fn ignored_time<M: Members>(members: &mut M, name: &'static str) {
    let time = text(0..=MAX_NAME);
    members.optional(
        name,
        time.described("Ignored: a replacement may repeat what a response has."),
    );
}

fn content<M: Members>(members: &mut M) -> EnvironmentContent {
    EnvironmentContent {
        extends: members.optional(
            "extends",
            typed::<EnvironmentName, _, _>(EnvironmentName::parse).described(
                "An environment of yours that this one inherits from, and which extends none itself: lists add, names override, and the values of its secrets are its own.",
            ),
        ),
        description: members
            .optional(
                "description",
                text(0..=MAX_DESCRIPTION).described("A description for people."),
            )
            .unwrap_or_default(),
        variables: variables(members),
        secrets: members
            .optional(
                "secrets",
                list(Secret, 0..=MAX_SECRETS)
                    .described("Secrets by their names, and the phases that get them."),
            )
            .unwrap_or_default(),
        setup: members
            .optional(
                "setup",
                list(Step, 0..=MAX_STEPS).described(
                    "Commands before the agent and before each verification, in this order.",
                ),
            )
            .unwrap_or_default(),
        caches: members
            .optional(
                "caches",
                list(parsed(text(1..=MAX_PATH), check_cache), 0..=MAX_CACHES)
                    .described("Folders that are cached between runs, by lock files."),
            )
            .unwrap_or_default(),
        registries: members
            .optional(
                "registries",
                list(Registry, 0..=MAX_REGISTRIES)
                    .described("Registries that require a credential."),
            )
            .unwrap_or_default(),
        image: members.optional(
            "image",
            parsed(text(1..=MAX_IMAGE), check_image).described(
                "The image of the task, built on the runner's base and pinned by its digest; only in the cloud.",
            ),
        ),
        size: members.optional(
            "size",
            typed::<Size, _, _>(|name| one_of(name, Size::ALL, Size::as_str))
                .described("The size of the task."),
        ),
        services: services(members),
        egress: members
            .optional(
                "egress",
                EgressField.described(
                    "The hosts that commands may connect to, each by its name or as `*.` and a name: a list for all phases, or one for each phase that is limited. All hosts if there are none. Not with services.",
                ),
            )
            .unwrap_or_default(),
    }
}

/// The member `services`.
fn services<M: Members>(members: &mut M) -> Vec<EnvironmentService> {
    let services = list(Service, 0..=MAX_SERVICES).described(
        "Containers beside the runner's, on its loopback; only in the cloud, and not with caches.",
    );
    members.optional("services", services).unwrap_or_default()
}

/// A list of hosts for all phases, or one for each phase that is limited.
struct EgressField;

impl Field for EgressField {
    type Output = Egress;

    fn read(&self, value: Value) -> Option<Egress> {
        if value.is_object() {
            PhaseLists.read(value)
        } else {
            hosts(0).read(value).map(Egress::All)
        }
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        let either = json!({ "oneOf": [hosts(0).schema(schemas), PhaseLists.schema(schemas)] });
        let description =
            "Hosts that commands may connect to: a list for all phases, or one for each phase.";
        input("EgressInput", description, either)
    }
}

fn hosts(least: usize) -> impl Field<Output = Vec<String>> {
    list(parsed(text(1..=MAX_HOST), check_host), least..=MAX_HOSTS)
}

struct PhaseLists;

impl Record for PhaseLists {
    const COMPONENT: Option<Component> = Some(Component {
        name: "EgressByPhaseInput",
        description: "Hosts by phase; a phase that is absent is not limited.",
    });
    type Output = Egress;

    fn members<M: Members>(&self, members: &mut M) -> Option<Egress> {
        // An empty list of a phase could mean all hosts or none.
        let setup = hosts(1).described("For hooks, installations and the setup.");
        let agent = hosts(1).described("For the agent and the models that it calls.");
        let verify = hosts(1).described("For the commands of a verification.");
        Some(Egress::ByPhase(PhaseHosts {
            setup: members.optional("setup", setup),
            agent: members.optional("agent", agent),
            verify: members.optional("verify", verify),
        }))
    }
}

/// The member `variables`: names of a shell with texts.
fn variables<M: Members>(members: &mut M) -> BTreeMap<String, String> {
    let variables = map(text(0..=MAX_VALUE), MAX_VARIABLES, 1..=MAX_NAME)
        .described("Environment variables by their names.");
    let read = members.optional("variables", variables).unwrap_or_default();
    let faults = read.iter().filter_map(|(name, _)| {
        let why = check_name(name).err()?;
        let name = name.replace('~', "~0").replace('/', "~1");
        Some(Fault {
            path: format!("/variables/{name}"),
            message: format!("has a name that {why}"),
        })
    });
    members.faults(faults);
    read.into_iter().collect()
}

struct Secret;

impl Record for Secret {
    const COMPONENT: Option<Component> = Some(Component {
        name: "EnvironmentSecretInput",
        description: "A secret by its name.",
    });
    type Output = EnvironmentSecret;

    fn members<M: Members>(&self, members: &mut M) -> Option<EnvironmentSecret> {
        let name = members.required(
            "name",
            pattern(VARIABLE, check_name).described("Its name, and that of its variable."),
        );
        let phase =
            typed::<SecretPhase, _, _>(|name| one_of(name, SecretPhase::ALL, SecretPhase::as_str));
        let phases = members.required(
            "phases",
            list(phase, 1..=SecretPhase::ALL.len()).described("When it exists."),
        );
        members.optional(
            "set",
            flag().described("Ignored: a replacement may repeat what a response has."),
        );
        ignored_time(members, "updatedAt");
        name.zip(phases)
            .map(|(name, phases)| EnvironmentSecret { name, phases })
    }
}

struct Step;

impl Record for Step {
    const COMPONENT: Option<Component> = Some(Component {
        name: "SetupStepInput",
        description: "A command of the setup.",
    });
    type Output = SetupStep;

    fn members<M: Members>(&self, members: &mut M) -> Option<SetupStep> {
        let name = members.required(
            "name",
            parsed(text(1..=MAX_STEP_NAME), |text| {
                check_line(text, MAX_STEP_NAME)
            })
            .described("Its name."),
        );
        let run = members.required(
            "run",
            text(1..=MAX_COMMAND).described("Runs with `sh -c` in the checkout."),
        );
        let timeout_ms = members.optional(
            "timeoutMs",
            whole(STEP_MS).described("Its timeout, in milliseconds."),
        );
        name.zip(run).map(|(name, run)| SetupStep {
            name,
            run,
            timeout_ms,
        })
    }
}

struct Registry;

impl Record for Registry {
    const COMPONENT: Option<Component> = Some(Component {
        name: "EnvironmentRegistryInput",
        description: "A registry that requires a credential.",
    });
    type Output = EnvironmentRegistry;

    fn members<M: Members>(&self, members: &mut M) -> Option<EnvironmentRegistry> {
        let kind = members.required(
            "kind",
            typed::<RegistryKind, _, _>(|name| {
                one_of(name, RegistryKind::ALL, RegistryKind::as_str)
            })
            .described("Its packages."),
        );
        let url = members.required(
            "url",
            text(1..=MAX_URL).described("https, without user, query or fragment."),
        );
        let secret = members.required(
            "secret",
            pattern(VARIABLE, check_name)
                .described("The secret with its credential: a token, or `user:password`."),
        );
        let name = members.optional(
            "name",
            pattern(REGISTRY_NAME, check_registry_name).described(
                "Name of one of several registries of a kind, beside the package manager's own.",
            ),
        );
        let scopes = members.optional(
            "scopes",
            list(pattern(SCOPE, check_scope), 0..=MAX_SCOPES)
                .described("Scopes of npm whose packages are there."),
        );
        let default = members.optional(
            "default",
            flag().described("True for one with a name or scopes that replaces the package manager's own registry, too."),
        );
        kind.zip(url)
            .zip(secret)
            .map(|((kind, url), secret)| EnvironmentRegistry {
                kind,
                url,
                secret,
                name,
                scopes: scopes.unwrap_or_default(),
                default: default.unwrap_or_default(),
            })
    }
}

struct Service;

impl Record for Service {
    const COMPONENT: Option<Component> = Some(Component {
        name: "EnvironmentServiceInput",
        description: "A container beside the runner's.",
    });
    type Output = EnvironmentService;

    fn members<M: Members>(&self, members: &mut M) -> Option<EnvironmentService> {
        let name = members.required(
            "name",
            pattern("^[a-z0-9-]{1,63}$", check_service_name).described("Its name."),
        );
        let image = members.required(
            "image",
            parsed(text(1..=MAX_IMAGE), check_service_image).described("With a tag or a digest."),
        );
        let port = members.required(
            "port",
            small(PORTS).described("The port that it listens on."),
        );
        let variables = variables(members);
        let ready = members.optional(
            "ready",
            parsed(text(1..=MAX_COMMAND), check_ready)
                .described("Runs with `sh -c` in the container. The run begins once it succeeds."),
        );
        name.zip(image)
            .zip(port)
            .map(|((name, image), port)| EnvironmentService {
                name,
                image,
                port,
                variables,
                ready,
            })
    }
}
