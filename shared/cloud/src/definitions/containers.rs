//! The containers of an environment in a task definition: the runner's, with the environment's image,
//! and one for each service.
//!
//! What it keeps:
//! - the runner's container alone is essential: a service that ends does not end the run, whose
//!   runner detects and reports it; a service that never gets ready keeps the runner from starting,
//!   which ends the task;
//! - a task with an image of its own or with services has no role and mounts nothing: a role's credentials
//!   are there for every container of a task, and image and services are a client's programs;
//! - services together have at most half of the task's memory.

use awo_domain::Error;
use awo_domain::environment::{Containers, EnvironmentService};
use aws_sdk_ecs::types::{
    ContainerCondition, ContainerDefinition, ContainerDependency, HealthCheck, KernelCapabilities,
    KeyValuePair, LinuxParameters, LogConfiguration, PortMapping, TaskDefinition,
    TransportProtocol,
};

use crate::compute::{CONTAINER, service_container};

/// Where an image has the runner's program (infra/runner/Dockerfile).
const RUNNER: &str = "/usr/local/bin/runner";
/// The runner becomes the agent's user by itself, whatever user an image names.
const RUNNER_USER: &str = "0";
/// The variable that leads the runner to the folder that tasks share.
const SHARED_ROOT: &str = "AWO_SHARED_ROOT";

/// How often a service is asked whether it is ready, and how long it may think about it, in seconds.
const READY_EVERY_S: i32 = 5;
const READY_TIMEOUT_S: i32 = 5;
/// How long it may not be ready, in seconds, and how many answers that it is not count after that.
const READY_GRACE_S: i32 = 60;
const READY_RETRIES: i32 = 10;
/// When the runner gives a service up that is not ready, in seconds: Fargate takes no longer time.
const READY_LIMIT_S: i32 = 120;
/// From a service's SIGTERM to its SIGKILL, in seconds; the run is over then.
const STOP_TIMEOUT_S: i32 = 10;
/// What the services of a task may use of its memory, as a part of it.
const SERVICES_SHARE: i32 = 2;
/// The least that a container can have, in MiB.
const LEAST_MEMORY_MIB: i32 = 6;
/// What no service needs of what containers are given.
const DROPPED: [&str; 5] = ["AUDIT_WRITE", "MKNOD", "NET_RAW", "SETFCAP", "SYS_CHROOT"];

/// The definition with these containers.
pub(super) fn put(base: TaskDefinition, own: &Containers) -> Result<TaskDefinition, Error> {
    let mut definition = base;
    if let Some(size) = own.size {
        definition.cpu = Some(size.cpu_units().to_string());
        definition.memory = Some(size.memory_mib().to_string());
    }
    let mut containers = definition.container_definitions.take().unwrap_or_default();
    let is_runner = |container: &&mut ContainerDefinition| container.name() == Some(CONTAINER);
    let runner = containers.iter_mut().find(is_runner).ok_or_else(|| {
        Error::internal(format!("the task definition has no container {CONTAINER}"))
    })?;
    if let Some(image) = &own.image {
        put_image(runner, image);
    }
    if let Some(variables) = &mut runner.environment {
        variables.retain(|variable| variable.name() != Some(SHARED_ROOT));
    }
    definition.task_role_arn = None;
    if !own.services.is_empty() {
        let logs = runner.log_configuration.clone();
        let memory = memory_of_each(definition.memory(), own.services.len())?;
        runner.depends_on = Some(dependencies(&own.services)?);
        for service in &own.services {
            containers.push(container(service, memory, logs.clone())?);
        }
    }
    definition.container_definitions = Some(containers);
    Ok(definition)
}

/// The runner's container with another image, whose own program and user do not count.
fn put_image(runner: &mut ContainerDefinition, image: &str) {
    runner.image = Some(image.to_owned());
    runner.user = Some(RUNNER_USER.to_owned());
    let has_program = !runner.entry_point().is_empty() || !runner.command().is_empty();
    if !has_program {
        runner.entry_point = Some(vec![RUNNER.to_owned()]);
    }
}

/// In MiB; of the task's own memory, also where it is asked for with the size of each task.
fn memory_of_each(of_task: Option<&str>, services: usize) -> Result<i32, Error> {
    let of_task: i32 = of_task
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Error::internal("the task definition does not state its memory"))?;
    let services = i32::try_from(services).map_err(Error::internal)?;
    Ok((of_task / SERVICES_SHARE / services.max(1)).max(LEAST_MEMORY_MIB))
}

/// The runner's condition for a service: that it is ready, or, without a health check, that it has started.
fn dependencies(services: &[EnvironmentService]) -> Result<Vec<ContainerDependency>, Error> {
    let of_each = services.iter().map(|service| {
        let condition = match service.ready {
            Some(_) => ContainerCondition::Healthy,
            None => ContainerCondition::Start,
        };
        ContainerDependency::builder()
            .container_name(service_container(&service.name))
            .condition(condition)
            .build()
            .map_err(Error::internal)
    });
    of_each.collect()
}

