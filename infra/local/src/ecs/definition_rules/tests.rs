use super::*;
use serde_json::json;

fn good() -> Value {
    let logs = json!({
        "logDriver": "awslogs",
        "options": {
            "awslogs-group": "g", "awslogs-region": "r", "awslogs-stream-prefix": "p",
        },
    });
    json!({
        "family": "awo-runner-org_1-env_2",
        "networkMode": "awsvpc",
        "requiresCompatibilities": ["FARGATE"],
        "cpu": "1024", "memory": "4096",
        "executionRoleArn": "e",
        "volumes": [{ "name": "tmp" }],
        "containerDefinitions": [
            {
                "name": "runner", "image": "runner:latest", "essential": true,
                "mountPoints": [{ "sourceVolume": "tmp", "containerPath": "/tmp" }],
                "logConfiguration": logs,
                "dependsOn": [{ "containerName": "service-db", "condition": "HEALTHY" }],
            },
            {
                "name": "service-db", "image": "postgres:17", "essential": false, "memory": 2048,
                "environment": [{ "name": "A", "value": "" }],
                "portMappings": [{ "containerPort": 5432, "protocol": "tcp" }],
                "healthCheck": {
                    "command": ["CMD-SHELL", "pg_isready"], "interval": 5, "timeout": 5,
                    "retries": 10, "startPeriod": 60,
                },
                "startTimeout": 120, "stopTimeout": 10,
                "logConfiguration": logs,
            },
        ],
    })
}

/// The definition with another value at a pointer.
fn with(pointer: &str, value: Value) -> Value {
    let mut raw = good();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = raw.pointer_mut(parent).unwrap();
    match parent.as_array_mut() {
        Some(items) => items.push(value),
        None => parent[name] = value,
    }
    raw
}

fn refused(raw: &Value) -> bool {
    check(raw).is_err()
}

#[test]
fn a_definition_as_fargate_takes_it_is_taken() {
    assert!(check(&good()).is_ok());
    assert_eq!(reserved_mib(&good()), 2_048);
    let digest = format!("{}@sha256:{}", "a".repeat(255), "0".repeat(64));
    assert!(check(&with("/containerDefinitions/0/image", json!(digest))).is_ok());
}

#[test]
fn what_ecs_refuses_of_a_definition_is_refused() {
    let logs = "/containerDefinitions/0/logConfiguration/options";
    for (pointer, value) in [
        ("/family", json!("a b")),
        ("/family", json!("a".repeat(256))),
        ("/containerDefinitions", json!([])),
        ("/networkMode", json!("bridge")),
        ("/cpu", json!("1000")),
        ("/memory", Value::Null),
        ("/memory", json!("9216")),
        ("/executionRoleArn", Value::Null),
        (logs, json!({ "awslogs-group": "g", "awslogs-region": "r" })),
        ("/volumes", json!([])),
        (
            "/volumes/-",
            json!({ "name": "x", "efsVolumeConfiguration": { "authorizationConfig": { "iam": "ENABLED" } } }),
        ),
        (
            "/containerDefinitions/-",
            json!({ "name": "service-db", "image": "a" }),
        ),
        ("/containerDefinitions/0/essential", json!(false)),
        ("/containerDefinitions/0/privileged", json!(true)),
    ] {
        assert!(refused(&with(pointer, value.clone())), "{pointer} {value}");
    }
    let mut without_executor = with("/executionRoleArn", Value::Null);
    for container in without_executor["containerDefinitions"]
        .as_array_mut()
        .unwrap()
    {
        container["logConfiguration"] = Value::Null;
    }
    assert!(!refused(&without_executor));
    without_executor["containerDefinitions"][1]["image"] = json!("1.dkr.ecr.r.amazonaws.com/a:1");
    assert!(refused(&without_executor));
}

#[test]
fn what_ecs_refuses_of_a_container_is_refused() {
    for (field, value) in [
        ("name", json!("a/b")),
        ("name", json!("runner")),
        ("image", json!("")),
        ("image", json!("a b")),
        ("image", json!("a".repeat(256))),
        ("image", json!("a@sha256:12")),
        ("memory", json!(5)),
        ("memory", json!(4_097)),
        ("startTimeout", json!(121)),
        ("stopTimeout", json!(1)),
        ("environment", json!([{ "name": "", "value": "x" }])),
        ("environment", json!([{ "name": "A=B", "value": "x" }])),
        ("portMappings", json!([{ "containerPort": 0 }])),
        (
            "portMappings",
            json!([{ "containerPort": 1, "hostPort": 2 }]),
        ),
        (
            "portMappings",
            json!([{ "containerPort": 1 }, { "containerPort": 1 }]),
        ),
        ("healthCheck", Value::Null),
        ("healthCheck", json!({ "command": [] })),
        ("healthCheck", json!({ "command": ["pg_isready"] })),
        ("healthCheck", json!({ "command": ["CMD-SHELL", " "] })),
        (
            "healthCheck",
            json!({ "command": ["CMD", "x"], "interval": 4 }),
        ),
        (
            "healthCheck",
            json!({ "command": ["CMD", "x"], "timeout": 61 }),
        ),
        (
            "healthCheck",
            json!({ "command": ["CMD", "x"], "retries": 11 }),
        ),
        (
            "healthCheck",
            json!({ "command": ["CMD", "x"], "startPeriod": 301 }),
        ),
        (
            "dependsOn",
            json!([{ "containerName": "none", "condition": "START" }]),
        ),
        (
            "dependsOn",
            json!([{ "containerName": "runner", "condition": "SUCCESS" }]),
        ),
        (
            "dependsOn",
            json!([{ "containerName": "runner", "condition": "READY" }]),
        ),
        (
            "dependsOn",
            json!([{ "containerName": "runner", "condition": "START" }]),
        ),
        (
            "linuxParameters",
            json!({ "capabilities": { "add": ["SYS_ADMIN"] } }),
        ),
    ] {
        let raw = with(&format!("/containerDefinitions/1/{field}"), value.clone());
        assert!(refused(&raw), "{field} {value}");
    }
    let value = "x".repeat(DEFINITION_BYTES);
    let long = json!([{ "name": "A", "value": value }]);
    assert!(refused(&with("/containerDefinitions/1/environment", long)));
}
