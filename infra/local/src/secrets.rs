//! Secrets Manager. Invariants: the file always has the complete state of some moment, even after a
//! crash during a write; only its owner can read it; an operation responds after its state is on
//! disk.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::access::AccessKey;
use crate::aws_json::{self, Dialect, Refusal};
use crate::serve::Server;
use crate::shutdown::Shutdown;
use crate::{arn, clock};

mod deletion;
mod file;

/// Bytes of one secret's value.
const VALUE_BYTES: usize = 65_536;

/// Letters of a secret's name.
const NAME_LETTERS: usize = 512;

/// Secrets of one local cloud.
const SECRETS: usize = 100_000;

const BODY_BYTES: usize = 256 * 1024;

const DIALECT: Dialect = Dialect {
    target_prefix: "secretsmanager.",
    content_type: "application/x-amz-json-1.1",
    body_bytes: BODY_BYTES,
};

#[derive(Clone, Serialize, Deserialize)]
struct Version {
    id: String,
    string: Option<String>,
    /// Base64.
    binary: Option<String>,
    created: DateTime<Utc>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Secret {
    arn: String,
    current: Option<Version>,
    previous: Option<Version>,
    /// When it was marked for deletion. It can no longer be read then.
    deleted: Option<DateTime<Utc>>,
}

/// By name.
type Secrets = BTreeMap<String, Secret>;

/// Serves the secrets of `file` until the shutdown. The file need not exist yet.
///
/// # Errors
/// When the file is there but cannot be read, or the listener is not on loopback.
pub fn start(
    listener: TcpListener,
    file: &Path,
    takes_secrets: bool,
    key: AccessKey,
    shutdown: Shutdown,
) -> io::Result<Server> {
    let store = Arc::new(Store {
        file: file.to_owned(),
        takes_secrets,
        secrets: Mutex::new(file::read(file)?),
    });
    aws_json::serve(listener, DIALECT, key, shutdown, move |operation, body| {
        let store = Arc::clone(&store);
        async move {
            tokio::task::spawn_blocking(move || store.run(&operation, &body))
                .await
                .unwrap_or_else(|error| Err(internal(error.to_string())))
        }
    })
}

struct Store {
    file: PathBuf,
    takes_secrets: bool,
    secrets: Mutex<Secrets>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    name: Option<String>,
    secret_id: Option<String>,
    client_request_token: Option<String>,
    secret_string: Option<String>,
    secret_binary: Option<String>,
    version_id: Option<String>,
    version_stage: Option<String>,
    #[serde(default)]
    force_delete_without_recovery: bool,
    #[serde(default)]
    filters: Vec<Filter>,
    next_token: Option<String>,
    max_results: Option<usize>,
}

/// Of a list: one of these values stands in the key.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Filter {
    key: String,
    values: Vec<String>,
}

impl Store {
    fn run(&self, operation: &str, body: &[u8]) -> Result<String, Refusal> {
        let input: Input = aws_json::input(body)?;
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        match operation {
            "GetSecretValue" => return get(&secrets, &input).map(|answer| answer.to_string()),
            "ListSecrets" => return Ok(deletion::list(&secrets, &input).to_string()),
            _ => {}
        }
        if !self.takes_secrets && operation != "DeleteSecret" {
            return Err(unconfined());
        }
        // Changed aside and taken over once it is on disk.
        let mut changed = secrets.clone();
        let answer = match operation {
            "CreateSecret" => create(&mut changed, input)?,
            "PutSecretValue" => put(&mut changed, input)?,
            "DeleteSecret" => deletion::delete(&mut changed, &input)?,
            "RestoreSecret" => deletion::restore(&mut changed, &input)?,
            other => {
                return Err(aws_json::unknown_operation(format!(
                    "{other} is not served here"
                )));
            }
        };
        file::write(&self.file, &changed)
            .map_err(|error| internal(format!("the secrets cannot be stored: {error}")))?;
        *secrets = changed;
        Ok(answer.to_string())
    }
}

fn internal(message: String) -> Refusal {
    Refusal::new(500, "InternalServiceError", message)
}

fn invalid(message: &str) -> Refusal {
    Refusal::new(400, "InvalidParameterException", message)
}

fn unconfined() -> Refusal {
    Refusal::new(
        400,
        "InvalidRequestException",
        "On this machine agents can read what is stored here: use a kernel with Landlock (5.13 and later), \
         run the service as root, or set AWO_ALLOW_UNCONFINED_SECRETS=1.",
    )
}

fn not_found() -> Refusal {
    Refusal::new(
        400,
        "ResourceNotFoundException",
        "Secrets Manager can't find the specified secret.",
    )
}

fn marked_for_deletion() -> Refusal {
    Refusal::new(
        400,
        "InvalidRequestException",
        "You can't perform this operation on the secret because it was marked for deletion.",
    )
}

/// The name of the secret that a caller means by its name or its ARN.
fn name_of(secrets: &Secrets, id: Option<&str>) -> Result<String, Refusal> {
    let id = id.ok_or_else(|| invalid("You must provide SecretId."))?;
    if secrets.contains_key(id) {
        return Ok(id.to_owned());
    }
    let by_arn = secrets.iter().find(|(_, secret)| secret.arn == id);
    by_arn.map(|(name, _)| name.clone()).ok_or_else(not_found)
}

