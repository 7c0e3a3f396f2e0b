//! Starting tasks: the settings that only the starting functions have.

use awo_domain::OrgId;
use aws_sdk_ecs::types::{AssignPublicIp, AwsVpcConfiguration, NetworkConfiguration, Tag};

use crate::environment::{Environment, SetupError};

/// By these tags a bill is divided: the organization's id, and the stack's name.
const ORGANIZATION_TAG: &str = "awo:organization";
const STACK_TAG: &str = "awo:stack";

/// The definition of a task, its network, and what it is tagged with.
#[derive(Debug, Clone)]
pub struct Launch {
    task_definition: String,
    stack: Option<String>,
    subnets: Vec<String>,
    security_groups: Vec<String>,
    public_addresses: bool,
}

impl Launch {
    /// From the environment.
    ///
    /// # Errors
    /// [`SetupError`] if the task definition is not set.
    pub fn new(environment: &Environment) -> Result<Launch, SetupError> {
        Ok(Launch {
            task_definition: environment.required("AWO_TASK_DEFINITION")?,
            stack: environment.get("AWO_STACK"),
            subnets: environment.list("AWO_SUBNETS"),
            security_groups: environment.list("AWO_SECURITY_GROUPS"),
            public_addresses: environment.flag("AWO_PUBLIC_ADDRESSES"),
        })
    }

    /// The definition that tasks are started from: a family, or a revision.
    #[must_use]
    pub fn task_definition(&self) -> &str {
        &self.task_definition
    }

    /// The same from another definition.
    #[must_use]
    pub fn of(&self, task_definition: String) -> Launch {
        Launch {
            task_definition,
            ..self.clone()
        }
    }

    /// What the cost of a task of an organization is found by.
    pub(crate) fn tags(&self, org: &OrgId) -> Vec<Tag> {
        let organization = (ORGANIZATION_TAG, org.to_string());
        let stack = self.stack.clone().map(|stack| (STACK_TAG, stack));
        let tags = std::iter::once(organization).chain(stack);
        tags.map(|(key, value)| Tag::builder().key(key).value(value).build())
            .collect()
    }

    /// The network of a task; none on one machine.
    pub(crate) fn network(&self) -> Option<NetworkConfiguration> {
        let public = if self.public_addresses {
            AssignPublicIp::Enabled
        } else {
            AssignPublicIp::Disabled
        };
        let vpc = AwsVpcConfiguration::builder()
            .set_subnets(Some(self.subnets.clone()))
            .set_security_groups(Some(self.security_groups.clone()))
            .assign_public_ip(public)
            .build()
            .ok()?;
        (!self.subnets.is_empty()).then(|| {
            NetworkConfiguration::builder()
                .awsvpc_configuration(vpc)
                .build()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(public: &'static str) -> Launch {
        let environment = Environment::new(move |name| {
            let value = match name {
                "AWO_TASK_DEFINITION" => "awo-runner",
                "AWO_STACK" => "awo",
                "AWO_SUBNETS" => "subnet-1,subnet-2",
                "AWO_PUBLIC_ADDRESSES" => public,
                _ => return None,
            };
            Some(value.to_owned())
        });
        Launch::new(&environment).unwrap()
    }

    #[test]
    fn tasks_have_public_addresses_only_where_the_deployment_says_so() {
        for (public, wanted) in [
            ("1", AssignPublicIp::Enabled),
            ("", AssignPublicIp::Disabled),
        ] {
            let network = launch(public).network().unwrap();
            let vpc = network.awsvpc_configuration().unwrap();
            assert_eq!(vpc.assign_public_ip(), Some(&wanted));
            assert_eq!(vpc.subnets(), ["subnet-1", "subnet-2"]);
        }
    }

    #[test]
    fn a_task_is_tagged_with_its_organization_and_its_stack() {
        let org = OrgId::parse("org_01m7xqdy7rdr2t31rdpvjmzz6a").unwrap();
        let tags = launch("").tags(&org);
        let tags: Vec<_> = tags.iter().map(|tag| (tag.key(), tag.value())).collect();
        let organization = (
            Some("awo:organization"),
            Some("org_01m7xqdy7rdr2t31rdpvjmzz6a"),
        );
        assert_eq!(tags, [organization, (Some("awo:stack"), Some("awo"))]);
    }
}
