//! Runs whose runner never began, because of the image or the services that their environment names.
//! Their organization has to fix the cause; the run costs nothing.

use awo_cloud::compute::{ContainerEnd, TaskEnd, service_container};
use awo_domain::environment::{Containers, EnvironmentService};

/// What ECS's words for an image that cannot be pulled begin with.
const CANNOT_PULL: &str = "CannotPull";
/// ECS's words for a container that could not be started.
const CANNOT_START: &str = "CannotStartContainer";
/// ECS's word for what a container waits for.
const DEPENDENCY: &str = "dependency";
/// What a message quotes of ECS's words, in characters.
const MAX_QUOTED: usize = 600;

/// Why a task with these containers ended before its runner reported; none if they are not why.
pub(crate) fn start_failure(gone: &TaskEnd, own: &Containers) -> Option<String> {
    not_pulled(gone, own)
        .or_else(|| service_failed(gone, own))
        .or_else(|| image_failed(gone, own))
}

/// What is wrong with containers whose task runs, and whose runner has had all the time there is.
pub(crate) fn never_ready(own: &Containers) -> String {
    let services = own.services.iter().map(described);
    let image = own.image.iter().map(|image| format!("the image {image}"));
    let all: Vec<String> = image.chain(services).collect();
    format!(
        "the task of this run started, and its runner did not begin within ten minutes. The environment \
         gives it {}: check that each service gets ready and that the image is built on runner-base",
        all.join(", ")
    )
}

fn described(service: &EnvironmentService) -> String {
    format!("the service {} ({})", service.name, service.image)
}

fn service<'a>(own: &'a Containers, name: &str) -> Option<&'a EnvironmentService> {
    own.services.iter().find(|service| service.name == name)
}

/// ECS has it at the container, or at the task and names the image.
fn not_pulled(gone: &TaskEnd, own: &Containers) -> Option<String> {
    let cannot_pull = |container: &&ContainerEnd| container.reason.contains(CANNOT_PULL);
    let (whose, why) = match gone.containers.iter().find(cannot_pull) {
        Some(container) => {
            let whose = match &container.service {
                Some(name) => described(service(own, name)?),
                None => format!("the environment's image {}", own.image.as_ref()?),
            };
            (whose, container.reason.as_str())
        }
        None if !gone.containers.is_empty() && gone.reason.contains(CANNOT_PULL) => {
            let is_named = |image: &str| gone.reason.contains(image);
            let service = own.services.iter().find(|one| is_named(&one.image));
            let image = own.image.as_ref().filter(|image| is_named(image));
            let image = image.map(|image| format!("the environment's image {image}"));
            (service.map(described).or(image)?, gone.reason.as_str())
        }
        None => return None,
    };
    Some(format!(
        "the image of {whose} could not be pulled: check its name and digest, that it is there for this \
         architecture, and that this deployment may read it ({})",
        quoted(why)
    ))
}

/// A service that ended or did not get ready. The runner's container, which waited for it, may report so.
fn service_failed(gone: &TaskEnd, own: &Containers) -> Option<String> {
    let runner = gone.containers.iter().find(|one| one.service.is_none());
    // Services end with the runner that began. One that could not because of them has an exit code, too.
    let began = |one: &ContainerEnd| one.exit_code.is_some() && !one.reason.contains(DEPENDENCY);
    if runner.is_some_and(began) {
        return None;
    }
    let waited_for = || {
        let why = runner?.reason.as_str();
        let is_named = |one: &&EnvironmentService| why.contains(&service_container(&one.name));
        let found = own.services.iter().find(is_named)?;
        Some((found, "did not get ready".to_owned(), why))
    };
    let (found, how, why) = (gone.containers.iter())
        .find_map(|container| ended(container, own))
        .or_else(waited_for)?;
    let why = if why.is_empty() {
        String::new()
    } else {
        format!(" ({})", quoted(why))
    };
    Some(format!(
        "{} {how} before the run began{why}: check its image, its variables and its `ready` command",
        described(found)
    ))
}

/// A service that ended, how, and ECS's reason.
fn ended<'a>(
    container: &'a ContainerEnd,
    own: &'a Containers,
) -> Option<(&'a EnvironmentService, String, &'a str)> {
    let found = service(own, container.service.as_deref()?)?;
    let how = match (container.exit_code, container.is_unhealthy) {
        (_, true) => "did not get ready: its `ready` command failed".to_owned(),
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, _) if container.reason.contains(CANNOT_START) => "could not be started".to_owned(),
        (None, _) => return None,
    };
    Some((found, how, container.reason.as_str()))
}

/// An image without a runner that works.
fn image_failed(gone: &TaskEnd, own: &Containers) -> Option<String> {
    let image = own.image.as_ref()?;
    let runner = gone.containers.iter().find(|one| one.service.is_none())?;
    let how = match runner.exit_code {
        Some(code) => format!("ended with exit code {code}"),
        None if runner.reason.contains(CANNOT_START) => "could not be started".to_owned(),
        None => return None,
    };
    Some(format!(
        "the environment's image {image} {how} before its runner reported: check that it is built on \
         runner-base and for this deployment's architecture ({})",
        quoted(&gone.reason)
    ))
}

fn quoted(text: &str) -> String {
    text.chars().take(MAX_QUOTED).collect()
}
