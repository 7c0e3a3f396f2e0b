//! STS, of which AssumeRole is implemented. Invariants: a session has a role of this account and
//! what real ones may have; its token describes it, and its secret key follows from token and
//! access key, so that a double of another service can check signatures without asking.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{SecondsFormat, TimeDelta};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

use crate::access::AccessKey;
use crate::serve::{self, Answer, Limits, RequestBody, Server};
use crate::shutdown::Shutdown;
use crate::{arn, calls, clock};

const BODY_BYTES: usize = 64 * 1024;
/// The version of the API, and the namespace of its answers.
const VERSION: &str = "2011-06-15";
/// Seconds of a session: the most is what a role gets that another role assumes.
const SECONDS: std::ops::RangeInclusive<i64> = 900..=3_600;
const DEFAULT_SECONDS: i64 = 3_600;
/// Characters of a session's name.
const NAME: std::ops::RangeInclusive<usize> = 2..=64;
const TAGS: usize = 50;
const TAG_KEY: std::ops::RangeInclusive<usize> = 1..=128;
const TAG_VALUE: usize = 256;
const LIMITS: Limits = Limits {
    connections: 1024,
    head_bytes: 64 * 1024,
    head_time: Duration::from_secs(600),
};

/// A session, as its token describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Names the credentials.
    pub access_key_id: String,
    /// The role.
    pub role_arn: String,
    /// Its name in logs.
    pub name: String,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// When it ends, Unix milliseconds.
    pub expires_at: i64,
}

impl Session {
    /// The session of a token; none if it is no token of this stand-in.
    #[must_use]
    pub fn of_token(token: &str) -> Option<Session> {
        let json = URL_SAFE_NO_PAD.decode(token).ok()?;
        serde_json::from_slice(&json).ok()
    }

    /// The secret access key that goes with a token, in the local cloud with this access key.
    #[must_use]
    pub fn secret_of(local_access_key: &str, token: &str) -> String {
        hex::encode(Sha256::digest(format!("{local_access_key}\n{token}")))
    }

    fn token(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }
}

