//! The body of an environment, read and checked field by field, and then as a whole.

use std::collections::BTreeMap;

use awo_domain::environment::{
    Deployment, EnvironmentContent, EnvironmentName, EnvironmentRegistry, EnvironmentSecret,
    EnvironmentService, MAX_CACHES, MAX_COMMAND, MAX_DESCRIPTION, MAX_HOSTS, MAX_NAME,
    MAX_REGISTRIES, MAX_SECRETS, MAX_SERVICES, MAX_STEP_NAME, MAX_STEPS, MAX_URL, MAX_VALUE,
    MAX_VARIABLES, RegistryKind, STEP_MS, SecretPhase, SetupStep, Size, check_cache, check_host,
    check_image, check_name, check_ready, check_service_image, check_service_name,
};
use awo_domain::profile::partial::check_line;
use awo_domain::{Error, Fault};
use awo_http::body::{Object, Value};

/// Ports of services.
const PORTS: std::ops::RangeInclusive<u64> = 1..=65_535;

/// Reads the body of a create.
pub fn read_new(
    mut body: Object,
    deployment: &Deployment,
) -> Result<(EnvironmentName, EnvironmentContent), Error> {
    let name = body.required("name", |v| v.parsed(EnvironmentName::parse));
    let content = content(&mut body);
    let (name, content) = body.finish(name.map(|name| (name, content)))?;
    Ok((name, checked(content, deployment)?))
}

/// Reads the body of a replacement, which may repeat the name but not change it.
pub fn read_replacement(
    mut body: Object,
    name: &EnvironmentName,
    deployment: &Deployment,
) -> Result<EnvironmentContent, Error> {
    let same = |text: &str| {
        if text == name.as_str() {
            Ok(())
        } else {
            Err(format!("must be {name}: an environment cannot be renamed"))
        }
    };
    body.optional("name", |v| v.parsed(same));
    let content = content(&mut body);
    checked(body.finish(Some(content))?, deployment)
}

fn checked(
    content: EnvironmentContent,
    deployment: &Deployment,
) -> Result<EnvironmentContent, Error> {
    let faults = content.faults(deployment);
    if faults.is_empty() {
        Ok(content)
    } else {
        Err(Error::Invalid(faults))
    }
}

fn content(body: &mut Object) -> EnvironmentContent {
    let description = body.optional("description", |v| v.text(0..=MAX_DESCRIPTION));
    let secrets = body.optional("secrets", |v| v.list(0..=MAX_SECRETS, secret));
    let setup = body.optional("setup", |v| v.list(0..=MAX_STEPS, step));
    let caches = body.optional("caches", |v| {
        v.list(0..=MAX_CACHES, |v| v.parsed(check_cache))
    });
    let registries = body.optional("registries", |v| v.list(0..=MAX_REGISTRIES, registry));
    let services = body.optional("services", |v| v.list(0..=MAX_SERVICES, service));
    let egress = body.optional("egress", |v| {
        v.list(0..=MAX_HOSTS, |v| v.parsed(check_host))
    });
    EnvironmentContent {
        description: description.unwrap_or_default(),
        variables: variables(body),
        secrets: secrets.unwrap_or_default(),
        setup: setup.unwrap_or_default(),
        caches: caches.unwrap_or_default(),
        registries: registries.unwrap_or_default(),
        image: body.optional("image", |v| v.parsed(check_image)),
        size: body.optional("size", |v| {
            v.parsed(|name| one_of(name, &Size::ALL, Size::as_str))
        }),
        services: services.unwrap_or_default(),
        egress: egress.unwrap_or_default(),
    }
}

/// The member `variables`: names of a shell with texts.
fn variables(body: &mut Object) -> BTreeMap<String, String> {
    let read = body.optional("variables", |v| {
        v.map(MAX_VARIABLES, 1..=MAX_NAME, |v| v.text(0..=MAX_VALUE))
    });
    let read = read.unwrap_or_default();
    let faults = read.iter().filter_map(|(name, _)| {
        let why = check_name(name).err()?;
        let name = name.replace('~', "~0").replace('/', "~1");
        Some(Fault {
            path: format!("/variables/{name}"),
            message: format!("has a name that {why}"),
        })
    });
    body.faults(faults);
    read.into_iter().collect()
}

fn secret(value: Value) -> Option<EnvironmentSecret> {
    value.object(|o| {
        let name = o.required("name", |v| v.parsed(check_name));
        let phases = o.required("phases", |v| {
            v.list(1..=SecretPhase::ALL.len(), |v| {
                v.parsed(|name| one_of(name, &SecretPhase::ALL, SecretPhase::as_str))
            })
        });
        name.zip(phases)
            .map(|(name, phases)| EnvironmentSecret { name, phases })
    })
}

fn step(value: Value) -> Option<SetupStep> {
    value.object(|o| {
        let name = o.required("name", |v| v.parsed(|text| check_line(text, MAX_STEP_NAME)));
        let run = o.required("run", |v| v.text(1..=MAX_COMMAND));
        let timeout_ms = o.optional("timeoutMs", |v| v.whole(STEP_MS));
        name.zip(run).map(|(name, run)| SetupStep {
            name,
            run,
            timeout_ms,
        })
    })
}

fn registry(value: Value) -> Option<EnvironmentRegistry> {
    value.object(|o| {
        let kind = o.required("kind", |v| {
            v.parsed(|name| one_of(name, &RegistryKind::ALL, RegistryKind::as_str))
        });
        let url = o.required("url", |v| v.text(1..=MAX_URL));
        let secret = o.required("secret", |v| v.parsed(check_name));
        kind.zip(url)
            .zip(secret)
            .map(|((kind, url), secret)| EnvironmentRegistry { kind, url, secret })
    })
}

fn service(value: Value) -> Option<EnvironmentService> {
    value.object(|o| {
        let name = o.required("name", |v| v.parsed(check_service_name));
        let image = o.required("image", |v| v.parsed(check_service_image));
        let port = o.required("port", |v| v.whole(PORTS));
        let variables = variables(o);
        let ready = o.optional("ready", |v| v.parsed(check_ready));
        let port = port.and_then(|port| u16::try_from(port).ok());
        name.zip(image)
            .zip(port)
            .map(|((name, image), port)| EnvironmentService {
                name,
                image,
                port,
                variables,
                ready,
            })
    })
}

fn one_of<T: Copy, const N: usize>(
    name: &str,
    all: &[T; N],
    as_str: impl Fn(T) -> &'static str,
) -> Result<T, String> {
    let found = all.iter().copied().find(|one| as_str(*one) == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| as_str(*one)).collect();
        format!("must be one of {}", names.join(", "))
    })
}
