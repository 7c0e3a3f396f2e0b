//! A GitHub App: its statements (JWT) by GitHub's rules for their times, its installation, and tokens that
//! end, each for some repositories and with some permissions.

use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::forge_double::Call;
use crate::github::refusal;

/// Longest time from now to the end of a statement.
const LONGEST: i64 = 600;
/// Id of the installation.
pub const INSTALLATION: u64 = 4711;

/// An App with one installation.
#[derive(Debug, Clone)]
pub struct App {
    /// Its id.
    pub id: u64,
    /// Its public key, as PKCS#1 in DER.
    pub public_key: Vec<u8>,
    /// Repositories that it is installed for, as `owner/name`.
    pub repositories: Vec<String>,
    /// Permissions that the installation was granted.
    pub permissions: Value,
    /// How long a token lasts, by its answer.
    pub stated: Duration,
    /// How long it lasts indeed.
    pub lasts: Duration,
    /// Number of tokens that are accepted; those after them never are.
    pub most_tokens: usize,
    /// The lead of the host's clock over this machine's.
    pub ahead: Duration,
    /// Beginning of each token.
    pub prefix: String,
    /// Tokens that were issued.
    pub issued: Vec<IssuedToken>,
}

/// A token of an installation.
#[derive(Debug, Clone)]
pub struct IssuedToken {
    /// The token.
    pub token: String,
    /// Repositories that it is for.
    pub repositories: Vec<String>,
    /// Permissions that it has.
    pub permissions: Value,
    /// Its end, in milliseconds.
    ends_at: u128,
    is_accepted: bool,
}

/// Verdict on a token at a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The host does not know it, or not any more.
    Unknown,
    /// It is for other repositories.
    Elsewhere,
    /// It may do less.
    Less,
    /// It may.
    Admitted,
}

impl App {
    /// An App for these repositories with all permissions that a run needs and more, whose tokens last an
    /// hour; and its private key.
    ///
    /// # Panics
    /// When openssl makes no key.
    #[must_use]
    pub fn made(id: u64, repositories: &[&str]) -> (App, String) {
        let pem = openssl(&["genrsa", "2048"], "");
        let public = ["rsa", "-RSAPublicKey_out", "-outform", "DER"];
        let hour = Duration::from_secs(3_600);
        let app = App {
            id,
            public_key: openssl(&public, &String::from_utf8_lossy(&pem)),
            repositories: repositories.iter().map(|name| (*name).to_owned()).collect(),
            permissions: json!({"contents": "write", "pull_requests": "write", "metadata": "read",
                "checks": "write", "statuses": "write",
                "issues": "write"}),
            stated: hour,
            lasts: hour,
            most_tokens: usize::MAX,
            ahead: Duration::ZERO,
            prefix: "ghs_".to_owned(),
            issued: Vec::new(),
        };
        (app, String::from_utf8(pem).expect("a PEM file"))
    }

    /// True for a call that the App makes as itself.
    pub(crate) fn is_asked(call: &Call) -> bool {
        let parts = call.parts();
        matches!(
            parts.as_slice(),
            ["app", ..] | ["repos", _, _, "installation"]
        )
    }

    /// The answer to such a call.
    pub(crate) fn answer(&mut self, bearer: &str, call: &Call) -> (u16, Value) {
        if let Err(why) = self.verify(bearer) {
            return (401, refusal(&why, 401));
        }
        let parts = call.parts();
        match (call.method.as_str(), parts.as_slice()) {
            ("GET", ["app"]) => {
                let permissions = &self.permissions;
                let app = json!({"id": self.id, "slug": "agent", "node_id": "A_1", "name": "agent",
                    "owner": {"login": "acme"}, "permissions": permissions, "events": []});
                (200, app)
            }
            ("GET", ["repos", owner, name, "installation"])
                if self.repositories.contains(&format!("{owner}/{name}")) =>
            {
                let url = format!("https://github.example/app/installations/{INSTALLATION}");
                let shown = json!({"id": INSTALLATION, "app_id": self.id, "app_slug": "agent",
                    "target_type": "Organization", "account": {"login": owner},
                    "repository_selection": "selected", "permissions": self.permissions,
                    "access_tokens_url": format!("{url}/access_tokens"), "events": [],
                    "suspended_at": null});
                (200, shown)
            }
            ("POST", ["app", "installations", id, "access_tokens"])
                if *id == INSTALLATION.to_string() =>
            {
                self.issue(&call.body)
            }
            _ => (404, refusal("Not Found", 404)),
        }
    }

