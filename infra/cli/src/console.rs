//! `awo console`: where the console is.

use serde_json::json;

use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;

const PATH: &str = "/console/";

/// Prints the page's address, if the service has it.
pub async fn run(client: &Client, output: &Output) -> Result<(), Failure> {
    client.get_as(PATH, &[], "text/html").await?;
    let address = client.address(PATH);
    if output.is_json() {
        return output.line(&json!({ "url": address }).to_string());
    }
    output.line(&address)?;
    output.hint("Open it in a browser. It asks for an API key, and keeps it in its tab.")
}