/// A refusal: its status, its code, and a sentence.
type Refusal = (StatusCode, &'static str, String);

fn invalid(message: impl Into<String>) -> Refusal {
    (StatusCode::BAD_REQUEST, "ValidationError", message.into())
}

/// Serves roles until the shutdown.
///
/// # Errors
/// When the listener is not on loopback.
pub fn start(listener: TcpListener, key: AccessKey, shutdown: Shutdown) -> std::io::Result<Server> {
    serve::serve(listener, LIMITS, shutdown, move |request, _peer| {
        let key = key.clone();
        async move { rendered(answer(request, &key).await) }
    })
}

async fn answer(request: Request<RequestBody>, key: &AccessKey) -> Result<String, Refusal> {
    let (head, body) = request.into_parts();
    if !key.admits(head.headers.get(http::header::AUTHORIZATION)) {
        let message = "The security token included in the request is invalid.";
        return Err((
            StatusCode::FORBIDDEN,
            "InvalidClientTokenId",
            message.to_owned(),
        ));
    }
    if head.method != Method::POST {
        return Err(invalid("only POST is served here"));
    }
    let body = Limited::new(body, BODY_BYTES).collect().await;
    let body = body.map_err(|error| invalid(error.to_string()))?.to_bytes();
    let form: BTreeMap<String, String> = url::form_urlencoded::parse(&body).into_owned().collect();
    let of = |name: &str| form.get(name).map_or("", String::as_str);
    if (of("Action"), of("Version")) != ("AssumeRole", VERSION) {
        let message = format!("{} is not served here", of("Action"));
        return Err((StatusCode::BAD_REQUEST, "InvalidAction", message));
    }
    let tags = tags(&form)?;
    calls::note_role(&head.headers, of("RoleArn"), !tags.is_empty());
    assume(&form, tags, key)
}

fn assume(
    form: &BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    key: &AccessKey,
) -> Result<String, Refusal> {
    let of = |name: &str| form.get(name).map_or("", String::as_str);
    let role = of("RoleArn");
    let prefix = arn::role("");
    let name = role.strip_prefix(&prefix);
    if name.is_none_or(str::is_empty) {
        let message = format!("no caller is authorized to perform sts:AssumeRole on {role}");
        return Err((StatusCode::FORBIDDEN, "AccessDenied", message));
    }
    let name = of("RoleSessionName");
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    if !NAME.contains(&name.len()) || !name.chars().all(allowed) {
        return Err(invalid("RoleSessionName has a wrong form"));
    }
    let seconds = match of("DurationSeconds") {
        "" => DEFAULT_SECONDS,
        text => text
            .parse()
            .map_err(|_| invalid("DurationSeconds is no number"))?,
    };
    if !SECONDS.contains(&seconds) {
        return Err(invalid(
            "DurationSeconds exceeds what a chained role may have",
        ));
    }
    let ends = clock::now() + TimeDelta::seconds(seconds);
    let random = uuid::Uuid::new_v4().simple().to_string().to_uppercase();
    let session = Session {
        access_key_id: format!("ASIA{}", &random[..16]),
        role_arn: role.to_owned(),
        name: name.to_owned(),
        tags,
        expires_at: ends.timestamp_millis(),
    };
    let token = session.token();
    Ok(format!(
        "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/{VERSION}/\"><AssumeRoleResult>\
         <AssumedRoleUser><AssumedRoleId>AROA:{name}</AssumedRoleId><Arn>{role}/{name}</Arn>\
         </AssumedRoleUser><Credentials><AccessKeyId>{}</AccessKeyId><SecretAccessKey>{}\
         </SecretAccessKey><SessionToken>{token}</SessionToken><Expiration>{}</Expiration>\
         </Credentials></AssumeRoleResult><ResponseMetadata><RequestId>{}</RequestId>\
         </ResponseMetadata></AssumeRoleResponse>",
        session.access_key_id,
        Session::secret_of(key.id(), &token),
        ends.to_rfc3339_opts(SecondsFormat::Secs, true),
        uuid::Uuid::new_v4(),
    ))
}

/// `Tags.member.N.Key` and `….Value`.
fn tags(form: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Refusal> {
    let mut tags = BTreeMap::new();
    for number in 1..=TAGS + 1 {
        let part = |part: &str| form.get(&format!("Tags.member.{number}.{part}"));
        let Some((key, value)) = part("Key").zip(part("Value")) else {
            return Ok(tags);
        };
        let allowed = |c: char| c.is_alphanumeric() || c == ' ' || "_.:/=+-@".contains(c);
        let fits = TAG_KEY.contains(&key.chars().count())
            && value.chars().count() <= TAG_VALUE
            && key.chars().chain(value.chars()).all(allowed);
        if !fits || tags.insert(key.clone(), value.clone()).is_some() {
            return Err(invalid(format!("the tag {key:?} has a wrong form")));
        }
    }
    Err(invalid("there are too many tags"))
}

fn rendered(outcome: Result<String, Refusal>) -> Answer {
    let (status, body) = match outcome {
        Ok(body) => (StatusCode::OK, body),
        Err((status, code, message)) => {
            let escaped = message.replace('&', "&amp;").replace('<', "&lt;");
            let body = format!(
                "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/{VERSION}/\"><Error>\
                 <Type>Sender</Type><Code>{code}</Code><Message>{escaped}</Message></Error>\
                 <RequestId>{}</RequestId></ErrorResponse>",
                uuid::Uuid::new_v4(),
            );
            (status, body)
        }
    };
    let mut answer = Response::new(serve::whole(body));
    *answer.status_mut() = status;
    let xml = http::HeaderValue::from_static("text/xml");
    answer.headers_mut().insert(http::header::CONTENT_TYPE, xml);
    answer
}
