//! The body of a profile, read key by key. The effective profile, with those that it extends, is
//! validated elsewhere.

mod groups;

use awo_domain::environment::EnvironmentName;
use awo_domain::profile::ProfileName;
use awo_domain::profile::partial::{Groups, MAX_DESCRIPTION, PartialContent};
use serde_json::{Value as Json, json};

use crate::body::Value;
use crate::field::{Field, text, typed};
use crate::record::{Members, Record};
use crate::schema::Schemas;

/// The body of a create.
#[derive(Debug)]
pub struct NewProfile;

impl Record for NewProfile {
    type Output = (ProfileName, PartialContent);

    fn members<M: Members>(&self, members: &mut M) -> Option<Self::Output> {
        let name = members.required(
            "name",
            typed::<ProfileName, _, _>(ProfileName::parse).described("Its name."),
        );
        let content = content(members);
        Some((name?, content))
    }
}

/// The body of a replacement, which may repeat the name but not change it.
#[derive(Debug)]
pub struct ProfileReplacement<'a> {
    /// The name; `None` in the document.
    pub name: Option<&'a ProfileName>,
}

impl Record for ProfileReplacement<'_> {
    type Output = PartialContent;

    fn members<M: Members>(&self, members: &mut M) -> Option<PartialContent> {
        let same = |text: &str| match self.name {
            Some(name) if name.as_str() != text => {
                Err(format!("must be {name}: a profile cannot be renamed"))
            }
            _ => Ok(()),
        };
        members.optional(
            "name",
            typed::<ProfileName, _, _>(same).described("Its name."),
        );
        Some(content(members))
    }
}

fn content<M: Members>(members: &mut M) -> PartialContent {
    let description = members.optional(
        "description",
        text(0..=MAX_DESCRIPTION).described("A description for people."),
    );
    PartialContent {
        description: description.unwrap_or_default(),
        extends: members
            .optional(
                "extends",
                Parent.described("The profile that provides absent members."),
            )
            .flatten(),
        groups: Groups {
            loop_strategy: members.optional("loopStrategy", groups::loop_strategy()),
            verification: members.optional("verification", groups::verification()),
            git_ops: members.optional("gitOps", groups::git_ops()),
            execution_limits: members.optional("executionLimits", groups::execution_limits()),
            environment: members.optional(
                "environment",
                typed::<EnvironmentName, _, _>(EnvironmentName::parse)
                    .described("The environment of work orders that name none."),
            ),
        },
    }
}

/// The name of the profile that is extended. Null is what a profile shows that extends none.
struct Parent;

impl Field for Parent {
    type Output = Option<ProfileName>;

    fn read(&self, value: Value) -> Option<Option<ProfileName>> {
        if value.is_null() {
            Some(None)
        } else {
            value.parsed(ProfileName::parse).map(Some)
        }
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        json!({ "oneOf": [schemas.of::<ProfileName>(), { "type": "null" }] })
    }
}
