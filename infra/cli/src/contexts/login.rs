//! `awo login`: checks a key against its service and stores both as a context.

use awo_cloud::Environment;
use serde_json::json;

use super::default_name;
use super::store::{self, LOCAL, ServiceContext};
use crate::address::{self, Address};
use crate::arguments::{Connection, Login, context_name};
use crate::client::Client;
use crate::failure::Failure;
use crate::hidden_input;
use crate::output::Output;

/// Stores a context, and uses it.
pub async fn run(
    wanted: &Login,
    connection: &Connection,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let url = address::checked(&wanted.address)?;
    let name = wanted.name.clone().unwrap_or_else(|| default_name(&url));
    let name = context_name(&name).map_err(|why| Failure::Usage(format!("--name {why}")))?;
    if name == LOCAL {
        let why = "--name: `local` is reserved for the service that `make run` starts; choose another name";
        return Err(Failure::Usage(why.to_owned()));
    }
    let api_key = match &connection.api_key_file {
        Some(path) => address::key_file(path)?,
        None => hidden_input::read(&format!("API key for {url}")).await?,
    };
    let api_key = address::printable(api_key.trim())?;
    let address = Address {
        url: url.clone(),
        api_key: api_key.clone(),
        context: None,
        why: String::new(),
    };
    check(&Client::new(address)?).await?;
    store::change(environment, |contexts| {
        let stored = ServiceContext {
            url: url.to_string(),
            api_key,
        };
        contexts.contexts.insert(name.clone(), stored);
        contexts.current = Some(name.clone());
        Ok(())
    })?;
    if output.is_json() {
        return output.line(&json!({ "context": name, "address": url.as_str() }).to_string());
    }
    output.line(&format!(
        "the key is valid; {name} is now the current context"
    ))
}

/// A key that may not see credits is a key all the same.
async fn check(client: &Client) -> Result<(), Failure> {
    match client.get("/v1/credits", &[]).await {
        Err(Failure::Api(refusal)) if refusal.status == 403 => Ok(()),
        Err(failure) => Err(failure),
        Ok(_) => Ok(()),
    }
}
