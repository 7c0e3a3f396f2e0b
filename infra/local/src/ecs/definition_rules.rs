//! What ECS takes as a task definition for Fargate, as unkindly as it does: names, images, sizes,
//! dependencies, health checks, logs, capabilities.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde_json::Value;

use super::run_task::is_fargate_size;
use crate::aws_json::Refusal;
use crate::ecs::protocol::invalid;

/// Letters of a family, of a container's name, and of an image without its digest.
const LETTERS: usize = 255;
/// Containers of a definition.
const CONTAINERS: usize = 10;
/// Bytes of a definition.
const DEFINITION_BYTES: usize = 65_536;
/// MiB that a container has at least.
const LEAST_MEMORY: u64 = 6;
/// The only capability that Fargate adds.
const ADDED: &str = "SYS_PTRACE";
/// Seconds of timeouts and health checks, and the number of retries.
const SECONDS: [(&str, RangeInclusive<u64>); 2] =
    [("startTimeout", 2..=120), ("stopTimeout", 2..=120)];
const CHECK: [(&str, RangeInclusive<u64>); 4] = [
    ("interval", 5..=300),
    ("timeout", 2..=60),
    ("retries", 1..=10),
    ("startPeriod", 0..=300),
];

type Outcome = Result<(), Refusal>;

fn client(message: impl Into<String>) -> Refusal {
    Refusal::new(400, "ClientException", message)
}

/// Checks a registration.
pub(super) fn check(raw: &Value) -> Outcome {
    if raw.to_string().len() > DEFINITION_BYTES {
        return Err(client("Actual task definition length exceeds 65536 bytes."));
    }
    if !is_name(text(&raw["family"])) {
        return Err(client("Family contains invalid characters or length."));
    }
    let containers = list(&raw["containerDefinitions"]);
    if !(1..=CONTAINERS).contains(&containers.len()) {
        return Err(client("Container list must have 1 to 10 containers."));
    }
    check_names(containers)?;
    for container in containers {
        check_container(container)?;
        check_mounts(raw, container)?;
    }
    check_dependencies(containers)?;
    check_ports(containers)?;
    let is_fargate = list(&raw["requiresCompatibilities"])
        .iter()
        .any(|one| one == "FARGATE");
    if is_fargate {
        check_fargate(raw, containers)
    } else {
        Ok(())
    }
}

/// What the containers reserve of memory, in MiB.
pub(super) fn reserved_mib(raw: &Value) -> u64 {
    let containers = list(&raw["containerDefinitions"]).iter();
    let of_each = containers.map(|container| {
        let soft = container["memoryReservation"].as_u64();
        soft.or(container["memory"].as_u64()).unwrap_or(0)
    });
    of_each.sum()
}

fn check_names(containers: &[Value]) -> Outcome {
    let mut names = BTreeSet::new();
    for container in containers {
        let name = text(&container["name"]);
        if !is_name(name) {
            return Err(client("Container.name contains invalid characters."));
        }
        if !names.insert(name) {
            return Err(client(format!("Container name {name} is not unique.")));
        }
    }
    // A container is essential by default.
    let is_essential = |container: &Value| container["essential"] != false;
    if containers.iter().any(is_essential) {
        Ok(())
    } else {
        Err(client(
            "Invalid setting for container. At least one container must be essential.",
        ))
    }
}

fn check_container(container: &Value) -> Outcome {
    let name = text(&container["name"]);
    if !is_image(text(&container["image"])) {
        return Err(client(format!("Container.image of {name} is invalid.")));
    }
    let memory = container["memory"].as_u64();
    if memory.is_some_and(|memory| memory < LEAST_MEMORY) {
        return Err(client(format!(
            "Invalid setting for container '{name}': memory."
        )));
    }
    for (field, range) in SECONDS {
        in_range(container, field, &range)?;
    }
    for variable in list(&container["environment"]) {
        let key = text(&variable["name"]);
        if key.is_empty() || key.contains(['=', '\0']) || !variable["value"].is_string() {
            return Err(client(format!("Invalid environment variable {key:?}.")));
        }
    }
    let check = &container["healthCheck"];
    if check.is_null() {
        return Ok(());
    }
    let command = list(&check["command"]);
    let begins = command.first().map(text);
    let is_command = matches!(begins, Some("CMD" | "CMD-SHELL")) && command.len() > 1;
    if !is_command || command.iter().any(|word| text(word).trim().is_empty()) {
        return Err(client(format!("Invalid health check command of {name}.")));
    }
    CHECK
        .iter()
        .try_for_each(|(field, range)| in_range(check, field, range))
}

fn in_range(of: &Value, field: &str, range: &RangeInclusive<u64>) -> Outcome {
    let value = &of[field];
    if value.is_null() || value.as_u64().is_some_and(|n| range.contains(&n)) {
        Ok(())
    } else {
        Err(client(format!(
            "Invalid {field}: must be between {} and {}.",
            range.start(),
            range.end()
        )))
    }
}

fn check_mounts(raw: &Value, container: &Value) -> Outcome {
    let volumes = list(&raw["volumes"]);
    for mount in list(&container["mountPoints"]) {
        if !volumes
            .iter()
            .any(|volume| volume["name"] == mount["sourceVolume"])
        {
            return Err(client("Unknown volume in mountPoints."));
        }
    }
    Ok(())
}

