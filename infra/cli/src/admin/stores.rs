//! The tables for an operator: the deployment's, or the local service's.

use std::collections::BTreeMap;
use std::net::ToSocketAddrs;
use std::path::Path;
use std::time::Duration;

use awo_cloud::{Cloud, Environment, SetupError, http_client};
use awo_domain::{Error, OrgId};
use awo_store::Store;
use awo_store::organizations::Organization;
use aws_config::BehaviorVersion;
use reqwest::Url;

use crate::address::{data_dir, start_advice};
use crate::arguments::Connection;
use crate::failure::Failure;

/// Longest time to see whether the local service is there.
const KNOCK: Duration = Duration::from_secs(1);
const DATABASE: &str = "AWS_ENDPOINT_URL_DYNAMODB";

/// The stores.
pub struct Stores {
    /// Clock, ids, secrets.
    pub cloud: Cloud,
    /// Tables.
    pub store: Store,
    /// True if they are the local service's.
    pub is_local: bool,
}

impl Stores {
    /// Finds the stores.
    pub async fn open(
        local: bool,
        connection: &Connection,
        environment: &Environment,
    ) -> Result<Stores, Failure> {
        let local =
            local || connection.data_dir.is_some() || environment.get("AWO_DATA_DIR").is_some();
        let environment = if local {
            local_environment(&data_dir(connection, environment))?
        } else {
            environment.clone()
        };
        let cloud = Cloud::new(environment, http_client());
        let cloud = if local {
            cloud
        } else {
            // As the AWS CLI finds them: of the environment, of a profile, of the machine.
            let sdk = aws_config::defaults(BehaviorVersion::latest());
            cloud.or_of(&sdk.http_client(http_client()).load().await)
        };
        let store = cloud.store().map_err(unset)?;
        Ok(Stores {
            cloud,
            store,
            is_local: local,
        })
    }

    /// The organization, which must be there before anything is written for it.
    pub async fn organization(&self, org: &OrgId) -> Result<Organization, Failure> {
        let found = self.store.organization(org).await.map_err(refused)?;
        found.ok_or_else(|| Failure::Refused(format!("there is no organization {org}")))
    }
}

/// The settings with which the local service's stores are reached, if it runs.
fn local_environment(data_dir: &Path) -> Result<Environment, Failure> {
    let path = data_dir.join("endpoints.json");
    let gone = |why: String| Failure::Unreachable {
        what: "the stores of the local service".to_owned(),
        why,
        advice: start_advice(data_dir),
    };
    let text = std::fs::read(&path).map_err(|e| gone(format!("{}: {e}", path.display())))?;
    let settings: BTreeMap<String, String> = serde_json::from_slice(&text)
        .map_err(|e| Failure::Broken(format!("{} cannot be read: {e}", path.display())))?;
    // The file outlives the service, so the service is called to see whether it runs.
    let database = settings.get(DATABASE).and_then(|url| Url::parse(url).ok());
    let address = database.and_then(|url| {
        let address = (url.host_str()?.to_owned(), url.port_or_known_default()?);
        address.to_socket_addrs().ok()?.next()
    });
    let address = address.ok_or_else(|| {
        gone(format!(
            "{} does not contain the address of a database",
            path.display()
        ))
    })?;
    std::net::TcpStream::connect_timeout(&address, KNOCK).map_err(|_| {
        gone(format!(
            "nothing answers on {address}: the service is not running"
        ))
    })?;
    Ok(Environment::new(move |name| settings.get(name).cloned()))
}

pub(super) fn unset(error: SetupError) -> Failure {
    Failure::Usage(format!(
        "{error}\n  what to do: for the local service, use --local; for a deployment, set \
         AWO_WORK_TABLE, AWO_LEDGER_TABLE, AWO_SETTINGS_TABLE and AWO_DELIVERIES_TABLE to the names \
         of its tables"
    ))
}

/// What the stores refused, in an operator's words: causes are theirs to see.
pub fn refused(error: Error) -> Failure {
    match error {
        Error::Internal { cause } => Failure::Unreachable {
            what: "the stores".to_owned(),
            why: cause,
            advice: "check the credentials, region and table names, then try again".to_owned(),
        },
        other => Failure::Refused(other.to_string()),
    }
}
