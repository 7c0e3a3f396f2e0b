//! Operations of verification.

use awo_domain::manual::{self, MAX_MODIFIED_FILES, MAX_WORK_DIR_BYTES};
use awo_domain::plugin::{
    self, BuiltIn, MAX_COMMAND_BYTES, MAX_DESCRIPTION, MAX_NAME, MAX_PLUGINS, MAX_WORDS, PluginId,
};
use awo_domain::profile::ProfileName;
use awo_domain::verification::Level;
use awo_domain::work_order::MAX_TASK_PROMPT;
use awo_http::routes;
use awo_verification::shape::{PluginShape, PluginsShape, SwitchShape, VerificationResultShape};
use serde_json::{Value, json};

use crate::document::errors::Failure;
use crate::document::operation::{Operation, Success};
use crate::document::schema::{Schemas, default, described, flag, list, object, text, whole};

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let list = Operation::of(
        &routes::LIST_PLUGINS,
        "List verification plugins",
        "The built-in ones by level, then your own.",
    );
    let get = Operation::of(
        &routes::GET_PLUGIN,
        "Get a plugin",
        "Your own or a built-in one.",
    );
    let delete = Operation::of(
        &routes::DELETE_PLUGIN,
        "Unregister a plugin",
        "Built-in ones are 403: disable them.",
    );
    let enable = Operation::of(
        &routes::ENABLE_PLUGIN,
        "Enable a plugin",
        "It runs from now on.",
    );
    let disable = Operation::of(
        &routes::DISABLE_PLUGIN,
        "Disable a plugin",
        "From now on it runs neither in verifications nor in runs.",
    );
    vec![
        list.answers(Success::of::<PluginsShape>(schemas, 200, "All plugins.")),
        register(schemas),
        get.answers(Success::of::<PluginShape>(schemas, 200, "The plugin.")),
        delete.answers(Success::nothing("It is gone.")),
        enable.answers(Success::of::<SwitchShape>(schemas, 200, "It is enabled.")),
        disable.answers(Success::of::<SwitchShape>(schemas, 200, "It is disabled.")),
        run(schemas),
    ]
}

fn register(schemas: &mut Schemas) -> Operation {
    let command = list(&text(0..=MAX_COMMAND_BYTES), 1..=MAX_WORDS);
    let body = object([
        (
            "id!",
            json!({
                "type": "string",
                "pattern": "^custom:[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
                "description": "Its id: `custom:` and a name.",
            }),
        ),
        (
            "command!",
            described(command, "Program and arguments; exit 0 is passed."),
        ),
        (
            "name",
            described(
                text(1..=MAX_NAME),
                "A display name; the default is the part of the id after `custom:`.",
            ),
        ),
        (
            "description",
            described(text(0..=MAX_DESCRIPTION), "Its description."),
        ),
        (
            "level",
            default(
                described(schemas.of::<Level>(), "The level at which it runs."),
                "custom",
            ),
        ),
        (
            "timeoutMs",
            described(
                default(whole(plugin::TIMEOUT_MS), plugin::DEFAULT_TIMEOUT_MS),
                "Its timeout, in milliseconds.",
            ),
        ),
        (
            "enabled",
            described(
                default(flag(), true),
                "False to register it without running it.",
            ),
        ),
    ]);
    let example = json!({
        "id": "custom:licences",
        "name": "Licences",
        "description": "Every dependency has a licence that we allow.",
        "level": "L0",
        "command": ["./check-licences", "--strict"],
        "timeoutMs": 60_000,
    });
    Operation::of(
        &routes::REGISTER_PLUGIN,
        "Register a plugin",
        "A command that runs in the clean checkout of every iteration. A taken id is 409.",
    )
    .body(body, example)
    .idempotent()
    .fails(&[Failure::Conflict])
    .answers(Success::of::<PluginShape>(schemas, 201, "The plugin."))
}

fn run(schemas: &mut Schemas) -> Operation {
    let plugins = MAX_PLUGINS as usize + BuiltIn::ALL.len();
    let file = json!({ "type": "string", "description": "Relative to `workDir`." });
    let body = object([
        (
            "workDir!",
            described(
                text(1..=MAX_WORK_DIR_BYTES),
                "An absolute path in your organization's workspace root.",
            ),
        ),
        (
            "taskPrompt",
            described(
                text(0..=MAX_TASK_PROMPT),
                "The task, for plugins that read it.",
            ),
        ),
        (
            "modifiedFiles",
            described(
                list(&file, 0..=MAX_MODIFIED_FILES),
                "The files that checks of files examine; the default is all.",
            ),
        ),
        (
            "harness",
            described(
                schemas.of::<ProfileName>(),
                "The profile whose levels are verified.",
            ),
        ),
        (
            "levels",
            described(
                list(&schemas.of::<Level>(), 0..=5),
                "Only these levels; an empty list narrows nothing.",
            ),
        ),
        (
            "timeoutMs",
            described(
                default(whole(manual::TIMEOUT_MS), manual::DEFAULT_TIMEOUT_MS),
                "The timeout of the verification, in milliseconds.",
            ),
        ),
        (
            "pluginIds",
            described(
                list(&schemas.of::<PluginId>(), 0..=plugins),
                "Only these plugins; an empty list narrows nothing.",
            ),
        ),
    ]);
    Operation::of(
        &routes::RUN_VERIFICATION,
        "Verify a workspace",
        "Runs the plugins on a workspace that a run left. It takes no slot and no credits; two at \
         once, then 429. If it takes longer than 5 s, the answer begins as 200 with white space: \
         read `success`.",
    )
    .body(body, example())
    .late()
    .answers(Success::of::<VerificationResultShape>(
        schemas,
        200,
        "The finding.",
    ))
}

fn example() -> Value {
    json!({
        "workDir": "/workspaces/org_01kb4x00000000000000000000/run_01kb4x00000000000000000000/workspace",
        "levels": ["L0", "L1"],
        "timeoutMs": 120_000,
    })
}
