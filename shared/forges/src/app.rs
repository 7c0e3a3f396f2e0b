//! GitHub Apps: tokens for one repository and a while. GitHub issues them for a short statement (a JWT)
//! that the App's key signs.

use awo_domain::Timestamp;
use awo_domain::forge::AppSetting;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Method, StatusCode};
use ring::error::Unspecified;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use crate::rest::{Call, Rest};
use crate::{Api, Fault, Hosts, github};

/// Fewest bits of a key.
const LEAST_BITS: usize = 2_048;
/// How long before now a statement begins, in seconds: clocks differ.
const BEFORE: i64 = 60;
/// How long after now a statement ends, in seconds. GitHub takes ten minutes at most.
const AFTER: i64 = 540;

/// Reason why a text is no key of an App.
#[derive(Debug, thiserror::Error)]
pub enum AppKeyFault {
    /// Neither PKCS#1 nor PKCS#8 in PEM.
    #[error("is not a PEM file with a private key")]
    NoPem,
    /// A key of another algorithm.
    #[error("is not an RSA key")]
    NotRsa,
    /// Too weak, or broken.
    #[error("is not an RSA key of at least {LEAST_BITS} bits: {0}")]
    Rejected(ring::error::KeyRejected),
}

/// The private key of an App.
pub struct AppKey(RsaKeyPair);

impl AppKey {
    /// Reads a PEM file, as GitHub makes it.
    ///
    /// # Errors
    /// [`AppKeyFault`], which ends a sentence that begins with the key.
    pub fn parse(pem: &str) -> Result<AppKey, AppKeyFault> {
        let der = PrivateKeyDer::from_pem_slice(pem.as_bytes());
        let der = der.map_err(|_| AppKeyFault::NoPem)?;
        let pair = match &der {
            PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
            _ => return Err(AppKeyFault::NotRsa),
        };
        // It takes none of fewer bits.
        pair.map(AppKey).map_err(AppKeyFault::Rejected)
    }

