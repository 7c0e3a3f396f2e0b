//! The headers that repeat parts of the body, for what stands between client and server.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::fault::Fault;
use crate::message::Request;

/// The headers of the protocol that came with a message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Headers<'a> {
    /// `MCP-Protocol-Version`
    pub version: Option<&'a str>,
    /// `Mcp-Method`
    pub method: Option<&'a str>,
    /// `Mcp-Name`
    pub name: Option<&'a str>,
}

impl Headers<'_> {
    /// Compares them with a request of the current version, where all of them are needed.
    pub(crate) fn check(&self, request: &Request, version: &str) -> Result<(), Fault> {
        same("MCP-Protocol-Version", self.version, version)?;
        same("Mcp-Method", self.method, &request.method)?;
        if request.method == "tools/call" {
            let name = self.name.and_then(decoded);
            let body = request.params.get("name").and_then(Value::as_str);
            same("Mcp-Name", name.as_deref(), body.unwrap_or_default())?;
        }
        Ok(())
    }
}

fn same(name: &str, header: Option<&str>, body: &str) -> Result<(), Fault> {
    match header {
        None => Err(Fault::header(name, "is missing or does not read")),
        Some(value) if value != body => Err(Fault::header(
            name,
            &format!("is {value:?}, and the body has {body:?}"),
        )),
        Some(_) => Ok(()),
    }
}

/// A value that is no plain ASCII travels as `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    let coded = value.strip_prefix("=?base64?");
    let Some(coded) = coded.and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    String::from_utf8(STANDARD.decode(coded).ok()?).ok()
}
