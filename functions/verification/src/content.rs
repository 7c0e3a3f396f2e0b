//! A client's plugin, read and checked.

use awo_domain::plugin::{
    DEFAULT_TIMEOUT_MS, MAX_COMMAND_BYTES, MAX_DESCRIPTION, MAX_NAME, MAX_WORDS, Plugin, PluginId,
    TIMEOUT_MS,
};
use awo_domain::verification::Level;
use awo_domain::{Error, Timestamp};
use awo_http::body::{Object, Value};

/// Reads the body of a registration.
pub fn read_plugin(mut body: Object, now: Timestamp) -> Result<Plugin, Error> {
    let id = body.required("id", |v| v.parsed(PluginId::parse));
    let command = body.required("command", |v| v.list(1..=MAX_WORDS, word));
    let name = body.optional("name", |v| v.text(1..=MAX_NAME));
    let description = body.optional("description", |v| v.text(0..=MAX_DESCRIPTION));
    let level = body.optional("level", level);
    let timeout_ms = body.optional("timeoutMs", |v| v.whole(TIMEOUT_MS));
    let enabled = body.optional("enabled", Value::flag);
    if let Some(words) = &command {
        let bytes: usize = words.iter().map(String::len).sum();
        if bytes > MAX_COMMAND_BYTES {
            body.fault(
                "command",
                format!("must have at most {MAX_COMMAND_BYTES} bytes in all"),
            );
        } else if words[0].is_empty() {
            body.fault("command", "must begin with a program");
        }
    }
    let read = id.zip(command).map(|(id, command)| Plugin {
        name: name.unwrap_or_else(|| id.name().to_owned()),
        id,
        description: description.unwrap_or_default(),
        level: level.unwrap_or(Level::Custom),
        enabled: enabled.unwrap_or(true),
        command: Some(command),
        timeout_ms: timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
        created_at: now,
    });
    body.finish(read)
}

fn word(value: Value) -> Option<String> {
    value.text(0..=MAX_COMMAND_BYTES)
}

/// A level by its name.
pub fn level(value: Value) -> Option<Level> {
    value.parsed(|name| match name {
        "L0" => Ok(Level::L0),
        "L1" => Ok(Level::L1),
        "L2" => Ok(Level::L2),
        "L3" => Ok(Level::L3),
        "custom" => Ok(Level::Custom),
        _ => Err("must be L0, L1, L2, L3 or custom".to_owned()),
    })
}
