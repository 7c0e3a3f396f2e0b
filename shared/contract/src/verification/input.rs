//! Bodies of verification: a new plugin, and a manual verification.

use awo_domain::Timestamp;
use awo_domain::manual::{
    self, MAX_MODIFIED_FILES, MAX_WORK_DIR_BYTES, Request, check_modified_file, check_work_dir,
};
use awo_domain::plugin::{
    BuiltIn, DEFAULT_TIMEOUT_MS, MAX_COMMAND_BYTES, MAX_DESCRIPTION, MAX_NAME, MAX_PLUGINS,
    MAX_WORDS, Plugin, PluginId, TIMEOUT_MS,
};
use awo_domain::profile::ProfileName;
use awo_domain::verification::Level;
use awo_domain::work_order::MAX_TASK_PROMPT;

use crate::field::{Field, any_text, flag, list, parsed, pattern, text, typed, whole};
use crate::record::{Members, Record};

/// Number of levels.
const LEVELS: usize = 5;

/// The body of a registration.
#[derive(Debug)]
pub struct NewPlugin {
    /// Time of the registration.
    pub now: Timestamp,
}

impl Record for NewPlugin {
    type Output = Plugin;

    fn members<M: Members>(&self, members: &mut M) -> Option<Plugin> {
        let id = members.required(
            "id",
            pattern("^custom:[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", PluginId::parse)
                .described("Its id: `custom:` and a name."),
        );
        let command = members.required(
            "command",
            list(text(0..=MAX_COMMAND_BYTES), 1..=MAX_WORDS)
                .described("Program and arguments; exit 0 is passed."),
        );
        let name = members.optional(
            "name",
            text(1..=MAX_NAME)
                .described("A display name; the default is the part of the id after `custom:`."),
        );
        let description = members.optional(
            "description",
            text(0..=MAX_DESCRIPTION).described("Its description."),
        );
        let level = level().described("The level at which it runs.");
        let level = members.defaulted("level", level, Level::Custom);
        let timeout = whole(TIMEOUT_MS).described("Its timeout, in milliseconds.");
        let timeout_ms = members.defaulted("timeoutMs", timeout, DEFAULT_TIMEOUT_MS);
        let enabled = flag().described("False to register it without running it.");
        let enabled = members.defaulted("enabled", enabled, true);
        if let Some(words) = &command {
            let bytes: usize = words.iter().map(String::len).sum();
            if bytes > MAX_COMMAND_BYTES {
                members.fault(
                    "command",
                    format!("must have at most {MAX_COMMAND_BYTES} bytes in all"),
                );
            } else if words[0].is_empty() {
                members.fault("command", "must begin with a program");
            }
        }
        let id = id?;
        Some(Plugin {
            name: name.unwrap_or_else(|| id.name().to_owned()),
            id,
            description: description.unwrap_or_default(),
            level,
            enabled,
            command: Some(command?),
            timeout_ms,
            created_at: self.now,
        })
    }
}

/// The body of a manual verification, with look-ups of the resources that it names.
#[derive(Debug)]
pub struct VerificationBody<H, P> {
    /// Returns a fault if the organization has no such profile.
    pub harness: H,
    /// Returns the id of a plugin of the organization.
    pub plugin: P,
}

impl<H, P> Record for VerificationBody<H, P>
where
    H: Fn(&str) -> Result<(), String>,
    P: Fn(&str) -> Result<PluginId, String>,
{
    /// The request with the levels and plugins that it names, which may be none.
    type Output = Request;

    fn members<M: Members>(&self, members: &mut M) -> Option<Request> {
        let work_dir = members.required(
            "workDir",
            parsed(text(1..=MAX_WORK_DIR_BYTES), check_work_dir)
                .described("An absolute path in the folder of a run of your organization."),
        );
        let task_prompt = members.optional(
            "taskPrompt",
            text(0..=MAX_TASK_PROMPT).described("The task, for plugins that read it."),
        );
        let file = parsed(
            any_text().described("Relative to `workDir`."),
            check_modified_file,
        );
        let modified_files = members.optional(
            "modifiedFiles",
            list(file, 0..=MAX_MODIFIED_FILES)
                .described("The files that checks of files examine; the default is all."),
        );
        members.optional(
            "harness",
            typed::<ProfileName, _, _>(&self.harness)
                .described("The profile whose levels are verified."),
        );
        let levels = members.optional(
            "levels",
            list(level(), 0..=LEVELS)
                .described("Only these levels; an empty list narrows nothing."),
        );
        let timeout = whole(manual::TIMEOUT_MS)
            .described("The timeout of the verification, in milliseconds.");
        let timeout_ms = members.defaulted("timeoutMs", timeout, manual::DEFAULT_TIMEOUT_MS);
        let plugin_ids = members.optional(
            "pluginIds",
            list(typed::<PluginId, _, _>(&self.plugin), 0..=most_plugins())
                .described("Only these plugins; an empty list narrows nothing."),
        );
        Some(Request {
            work_dir: work_dir?,
            task_prompt,
            modified_files: modified_files.filter(|files| !files.is_empty()),
            levels: levels.unwrap_or_default(),
            plugin_ids: plugin_ids.unwrap_or_default(),
            timeout_ms,
        })
    }
}

/// Number of plugins that a request can name, at most.
#[must_use]
pub fn most_plugins() -> usize {
    MAX_PLUGINS as usize + BuiltIn::ALL.len()
}

fn level() -> impl Field<Output = Level> {
    typed::<Level, _, _>(|name| match name {
        "L0" => Ok(Level::L0),
        "L1" => Ok(Level::L1),
        "L2" => Ok(Level::L2),
        "L3" => Ok(Level::L3),
        "custom" => Ok(Level::Custom),
        _ => Err("must be L0, L1, L2, L3 or custom".to_owned()),
    })
}