    /// The statement that this is the App, as of `now`.
    ///
    /// # Errors
    /// [`Unspecified`], if the key does not sign.
    pub(crate) fn statement(&self, app_id: u64, now: Timestamp) -> Result<String, Unspecified> {
        let now = now.epoch_seconds();
        let part = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let header = part(json!({ "alg": "RS256", "typ": "JWT" }));
        let claims = part(json!({
            "iat": now - BEFORE, "exp": now + AFTER, "iss": app_id.to_string(),
        }));
        let signed = format!("{header}.{claims}");
        let mut signature = vec![0; self.0.public().modulus_len()];
        let (padding, random) = (&RSA_PKCS1_SHA256, SystemRandom::new());
        self.0
            .sign(padding, &random, signed.as_bytes(), &mut signature)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// Repositories that a token is for, with what it may do there.
#[derive(Debug, Clone, Copy)]
pub enum TokenScope<'a> {
    /// The repository of a run, with the rights that a run needs and no others.
    Run,
    /// The same repository, to read its pull requests.
    PullRequests,
    /// The same repository, to write this: `checks`, `statuses` or `issues`.
    Reports(&'static str),
    /// Other repositories of the same owner, by their names, to read them.
    Submodules(&'a [String]),
}

/// A token of an installation.
pub struct InstallationToken {
    /// The token.
    pub token: String,
    /// Its end.
    pub expires_at: Timestamp,
}

/// A token for these repositories alone; none if the App is not installed for the one of `api`, or for none
/// of the others.
///
/// # Errors
/// A [`Fault`] of a call.
pub async fn installation_token(
    api: &Api,
    hosts: &Hosts,
    (key, app): (&AppKey, AppSetting),
    scope: TokenScope<'_>,
    now: Timestamp,
) -> Result<Option<InstallationToken>, Fault> {
    let broken = |why: String| Fault::Refused(StatusCode::UNAUTHORIZED, why);
    let statement = key.statement(app.app_id, now);
    let statement = statement.map_err(|_| broken("the App's key does not sign".to_owned()))?;
    let rest = Rest::new(hosts, api.url.clone(), &statement, github::headers());
    let rest = rest.map_err(broken)?;
    let found = match app.installation_id {
        Some(id) => Some(id),
        None => installation(&rest, &api.path).await?,
    };
    let Some(installation) = found else {
        return Ok(None);
    };
    let own = |permissions: Value| json!({ "repositories": [api.path.last()], "permissions": permissions });
    let names = match scope {
        TokenScope::Submodules(names) => names,
        TokenScope::PullRequests => {
            let body = own(json!({ "pull_requests": "read", "metadata": "read" }));
            return issue(&rest, installation, &body).await;
        }
        TokenScope::Reports(permission) => {
            let body = own(json!({ permission: "write", "metadata": "read" }));
            return issue(&rest, installation, &body).await;
        }
        TokenScope::Run => {
            let permissions =
                json!({ "contents": "write", "pull_requests": "write", "metadata": "read" });
            return issue(&rest, installation, &own(permissions)).await;
        }
    };
    let permissions = json!({ "contents": "read", "metadata": "read" });
    let body = json!({ "repositories": names, "permissions": permissions });
    if let Some(issued) = issue(&rest, installation, &body).await? {
        return Ok(Some(issued));
    }
    // One that it does not have is enough for a refusal of all.
    let mut covered = Vec::new();
    for name in names {
        let path = [api.path[0].clone(), name.clone()];
        if self::installation(&rest, &path).await? == Some(installation) {
            covered.push(name);
        }
    }
    if covered.is_empty() || covered.len() == names.len() {
        return Ok(None);
    }
    let body = json!({ "repositories": covered, "permissions": permissions });
    issue(&rest, installation, &body).await
}

/// A token of an installation; none if it does not have the repositories.
async fn issue(
    rest: &Rest,
    installation: u64,
    body: &Value,
) -> Result<Option<InstallationToken>, Fault> {
    let path = format!("app/installations/{installation}/access_tokens");
    let call = Call {
        method: Method::POST,
        path: &path,
        query: &[],
        body: Some(body),
    };
    let answer = match rest.call(&call, github::judge).await {
        // The installation is gone, or does not have the repository.
        Err(Fault::Refused(StatusCode::NOT_FOUND, _)) => return Ok(None),
        Err(Fault::Refused(StatusCode::UNPROCESSABLE_ENTITY, why))
            if why.contains("not accessible") =>
        {
            return Ok(None);
        }
        answer => answer?,
    };
    let token = answer["token"].as_str();
    let expires_at = github::time(&answer["expires_at"]);
    let issued = token
        .zip(expires_at)
        .map(|(token, expires_at)| InstallationToken {
            token: token.to_owned(),
            expires_at,
        });
    let unreadable = "its answer is not a token with its end";
    let issued = issued.ok_or_else(|| Fault::Refused(StatusCode::CREATED, unreadable.to_owned()));
    issued.map(Some)
}

/// The installation that has the repository.
async fn installation(rest: &Rest, repository: &[String]) -> Result<Option<u64>, Fault> {
    let path = format!("repos/{}/installation", repository.join("/"));
    let call = Call {
        method: Method::GET,
        path: &path,
        query: &[],
        body: None,
    };
    match rest.call(&call, github::judge).await {
        Err(Fault::Refused(StatusCode::NOT_FOUND, _)) => Ok(None),
        answer => Ok(answer?["id"].as_u64()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    use super::*;

    fn made(args: &[&str]) -> String {
        let made = Command::new("openssl").args(args).output().unwrap();
        String::from_utf8(made.stdout).unwrap()
    }

    #[test]
    fn a_key_is_rsa_of_2048_bits_in_either_form_and_no_other_is_taken() {
        for good in [
            made(&["genrsa", "-traditional", "2048"]),
            made(&["genrsa", "2048"]),
        ] {
            assert!(AppKey::parse(&good).is_ok(), "{good}");
        }
        for bad in [
            made(&["genrsa", "1024"]),
            made(&["ecparam", "-name", "prime256v1", "-genkey", "-noout"]),
            "no key".to_owned(),
            String::new(),
        ] {
            assert!(AppKey::parse(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_statement_begins_a_minute_ago_ends_within_ten_and_is_signed_by_the_key() {
        let key = AppKey::parse(&made(&["genrsa", "2048"])).unwrap();
        let now = Timestamp::from_epoch_ms(1_700_000_000_500);
        let statement = key.statement(42, now).unwrap();
        let (signed, signature) = statement.rsplit_once('.').unwrap();
        let read = |part: &str| -> Value {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
        };
        let (header, claims) = signed.split_once('.').unwrap();
        assert_eq!(read(header), json!({"alg": "RS256", "typ": "JWT"}));
        let wanted = json!({"iat": 1_699_999_940, "exp": 1_700_000_540, "iss": "42"});
        assert_eq!(read(claims), wanted);
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.0.public());
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        assert!(public.verify(signed.as_bytes(), &signature).is_ok());
    }
}