fn check_dependencies(containers: &[Value]) -> Outcome {
    let by_name: BTreeMap<&str, &Value> = containers
        .iter()
        .map(|container| (text(&container["name"]), container))
        .collect();
    for container in containers {
        for dependency in list(&container["dependsOn"]) {
            let name = text(&dependency["containerName"]);
            let Some(on) = by_name.get(name) else {
                return Err(client(format!("dependsOn: there is no container {name}.")));
            };
            let is_essential = on["essential"] != false;
            match text(&dependency["condition"]) {
                "START" => {}
                "HEALTHY" if !on["healthCheck"].is_null() => {}
                "COMPLETE" | "SUCCESS" if !is_essential => {}
                "HEALTHY" => {
                    return Err(client(format!("dependsOn: {name} has no health check.")));
                }
                "COMPLETE" | "SUCCESS" => {
                    return Err(client(
                        "A dependency container with SUCCESS or COMPLETE condition cannot be an \
                         essential container",
                    ));
                }
                other => return Err(client(format!("dependsOn: unknown condition {other}."))),
            }
        }
    }
    let mut left = containers.to_vec();
    // Containers that wait for none of those left can go; what is left in the end waits for itself.
    for _ in 0..=containers.len() {
        let names: BTreeSet<String> = left
            .iter()
            .map(|one| text(&one["name"]).to_owned())
            .collect();
        left.retain(|container| {
            let mut on = list(&container["dependsOn"]).iter();
            on.any(|dependency| names.contains(text(&dependency["containerName"])))
        });
    }
    if left.is_empty() {
        Ok(())
    } else {
        Err(client("Circular dependency in dependsOn."))
    }
}

/// Containers share the task's network.
fn check_ports(containers: &[Value]) -> Outcome {
    let mut ports = BTreeSet::new();
    for mapping in containers.iter().flat_map(|one| list(&one["portMappings"])) {
        let port = mapping["containerPort"].as_u64().unwrap_or(0);
        let host = mapping["hostPort"].as_u64().unwrap_or(port);
        if !(1..=65_535).contains(&port) || host != port {
            return Err(client(
                "When networkMode=awsvpc, the host and container ports must match.",
            ));
        }
        let protocol = mapping["protocol"].as_str().unwrap_or("tcp");
        if !ports.insert((port, protocol)) {
            return Err(client(format!("Duplicate port mapping {port}/{protocol}.")));
        }
    }
    Ok(())
}

fn check_fargate(raw: &Value, containers: &[Value]) -> Outcome {
    if raw["networkMode"] != "awsvpc" {
        return Err(client("Fargate only supports network mode ‘awsvpc’."));
    }
    let (Some(cpu), Some(memory)) = (raw["cpu"].as_str(), raw["memory"].as_str()) else {
        return Err(client(
            "Fargate requires that 'cpu' and 'memory' be defined at the task level.",
        ));
    };
    if !is_fargate_size(cpu, memory) {
        return Err(client("No Fargate configuration exists for given values."));
    }
    let of_task = memory.parse().unwrap_or(0);
    let is_larger = |one: &Value| one["memory"].as_u64().is_some_and(|own| own > of_task);
    if containers.iter().any(is_larger) || reserved_mib(raw) > of_task {
        return Err(client(
            "Memory of the containers is greater than that of the task.",
        ));
    }
    let has_role = raw["executionRoleArn"].is_string();
    for container in containers {
        check_fargate_container(container, has_role)?;
    }
    let mounts_as_role = |volume: &Value| {
        volume["efsVolumeConfiguration"]["authorizationConfig"]["iam"] == "ENABLED"
    };
    if list(&raw["volumes"]).iter().any(mounts_as_role) && !raw["taskRoleArn"].is_string() {
        Err(invalid("IAM authorization of EFS requires a task role."))
    } else {
        Ok(())
    }
}

fn check_fargate_container(container: &Value, has_role: bool) -> Outcome {
    let name = text(&container["name"]);
    if container["privileged"] == true {
        return Err(client("Fargate does not support privileged containers."));
    }
    let added = list(&container["linuxParameters"]["capabilities"]["add"]);
    if added.iter().any(|one| one != ADDED) {
        return Err(client("Fargate adds SYS_PTRACE and no other capability."));
    }
    if text(&container["image"]).contains(".dkr.ecr.") && !has_role {
        return Err(client(
            "Fargate requires an execution role to support ECR images.",
        ));
    }
    let logs = &container["logConfiguration"];
    if logs["logDriver"] != "awslogs" {
        return Ok(());
    }
    if !has_role {
        return Err(client(
            "Fargate requires task definition to have execution role ARN to support log driver awslogs.",
        ));
    }
    let required = ["awslogs-group", "awslogs-region", "awslogs-stream-prefix"];
    let missing = required
        .iter()
        .find(|option| !logs["options"][**option].is_string());
    match missing {
        Some(option) => Err(client(format!(
            "Log driver awslogs of {name} requires {option}."
        ))),
        None => Ok(()),
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=LETTERS).contains(&name.len()) && name.chars().all(is_letter)
}

fn is_image(image: &str) -> bool {
    let (name, digest) = image
        .split_once("@sha256:")
        .map_or((image, None), |(n, d)| (n, Some(d)));
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "-_:./#".contains(c);
    let is_digest =
        |digest: &str| digest.len() == 64 && digest.chars().all(|c| c.is_ascii_hexdigit());
    (1..=LETTERS).contains(&name.len())
        && name.chars().all(is_letter)
        && digest.is_none_or(is_digest)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