fn container(
    service: &EnvironmentService,
    memory: i32,
    logs: Option<LogConfiguration>,
) -> Result<ContainerDefinition, Error> {
    let variables = service.variables.iter();
    let variables = variables.map(|(name, value)| {
        let variable = KeyValuePair::builder().name(name).value(value);
        variable.build()
    });
    let port = PortMapping::builder()
        .container_port(i32::from(service.port))
        .protocol(TransportProtocol::Tcp)
        .build();
    let dropped = DROPPED.map(str::to_owned).to_vec();
    let parameters = LinuxParameters::builder()
        .init_process_enabled(true)
        .capabilities(
            KernelCapabilities::builder()
                .set_drop(Some(dropped))
                .build(),
        )
        .build();
    let container = ContainerDefinition::builder()
        .name(service_container(&service.name))
        .image(&service.image)
        .essential(false)
        .memory(memory)
        .port_mappings(port)
        .set_environment(Some(variables.collect()))
        .linux_parameters(parameters)
        .set_log_configuration(logs)
        .stop_timeout(STOP_TIMEOUT_S);
    let Some(ready) = &service.ready else {
        return Ok(container.build());
    };
    let check = HealthCheck::builder()
        .command("CMD-SHELL")
        .command(ready)
        .interval(READY_EVERY_S)
        .timeout(READY_TIMEOUT_S)
        .start_period(READY_GRACE_S)
        .retries(READY_RETRIES)
        .build()
        .map_err(Error::internal)?;
    let container = container.health_check(check).start_timeout(READY_LIMIT_S);
    Ok(container.build())
}

#[cfg(test)]
mod tests {
    use super::*;
    use awo_domain::environment::Size;

    fn base() -> TaskDefinition {
        let runner = ContainerDefinition::builder()
            .name(CONTAINER)
            .image("runner")
            .environment(
                KeyValuePair::builder()
                    .name(SHARED_ROOT)
                    .value("/shared")
                    .build(),
            )
            .environment(KeyValuePair::builder().name("A").value("1").build())
            .build();
        TaskDefinition::builder()
            .container_definitions(runner)
            .task_role_arn("role")
            .memory("4096")
            .build()
    }

    fn own(image: Option<&str>, services: u16, size: Option<Size>) -> Containers {
        let service = |number| EnvironmentService {
            name: format!("s{number}"),
            image: "postgres:17".to_owned(),
            port: 5_432 + number,
            variables: [("B".to_owned(), "2".to_owned())].into(),
            ready: None,
        };
        Containers {
            image: image.map(str::to_owned),
            services: (0..services).map(service).collect(),
            size,
        }
    }

    #[test]
    fn an_image_has_the_runners_program_and_its_user_and_no_role() {
        let made = put(base(), &own(Some("other"), 0, None)).unwrap();
        let [runner] = made.container_definitions() else {
            panic!("{made:?}")
        };
        assert_eq!(runner.image(), Some("other"));
        assert_eq!(
            (runner.entry_point(), runner.user()),
            (&[RUNNER.to_owned()][..], Some("0"))
        );
        assert_eq!(runner.environment().len(), 1);
        assert_eq!((made.task_role_arn(), made.memory()), (None, Some("4096")));
        let mut with_program = base();
        with_program.container_definitions.as_mut().unwrap()[0].command =
            Some(vec!["x".to_owned()]);
        let made = put(with_program, &own(Some("other"), 0, None)).unwrap();
        assert!(made.container_definitions()[0].entry_point().is_empty());
    }

    #[test]
    fn services_share_half_of_the_tasks_memory_and_no_role() {
        for (services, size, wanted) in [
            (1, None, 2_048),
            (5, None, 409),
            (5, Some(Size::Small), 102),
            (2, Some(Size::Xlarge), 4_096),
        ] {
            let made = put(base(), &own(None, services, size)).unwrap();
            let (runner, others) = made.container_definitions().split_first().unwrap();
            assert_eq!(others.len(), usize::from(services));
            assert!(
                others.iter().all(|one| one.memory() == Some(wanted)),
                "{others:?}"
            );
            assert!(others.iter().all(|one| one.essential() == Some(false)));
            assert_eq!(
                (made.task_role_arn(), runner.image()),
                (None, Some("runner"))
            );
            let variables: Vec<_> = runner
                .environment()
                .iter()
                .map(KeyValuePair::name)
                .collect();
            assert_eq!(variables, [Some("A")]);
        }
    }

    #[test]
    fn a_definition_that_is_not_the_runners_is_no_base() {
        let mut other = base();
        other.container_definitions.as_mut().unwrap()[0].name = Some("x".to_owned());
        assert!(put(other, &own(None, 1, None)).is_err());
        let mut without_memory = base();
        without_memory.memory = None;
        assert!(put(without_memory, &own(None, 1, None)).is_err());
    }
}
