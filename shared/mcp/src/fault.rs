//! Faults of the protocol, as JSON-RPC errors.

use serde_json::{Value, json};

/// The versions that are spoken, the newest first.
pub(crate) const VERSIONS: [&str; 3] = [CURRENT, "2025-11-25", "2025-06-18"];
/// The version without a handshake.
pub(crate) const CURRENT: &str = "2026-07-28";

/// A fault of the protocol with the HTTP status that goes with it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub status: u16,
    code: i32,
    message: String,
    data: Option<Value>,
}

impl Fault {
    fn new(status: u16, code: i32, message: impl Into<String>) -> Fault {
        Fault {
            status,
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The body is no JSON.
    pub fn parse(why: &str) -> Fault {
        Fault::new(400, -32700, format!("the body is no JSON: {why}"))
    }

    /// The body is no request.
    pub fn request(message: &str) -> Fault {
        Fault::new(400, -32600, message)
    }

    /// The method is not served. Clients of earlier versions read the body of a 200 alone.
    pub fn method(name: &str, is_current: bool) -> Fault {
        let status = if is_current { 404 } else { 200 };
        Fault::new(status, -32601, format!("there is no method {name:?}"))
    }

    /// The parameters of a method are wrong.
    pub fn params(message: impl Into<String>) -> Fault {
        Fault::new(200, -32602, message)
    }

    /// What each request must carry is missing.
    pub fn meta(name: &str) -> Fault {
        Fault::new(400, -32602, format!("params._meta lacks {name:?}"))
    }

    /// A header and the body differ.
    pub fn header(name: &str, why: &str) -> Fault {
        Fault::new(400, -32020, format!("header mismatch: {name} {why}"))
    }

    /// The version is not spoken.
    pub fn version(name: &str) -> Fault {
        Fault {
            data: Some(json!({ "supported": VERSIONS, "requested": name })),
            ..Fault::new(400, -32022, "unsupported protocol version")
        }
    }

    /// The page's origin is not allowed.
    pub fn origin() -> Fault {
        Fault::new(403, -32600, "pages of this origin are not allowed")
    }

    /// The error message.
    pub fn body(self, id: Option<&Value>) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = self.data {
            error["data"] = data;
        }
        // The protocol has no null id.
        match id {
            Some(id) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
            None => json!({ "jsonrpc": "2.0", "error": error }),
        }
    }
}
