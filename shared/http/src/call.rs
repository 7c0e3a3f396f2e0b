//! A request whose caller is authenticated and authorized.

use awo_domain::environment::EnvironmentName;
use awo_domain::plugin::PluginId;
use awo_domain::profile::ProfileName;
use awo_domain::statement::Month;
use awo_domain::template::TemplateId;
use awo_domain::{
    BudgetId, DeliveryId, Error, OrgId, Resource, RunId, Timestamp, WebhookId, WorkOrderId,
};
use awo_store::engine::idempotency::{IdempotentRequest, NewResponse};
use awo_store::organizations::keys::Caller;
use lambda_http::{Body, Request, RequestExt};
use sha2::{Digest, Sha256};

use crate::answer::Answer;
use crate::query::Query;
use crate::routes::Route;
use awo_contract::body::Object;

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
    pub(crate) route: &'static Route,
    pub(crate) request: Request,
}

impl Call {
    /// The caller's organization.
    #[must_use]
    pub fn org(&self) -> &OrgId {
        &self.caller.org_id
    }

    /// The work order that the path names.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is no id: nothing can have it.
    pub fn work_order_id(&self) -> Result<WorkOrderId, Error> {
        WorkOrderId::parse(self.path_parameter(["id", "workOrderId"]))
            .map_err(|_| Error::NotFound(Resource::WorkOrder))
    }

    /// The run that the path names.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is no id: nothing can have it.
    pub fn run_id(&self) -> Result<RunId, Error> {
        RunId::parse(self.path_parameter(["id", "runId"]))
            .map_err(|_| Error::NotFound(Resource::Run))
    }

    /// The template that the path names.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is no id: nothing can have it.
    pub fn template_id(&self) -> Result<TemplateId, Error> {
        TemplateId::parse(self.path_parameter(["id", "templateId"]))
            .map_err(|_| Error::NotFound(Resource::Template))
    }

    /// The plugin that the path names.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is no id: nothing can have it.
    pub fn plugin_id(&self) -> Result<PluginId, Error> {
        PluginId::parse(&self.plugin_id_text()).map_err(|_| Error::NotFound(Resource::Plugin))
    }

    /// What stands in the path for a plugin's id. A gateway that hands parameters over as they
    /// were sent may have left its colon encoded; no id holds a percent sign.
    #[must_use]
    pub fn plugin_id_text(&self) -> String {
        let text = self.path_parameter(["id", "pluginId"]);
        text.replace("%3A", ":").replace("%3a", ":")
    }

    /// The profile that the path names.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is no name: nothing can have it.
    pub fn profile_name(&self) -> Result<ProfileName, Error> {
        ProfileName::parse(self.path_parameter(["name", "profileName"]))
            .map_err(|_| Error::NotFound(Resource::Profile))
    }

    /// The environment that the path names.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is no name: nothing can have it.
    pub fn environment_name(&self) -> Result<EnvironmentName, Error> {
        EnvironmentName::parse(self.path_parameter(["name", "environmentName"]))
            .map_err(|_| Error::NotFound(Resource::Environment))
    }

    /// The webhook that the path names.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is no id: nothing can have it.
    pub fn webhook_id(&self) -> Result<WebhookId, Error> {
        WebhookId::parse(self.path_parameter(["id", "webhookId"]))
            .map_err(|_| Error::NotFound(Resource::Webhook))
    }

    /// The month that the path names.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is no month: there is no statement of it.
    pub fn month(&self) -> Result<Month, Error> {
        Month::parse(self.path_parameter(["month", "month"]))
            .map_err(|_| Error::NotFound(Resource::Statement))
    }

    /// The budget that the path names.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is no id: nothing can have it.
    pub fn budget_id(&self) -> Result<BudgetId, Error> {
        BudgetId::parse(self.path_parameter(["id", "budgetId"]))
            .map_err(|_| Error::NotFound(Resource::Budget))
    }

    /// The delivery that the path names, beside its webhook.
    ///
    /// # Errors
    /// [`Error::NotFound`] for what is no id: nothing can have it.
    pub fn delivery_id(&self) -> Result<DeliveryId, Error> {
        DeliveryId::parse(self.path_parameter(["deliveryId", "deliveryId"]))
            .map_err(|_| Error::NotFound(Resource::Delivery))
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

    /// The body, which must be a JSON object.
    ///
    /// # Errors
    /// What is wrong with it as a whole.
    pub fn object(&self) -> Result<Object, Error> {
        let bytes = body_bytes(&self.request);
        if !is_json(&self.request) {
            return Err(Error::UnsupportedMediaType);
        }
        if bytes.len() > MAX_BODY_BYTES {
            return Err(Error::PayloadTooLarge {
                limit_bytes: MAX_BODY_BYTES,
            });
        }
        Object::parse(bytes)
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
