//! Operations of harness profiles.

use awo_contract::Field;
use awo_contract::profiles::input::{NewProfile, ProfileReplacement};
use awo_contract::profiles::output::{
    CreatedProfileShape, ProfileListShape, ProfileShape, ResolvedProfileShape, ValidationShape,
};
use awo_contract::schema::{Schemas, default, flag, named};
use awo_http::routes;
use serde_json::{Value, json};

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success};

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
    let body = NewProfile.schema(schemas);
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
    let body = ProfileReplacement { name: None }.schema(schemas);
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
    let body = ProfileReplacement { name: None }.schema(schemas);
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
