//! A request whose caller is authenticated and authorized.

use awo_contract::path_id::{PathId, decoded_plugin_id};
use awo_domain::plugin::PluginId;
use awo_domain::{Error, OrgId, Timestamp};
use awo_store::engine::idempotency::{IdempotentRequest, NewResponse};
use awo_store::organizations::keys::Caller;
use lambda_http::request::RequestContext;
use lambda_http::{Body, Request, RequestExt};
use sha2::{Digest, Sha256};

use crate::answer::Answer;
use crate::query::Query;
use awo_contract::body::Object;
use awo_contract::routes::Route;

/// Largest body of a client, in bytes.
pub const MAX_BODY_BYTES: usize = 262_144;
/// Longest idempotency key, in characters.
const MAX_IDEMPOTENCY_KEY: usize = 255;

/// A request whose caller is known and allowed.
#[derive(Debug)]
pub struct Call {
    /// The caller.
    pub caller: Caller,
    /// When it came.
    pub now: Timestamp,
    /// Its id.
    pub request_id: String,
    /// True if a page of an origin that is not allowed sent it.
    pub has_foreign_origin: bool,
    pub(crate) route: &'static Route,
    pub(crate) request: Request,
}

impl Call {
    /// The caller's organization.
    #[must_use]
    pub fn org(&self) -> &OrgId {
        &self.caller.org_id
    }

    /// The id or the name in the path.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is no id: nothing can have it.
    pub fn path_id<T: PathId>(&self) -> Result<T, Error> {
        T::parse(self.path_parameter(T::NAMES)).ok_or(Error::NotFound(T::RESOURCE))
    }

    /// The text in the path for a plugin's id.
    #[must_use]
    pub fn plugin_id_text(&self) -> String {
        decoded_plugin_id(self.path_parameter(PluginId::NAMES))
    }

    /// The path's parameter, by the name that it has in this route.
    fn path_parameter(&self, names: [&str; 2]) -> &str {
        let parameters = self.request.path_parameters_ref();
        let found = parameters.and_then(|of| names.into_iter().find_map(|name| of.first(name)));
        found.unwrap_or_default()
    }

