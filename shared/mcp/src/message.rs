//! What a client sends.

use serde_json::{Map, Value};

use crate::fault::{CURRENT, Fault};

/// Where a request names the version of the protocol.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Where a request names what its client can do.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A message of a client.
#[derive(Debug)]
pub(crate) enum Message {
    Request(Request),
    Notification,
}

/// A message that is answered.
#[derive(Debug)]
pub(crate) struct Request {
    pub id: Value,
    pub method: String,
    pub params: Map<String, Value>,
}

/// A fault, and the id of the request if it was read.
pub(crate) type Refusal = (Option<Value>, Fault);

impl Message {
    /// Reads a body.
    pub fn parse(body: &[u8]) -> Result<Message, Refusal> {
        let value: Value =
            serde_json::from_slice(body).map_err(|why| (None, Fault::parse(&why.to_string())))?;
        let refused = |message: &str| Err((None, Fault::request(message)));
        let mut members = match value {
            Value::Object(members) => members,
            Value::Array(_) => return refused("batches are not served: send one message"),
            _ => return refused("the body must be a JSON-RPC message"),
        };
        if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return refused("jsonrpc must be \"2.0\"");
        }
        let Some(Value::String(method)) = members.remove("method") else {
            return refused("the message has no method; responses are not accepted");
        };
        let id = match members.remove("id") {
            None => return Ok(Message::Notification),
            Some(id @ (Value::String(_) | Value::Number(_))) => id,
            Some(_) => return refused("id must be a string or a number"),
        };
        let params = match members.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err((Some(id), Fault::request("params must be an object"))),
        };
        Ok(Message::Request(Request { id, method, params }))
    }
}

impl Request {
    /// The version that the request names; none before versions were named by each.
    pub fn version(&self) -> Option<&str> {
        self.params.get("_meta")?.get(VERSION)?.as_str()
    }

    /// Looks for what each request of the current version carries.
    pub fn check_meta(&self) -> Result<(), Fault> {
        let meta = self.params.get("_meta");
        let has = |name: &str| meta.and_then(|meta| meta.get(name));
        if has(VERSION).and_then(Value::as_str) != Some(CURRENT) {
            return Err(Fault::meta(VERSION));
        }
        match has(CAPABILITIES) {
            Some(Value::Object(_)) => Ok(()),
            _ => Err(Fault::meta(CAPABILITIES)),
        }
    }
}
