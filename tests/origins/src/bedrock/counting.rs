//! The body of CountTokens.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Refusal;

/// The body of the InvokeModel whose tokens are counted. As in AWS, only a model counts them, not an
/// inference profile.
pub(super) fn invocation(model: &str, body: &[u8]) -> Result<Vec<u8>, Refusal> {
    let invalid = |why: &str| (400, "ValidationException", why.to_owned());
    if !model.starts_with("anthropic.") {
        return Err(invalid(
            "The provided model doesn't support counting tokens.",
        ));
    }
    let body: Value = serde_json::from_slice(body).map_err(|why| invalid(&why.to_string()))?;
    let input = body["input"]["invokeModel"]["body"].as_str();
    let input = input.ok_or_else(|| invalid("input.invokeModel.body: Field required"))?;
    let bytes = STANDARD.decode(input);
    bytes.map_err(|why| invalid(&why.to_string()))
}
