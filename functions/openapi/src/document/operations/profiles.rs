//! Operations of harness profiles.

mod groups;

use awo_domain::environment::EnvironmentName;
use awo_domain::profile::ProfileName;
use awo_domain::profile::partial::MAX_DESCRIPTION;
use awo_http::routes;
use awo_profiles::shape::{
    CreatedProfileShape, ProfileListShape, ProfileShape, ResolvedProfileShape, ValidationShape,
};
use serde_json::{Value, json};

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success};
use crate::document::schema::{Schemas, default, described, flag, named, object, text};
use groups::{execution_limits, git_ops, loop_strategy, verification};

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let list = Operation::of(
        &routes::LIST_PROFILES,
        "List profiles",
        "Your own, newest first, then the built-in ones.",
    );
    let delete = Operation::of(
        &routes::DELETE_PROFILE,
        "Delete a profile",
        "A profile that others extend is 409, a built-in one 403. Active runs continue with their present configuration.",
    );
    vec![
        list.answers(Success::of::<ProfileListShape>(
            schemas,
            200,
            "All profiles.",
        )),
        create(schemas),
        get(schemas),
        update(schemas),
        delete
            .fails(&[Failure::Conflict])
            .answers(Success::nothing("It is gone.")),
        validate(schemas),
    ]
}

fn create(schemas: &mut Schemas) -> Operation {
    let body = body(schemas, "name!");
    Operation::of(
        &routes::CREATE_PROFILE,
        "Create a profile",
        "Absent members come from the profile that it extends, else from `default`. A taken \
         name is 409, a missing parent 400.",
    )
    .body(body, example())
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<CreatedProfileShape>(
        schemas,
        201,
        "The profile.",
    ))
}

fn get(schemas: &mut Schemas) -> Operation {
    // A resolved profile is also one as it was written: the first that fits counts.
    let either = json!({
        "description": "The effective profile, or the profile as written.",
        "anyOf": [
            schemas.of::<ResolvedProfileShape>(),
            schemas.of::<ProfileShape>(),
        ],
    });
    let either = named("ProfileView", either);
    Operation::of(
        &routes::GET_PROFILE,
        "Get a profile",
        "The profile as written, or with `resolve=true` the effective profile, including the profiles that it extends.",
    )
    .query(
        "resolve",
        default(flag(), false),
        "Whether its gaps are filled.",
    )
    .answers(Success::with(200, "The profile.", either))
}

fn update(schemas: &mut Schemas) -> Operation {
    let body = body(schemas, "name");
    Operation::of(
        &routes::UPDATE_PROFILE,
        "Replace a profile",
        "Replaces the whole profile: members that the body does not contain are removed. It applies to active runs from their next iteration. 409 means that concurrent requests changed profiles.",
    )
    .body(body, example())
    .fails(&[Failure::Conflict])
    .answers(Success::of::<ProfileShape>(schemas, 200, "The profile."))
}

fn validate(schemas: &mut Schemas) -> Operation {
    let body = body(schemas, "name");
    Operation::of(
        &routes::VALIDATE_PROFILE,
        "Validate a profile",
        "As it is, or as replacing it by the body would make it; nothing is changed. What is wrong \
         with the body is listed in `errors`, with status 200.",
    )
    .optional_body(body, example())
    .answers(Success::of::<ValidationShape>(
        schemas,
        200,
        "Whether it is valid.",
    ))
}

fn body(schemas: &mut Schemas, name: &'static str) -> Value {
    let parent = json!({ "oneOf": [schemas.of::<ProfileName>(), { "type": "null" }] });
    object([
        (name, described(schemas.of::<ProfileName>(), "Its name.")),
        (
            "description",
            described(text(0..=MAX_DESCRIPTION), "A description for people."),
        ),
        (
            "extends",
            described(parent, "The profile that provides absent members."),
        ),
        ("loopStrategy", loop_strategy(schemas)),
        ("verification", verification(schemas)),
        ("gitOps", git_ops(schemas)),
        ("executionLimits", execution_limits(schemas)),
        (
            "environment",
            described(
                schemas.of::<EnvironmentName>(),
                "The environment of work orders that name none.",
            ),
        ),
    ])
}

fn example() -> Value {
    json!({
        "name": "careful",
        "description": "More tries, no pushing",
        "extends": "ci-focused",
        "loopStrategy": { "type": "hybrid", "baseIterations": 4, "bonusIterations": 4 },
        "verification": { "skipLevels": ["L3"] },
        "gitOps": { "mode": "local" },
        "executionLimits": { "maxCredits": 200 },
    })
}
