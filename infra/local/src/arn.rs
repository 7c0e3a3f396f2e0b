//! The identity of the local cloud. Invariant: every name from a stand-in has the form of the real
//! one, so code that parses an ARN gets the same in the cloud.

/// The account that owns everything here; twelve digits, as a real one.
pub const ACCOUNT: &str = "000000000000";

/// The region that clients of the stand-ins have to be configured with.
pub const REGION: &str = "us-east-1";

pub(crate) fn queue(name: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}")
}

pub(crate) fn function(name: &str) -> String {
    format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}")
}

pub(crate) fn cluster(name: &str) -> String {
    format!("arn:aws:ecs:{REGION}:{ACCOUNT}:cluster/{name}")
}

pub(crate) fn task(cluster: &str, id: &str) -> String {
    format!("arn:aws:ecs:{REGION}:{ACCOUNT}:task/{cluster}/{id}")
}

pub(crate) fn container(cluster: &str, task: &str, id: &str) -> String {
    format!("arn:aws:ecs:{REGION}:{ACCOUNT}:container/{cluster}/{task}/{id}")
}

pub(crate) fn task_definition(family: &str, revision: u32) -> String {
    format!("arn:aws:ecs:{REGION}:{ACCOUNT}:task-definition/{family}:{revision}")
}

pub(crate) fn access_point(id: &str) -> String {
    format!("arn:aws:elasticfilesystem:{REGION}:{ACCOUNT}:access-point/{id}")
}

pub(crate) fn role(name: &str) -> String {
    format!("arn:aws:iam::{ACCOUNT}:role/{name}")
}

pub(crate) fn rule(name: &str) -> String {
    format!("arn:aws:events:{REGION}:{ACCOUNT}:rule/{name}")
}

/// Secrets Manager ends its ARNs in six random characters, so that a deleted name that is
/// used again is another resource.
pub(crate) fn secret(name: &str) -> String {
    let suffix = uuid::Uuid::new_v4().simple().to_string();
    format!(
        "arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:{name}-{}",
        &suffix[..6]
    )
}