    /// True if the client asks for this media type by its name, and for a body at all.
    #[must_use]
    pub fn accepts(&self, media_type: &str) -> bool {
        if self.request.method() == "HEAD" {
            return false;
        }
        let headers = self.request.headers().get_all("accept").into_iter();
        let ranges = headers.filter_map(|value| value.to_str().ok());
        ranges.flat_map(|value| value.split(',')).any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let named = parts
                .next()
                .is_some_and(|name| name.eq_ignore_ascii_case(media_type));
            named && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
        })
    }

    /// The number of the last event that a client of a live stream has seen, if it sends one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not such a number, sent once.
    pub fn last_event_id(&self) -> Result<Option<u32>, Error> {
        let mut values = self.request.headers().get_all("last-event-id").iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let digits = value
            .to_str()
            .ok()
            .filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()));
        match (digits.and_then(|text| text.parse().ok()), values.next()) {
            (Some(number), None) => Ok(Some(number)),
            _ => Err(Error::invalid(
                "Last-Event-ID",
                format!("must be a whole number from 0 to {}", u32::MAX),
            )),
        }
    }

    /// A header that is sent once and is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.request.headers().get_all(name).iter();
        let value = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(value)
    }

    /// The address at which the gateway serves the API, without a slash at its end.
    ///
    /// # Errors
    /// Internal, if the request came through no gateway.
    pub fn base_url(&self) -> Result<String, Error> {
        let none = || Error::internal("the request has no context of a gateway");
        let Some(RequestContext::ApiGatewayV1(context)) = self.request.request_context_ref() else {
            return Err(none());
        };
        // The path begins with the stage, or with the path of a domain of the operator's.
        let path = context.path.as_deref().unwrap_or_default();
        let prefix = path.strip_suffix(self.route.path).ok_or_else(none)?;
        let domain = context.domain_name.as_deref().ok_or_else(none)?;
        let scheme = match self.header("x-forwarded-proto") {
            Some("http") => "http",
            _ => "https",
        };
        Ok(format!("{scheme}://{domain}{prefix}"))
    }

    /// The query, to be read parameter by parameter.
    #[must_use]
    pub fn query(&self) -> Query {
        Query::of(&self.request)
    }

    /// True if there is a body. `null` declared as JSON is none: generated clients send it where an
    /// optional body is left out.
    #[must_use]
    pub fn has_body(&self) -> bool {
        !body_bytes(&self.request).is_empty() && !self.has_null_body()
    }

    /// True if the body is `null`, declared as JSON.
    #[must_use]
    pub fn has_null_body(&self) -> bool {
        is_json(&self.request) && body_bytes(&self.request).trim_ascii() == b"null"
    }

    /// The body, which is declared as JSON and not read yet.
    ///
    /// # Errors
    /// [`Error::UnsupportedMediaType`] or [`Error::PayloadTooLarge`].
    pub fn json(&self) -> Result<&[u8], Error> {
        let bytes = body_bytes(&self.request);
        if !is_json(&self.request) {
            return Err(Error::UnsupportedMediaType);
        }
        if bytes.len() > MAX_BODY_BYTES {
            return Err(Error::PayloadTooLarge {
                limit_bytes: MAX_BODY_BYTES,
            });
        }
        Ok(bytes)
    }

    /// The body, which must be a JSON object.
    ///
    /// # Errors
    /// What is wrong with it as a whole.
    pub fn object(&self) -> Result<Object, Error> {
        Object::parse(self.json()?)
    }

    /// The body of a route that can do without one: no body is an empty object.
    ///
    /// # Errors
    /// What is wrong with it as a whole.
    pub fn object_or_nothing(&self) -> Result<Object, Error> {
        if !self.has_body() {
            return Object::parse(b"{}");
        }
        self.object()
    }

    /// The idempotency key with what it stands for, if the request carries one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not 1–255 visible ASCII characters, sent once.
    pub fn idempotency(&self) -> Result<Option<IdempotentRequest>, Error> {
        let mut values = self.request.headers().get_all("idempotency-key").iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let visible = (1..=MAX_IDEMPOTENCY_KEY).contains(&value.len())
            && value.as_bytes().iter().all(u8::is_ascii_graphic);
        if !visible || values.next().is_some() {
            let message =
                format!("must be 1–{MAX_IDEMPOTENCY_KEY} visible ASCII characters, sent once");
            return Err(Error::invalid("Idempotency-Key", message));
        }
        let parts: [&[u8]; 3] = [
            self.request.method().as_str().as_bytes(),
            self.request.raw_http_path().as_bytes(),
            value.as_bytes(),
        ];
        Ok(Some(IdempotentRequest {
            key_hash: hash(&parts.join(&b'\n')),
            body_hash: hash(body_bytes(&self.request)),
        }))
    }

    /// The body of an answer as it will be sent.
    #[must_use]
    pub fn rendered(&self, answer: &Answer) -> String {
        answer.rendered(self.route.style, &self.request_id)
    }

    /// An answer as it is stored for replays, if the request carries an idempotency key.
    #[must_use]
    pub fn response<'a>(
        &self,
        request: Option<&'a IdempotentRequest>,
        answer: &Answer,
    ) -> Option<NewResponse<'a>> {
        request.map(|request| NewResponse {
            request,
            body: self.rendered(answer),
        })
    }
}

/// The raw body of a request.
#[must_use]
pub fn body_bytes(request: &Request) -> &[u8] {
    match request.body() {
        Body::Text(text) => text.as_bytes(),
        Body::Binary(bytes) => bytes,
        _ => &[],
    }
}

/// True if the body is declared as JSON.
fn is_json(request: &Request) -> bool {
    let declared = request
        .headers()
        .get("content-type")
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    declared
        .split(';')
        .next()
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}