    /// Verifies a statement as GitHub does.
    fn verify(&self, statement: &str) -> Result<(), String> {
        let undecoded = || "A JSON web token could not be decoded".to_owned();
        let (signed, signature) = statement.rsplit_once('.').ok_or_else(undecoded)?;
        let (header, claims) = signed.split_once('.').ok_or_else(undecoded)?;
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| undecoded());
        let read = |text: &str| -> Result<Value, String> {
            serde_json::from_slice(&bytes(text)?).map_err(|_| undecoded())
        };
        let (header, claims) = (read(header)?, read(claims)?);
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.public_key);
        let is_signed = key.verify(signed.as_bytes(), &bytes(signature)?).is_ok();
        if header["alg"] != "RS256" || !is_signed {
            return Err(undecoded());
        }
        let issuer = &claims["iss"];
        let own = self.id.to_string();
        if issuer != self.id && issuer.as_str() != Some(&own) {
            return Err("'Issuer' claim ('iss') must be the id of the App".to_owned());
        }
        let now = i64::try_from(self.now_ms() / 1_000).unwrap_or(i64::MAX);
        let second = |name: &str| claims[name].as_i64();
        match (second("iat"), second("exp")) {
            (Some(iat), _) if iat > now => Err(
                "'Issued at' claim ('iat') must be an Integer representing the time that the \
                 assertion was issued"
                    .to_owned(),
            ),
            (_, Some(exp)) if exp > now + LONGEST => {
                Err("'Expiration time' claim ('exp') is too far in the future".to_owned())
            }
            (Some(_), Some(exp)) if exp > now => Ok(()),
            _ => Err(
                "'Expiration time' claim ('exp') must be a numeric value representing the future \
                 time at which the assertion expires"
                    .to_owned(),
            ),
        }
    }

    fn issue(&mut self, body: &Value) -> (u16, Value) {
        let owner = self
            .repositories
            .first()
            .and_then(|one| one.split('/').next());
        let owner = owner.unwrap_or_default().to_owned();
        let names = body["repositories"].as_array().cloned();
        let full = |name: &Value| format!("{owner}/{}", name.as_str().unwrap_or_default());
        let repositories: Vec<String> = match names {
            Some(names) => names.iter().map(full).collect(),
            None => self.repositories.clone(),
        };
        if !repositories
            .iter()
            .all(|one| self.repositories.contains(one))
        {
            let why = "There is at least one repository that does not exist or is not accessible \
                       to the parent installation.";
            return (422, refusal(why, 422));
        }
        let permissions = match &body["permissions"] {
            Value::Null => self.permissions.clone(),
            permissions => permissions.clone(),
        };
        let mut wanted = permissions.as_object().into_iter().flatten();
        if !wanted.all(|(name, level)| has(&self.permissions, name, level == "write")) {
            let why = "The permissions requested are not granted to this installation.";
            return (422, refusal(why, 422));
        }
        let number = self.issued.len() + 1;
        let token = format!("{}{}{number}", self.prefix, "0".repeat(30));
        let now = self.now_ms();
        let seconds = (now + self.stated.as_millis()) / 1_000;
        let expires_at = DateTime::from_secs(i64::try_from(seconds).expect("a time"));
        let expires_at = expires_at.fmt(Format::DateTime).expect("a time");
        let shown = repositories.iter().map(|name| json!({"full_name": name}));
        let answer = json!({"token": token, "expires_at": expires_at, "permissions": permissions,
            "repository_selection": "selected", "repositories": shown.collect::<Vec<_>>()});
        self.issued.push(IssuedToken {
            token,
            repositories,
            permissions,
            ends_at: now + self.lasts.as_millis(),
            is_accepted: number <= self.most_tokens,
        });
        (201, answer)
    }

    /// Judges a token at a repository (`owner/name`), for a permission.
    pub(crate) fn admits(
        &self,
        token: &str,
        repository: &str,
        (permission, writes): (&str, bool),
    ) -> Admission {
        let mut issued = self.issued.iter();
        let issued = issued.find(|issued| issued.token == token);
        let issued = issued.filter(|issued| issued.is_accepted && issued.ends_at > self.now_ms());
        match issued {
            None => Admission::Unknown,
            Some(issued) if !issued.repositories.iter().any(|one| one == repository) => {
                Admission::Elsewhere
            }
            Some(issued) if !has(&issued.permissions, permission, writes) => Admission::Less,
            Some(_) => Admission::Admitted,
        }
    }

    fn now_ms(&self) -> u128 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        (since.expect("a clock") + self.ahead).as_millis()
    }
}

fn has(permissions: &Value, name: &str, writes: bool) -> bool {
    permissions[name] == "write" || (!writes && permissions[name] == "read")
}

fn openssl(args: &[&str], input: &str) -> Vec<u8> {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut openssl = Command::new("openssl")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl starts");
    let mut stdin = openssl.stdin.take().expect("a pipe");
    drop(stdin.write_all(input.as_bytes()));
    drop(stdin);
    let made = openssl.wait_with_output().expect("openssl ends");
    assert!(made.status.success(), "openssl {args:?}");
    made.stdout
}