fn version(input: &Input) -> Result<Version, Refusal> {
    let bytes = match (&input.secret_string, &input.secret_binary) {
        (Some(text), None) => text.len(),
        (None, Some(base64)) => base64.len() / 4 * 3,
        _ => {
            return Err(invalid(
                "You must provide either SecretString or SecretBinary.",
            ));
        }
    };
    if bytes > VALUE_BYTES {
        return Err(invalid("The secret value must have at most 65536 bytes."));
    }
    Ok(Version {
        id: input
            .client_request_token
            .clone()
            .unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
        string: input.secret_string.clone(),
        binary: input.secret_binary.clone(),
        created: clock::now(),
    })
}

fn same(one: &Version, other: &Version) -> bool {
    one.id == other.id && one.string == other.string && one.binary == other.binary
}

fn create(secrets: &mut Secrets, input: Input) -> Result<Value, Refusal> {
    let name = input.name.clone().unwrap_or_default();
    let letters = |letter: char| letter.is_ascii_alphanumeric() || "/_+=.@-".contains(letter);
    if name.is_empty() || name.len() > NAME_LETTERS || !name.chars().all(letters) {
        return Err(invalid(
            "Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!",
        ));
    }
    let has_value = input.secret_string.is_some() || input.secret_binary.is_some();
    let version = if has_value {
        Some(version(&input)?)
    } else {
        None
    };
    if let Some(known) = secrets.get(&name) {
        if known.deleted.is_some() {
            return Err(Refusal::new(
                400,
                "InvalidRequestException",
                "You can't create this secret because a secret with this name is already \
                 scheduled for deletion.",
            ));
        }
        // The same request again, its answer having been lost.
        let repeated = match (&known.current, &version) {
            (Some(known), Some(version)) => same(known, version),
            _ => false,
        };
        if !repeated {
            return Err(Refusal::new(
                400,
                "ResourceExistsException",
                format!("The operation failed because the secret {name} already exists."),
            ));
        }
        return Ok(
            json!({"ARN": known.arn, "Name": name, "VersionId": version.map(|version| version.id)}),
        );
    }
    if secrets.len() >= SECRETS {
        return Err(Refusal::new(
            400,
            "LimitExceededException",
            "There are too many secrets.",
        ));
    }
    let arn = arn::secret(&name);
    let answer = json!({
        "ARN": arn,
        "Name": name,
        "VersionId": version.as_ref().map(|version| version.id.clone()),
    });
    secrets.insert(
        name,
        Secret {
            arn,
            current: version,
            previous: None,
            deleted: None,
        },
    );
    Ok(answer)
}

fn put(secrets: &mut Secrets, input: Input) -> Result<Value, Refusal> {
    let name = name_of(secrets, input.secret_id.as_deref())?;
    let version = version(&input)?;
    let secret = secrets.get_mut(&name).ok_or_else(not_found)?;
    if secret.deleted.is_some() {
        return Err(marked_for_deletion());
    }
    let id = version.id.clone();
    let known = secret
        .current
        .iter()
        .chain(&secret.previous)
        .find(|known| known.id == id);
    match known {
        Some(known) if same(known, &version) => {}
        Some(_) => {
            return Err(Refusal::new(
                400,
                "ResourceExistsException",
                "A version with this ClientRequestToken exists and has another value.",
            ));
        }
        None => secret.previous = secret.current.replace(version),
    }
    let arn = &secret.arn;
    Ok(json!({"ARN": arn, "Name": name, "VersionId": id, "VersionStages": ["AWSCURRENT"]}))
}

fn get(secrets: &Secrets, input: &Input) -> Result<Value, Refusal> {
    let name = name_of(secrets, input.secret_id.as_deref())?;
    let secret = secrets.get(&name).ok_or_else(not_found)?;
    if secret.deleted.is_some() {
        return Err(marked_for_deletion());
    }
    let versions = [
        (&secret.current, "AWSCURRENT"),
        (&secret.previous, "AWSPREVIOUS"),
    ];
    let wanted_stage = match (&input.version_stage, &input.version_id) {
        (None, None) => Some("AWSCURRENT"),
        (stage, _) => stage.as_deref(),
    };
    let found = versions.into_iter().find_map(|(version, stage)| {
        let version = version.as_ref()?;
        let stage_fits = wanted_stage.is_none_or(|wanted| wanted == stage);
        let id_fits = input
            .version_id
            .as_ref()
            .is_none_or(|wanted| *wanted == version.id);
        (stage_fits && id_fits).then_some((version, stage))
    });
    let (version, stage) = found.ok_or_else(not_found)?;
    let mut answer = json!({
        "ARN": secret.arn,
        "Name": name,
        "VersionId": version.id,
        "VersionStages": [stage],
        "CreatedDate": clock::epoch_seconds(version.created),
    });
    if let Some(text) = &version.string {
        answer["SecretString"] = json!(text);
    }
    if let Some(base64) = &version.binary {
        answer["SecretBinary"] = json!(base64);
    }
    Ok(answer)
}
