//! Operations of harness profiles.

use awo_domain::api_key::Scope;
use awo_domain::profile::ProfileName;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::field::Field;
use crate::operation::{Operation, Success};
use crate::profiles::input::{NewProfile, ProfileReplacement};
use crate::profiles::output::{
    CreatedProfileShape, ProfileListShape, ProfileShape, ResolvedProfileShape, ValidationShape,
};
use crate::routes::{Route, creating, keyed};
use crate::schema::{Schemas, default, flag, named};

/// `GET /api/v1/profiles`
pub const LIST_PROFILES: Route = keyed(
    "GET",
    "/api/v1/profiles",
    Scope::ProfilesRead,
    "list-profiles",
);
/// `POST /api/v1/profiles`
pub const CREATE_PROFILE: Route = creating(
    keyed(
        "POST",
        "/api/v1/profiles",
        Scope::ProfilesWrite,
        "create-profile",
    ),
    "/api/v1/profiles",
    "/name",
);
/// `GET /api/v1/profiles/{name}`
pub const GET_PROFILE: Route = keyed(
    "GET",
    "/api/v1/profiles/{name}",
    Scope::ProfilesRead,
    "get-profile",
);
/// `PUT /api/v1/profiles/{name}`
pub const UPDATE_PROFILE: Route = keyed(
    "PUT",
    "/api/v1/profiles/{name}",
    Scope::ProfilesWrite,
    "update-profile",
);
/// `DELETE /api/v1/profiles/{name}`
pub const DELETE_PROFILE: Route = keyed(
    "DELETE",
    "/api/v1/profiles/{name}",
    Scope::ProfilesWrite,
    "delete-profile",
);
/// `POST /api/v1/profiles/{name}/validate`
pub const VALIDATE_PROFILE: Route = keyed(
    "POST",
    "/api/v1/profiles/{name}/validate",
    Scope::ProfilesRead,
    "validate-profile",
);

/// The routes of this group.
pub(crate) const ALL: &[Route] = &[
    LIST_PROFILES,
    CREATE_PROFILE,
    GET_PROFILE,
    UPDATE_PROFILE,
    DELETE_PROFILE,
    VALIDATE_PROFILE,
];

pub(crate) fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let list = Operation::of(
        &LIST_PROFILES,
        "List profiles",
        "Your own, newest first, then the built-in ones.",
    );
    let delete = Operation::of(
        &DELETE_PROFILE,
        "Delete a profile",
        "A profile that others extend is 409, a built-in one 403. Active runs continue with their present configuration.",
    ).path::<ProfileName>();
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
        &CREATE_PROFILE,
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
        &GET_PROFILE,
        "Get a profile",
        "The profile as written, or with `resolve=true` the effective profile, including the profiles that it extends.",
    ).path::<ProfileName>()
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
        &UPDATE_PROFILE,
        "Replace a profile",
        "Replaces the whole profile: members that the body does not contain are removed. It applies to active runs from their next iteration. 409 means that concurrent requests changed profiles.",
    ).path::<ProfileName>()
    .body(body, example())
    .fails(&[Failure::Conflict])
    .answers(Success::of::<ProfileShape>(schemas, 200, "The profile."))
}

fn validate(schemas: &mut Schemas) -> Operation {
    let body = ProfileReplacement { name: None }.schema(schemas);
    Operation::of(
        &VALIDATE_PROFILE,
        "Validate a profile",
        "As it is, or as replacing it by the body would make it; nothing is changed. What is wrong \
         with the body is listed in `errors`, with status 200.",
    )
    .path::<ProfileName>()
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
