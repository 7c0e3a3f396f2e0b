//! Anthropic's models on Amazon Bedrock: which inference profile answers for a model, and the
//! credentials of a run, which expire. There is no key: the control function assumes a role.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::BaseUrl;
use crate::usage::MAX_MODEL_NAME;
use crate::{OrgId, RunId, Timestamp, WorkOrderId};

/// Most models in the map of inference profiles.
const MAX_PROFILES: usize = 100;
/// Longest id or ARN of an inference profile, in bytes: Bedrock's own limit.
const MAX_PROFILE_BYTES: usize = 2_048;
/// Longest prefix of a model's id that names where it runs, in bytes, such as `us-gov`.
const MAX_GEOGRAPHY: usize = 10;
/// What follows the prefix in the id of each of these models.
const FAMILY: &str = "anthropic.claude-";
/// Longest value of a session tag, in characters: STS's own limit.
pub const MAX_SESSION_TAG: usize = 256;

/// The path of a run's credentials for Bedrock; `POST` with an empty object, answered by
/// [`SessionCredentials`].
#[must_use]
pub fn credentials_path(org: &OrgId, run: &RunId) -> String {
    format!("/control/{org}/runs/{run}/credentials")
}

/// How a run calls Bedrock. The credentials are a call of their own, since they expire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BedrockAccess {
    /// The region whose endpoint is called; signatures name it.
    pub region: String,
    /// The endpoint.
    pub base_url: BaseUrl,
    /// What answers for which model.
    pub inference_profiles: InferenceProfiles,
}

/// Credentials of a role that was assumed for one run.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCredentials {
    /// Names them.
    pub access_key_id: String,
    /// Signs.
    pub secret_access_key: String,
    /// Goes with every call.
    pub session_token: String,
    /// From when on they are refused.
    pub expires_at: Timestamp,
}

impl fmt::Debug for SessionCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionCredentials {{ {}, .. }}", self.expires_at)
    }
}

/// The tags of a run's session at STS, which set its calls apart in the account's bills
/// and logs. Characters that tags may not have become `_`.
#[must_use]
pub fn session_tags(
    org: &OrgId,
    tenant_id: Option<&str>,
    work_order: &WorkOrderId,
) -> Vec<(&'static str, String)> {
    let tags = [
        ("orgId", Some(org.as_str())),
        ("tenantId", tenant_id),
        ("workOrderId", Some(work_order.as_str())),
    ];
    let tags = tags.into_iter();
    tags.filter_map(|(name, value)| Some((name, tag_value(value?))))
        .collect()
}

fn tag_value(text: &str) -> String {
    let allowed = |c: char| c.is_alphanumeric() || c == ' ' || "_.:/=+-@".contains(c);
    let characters = text.chars().take(MAX_SESSION_TAG);
    characters
        .map(|c| if allowed(c) { c } else { '_' })
        .collect()
}

/// The inference profiles that answer for models, by the models' names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InferenceProfiles(BTreeMap<String, String>);

/// What Bedrock is asked for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BedrockModel {
    /// The id of a model or of an inference profile, or an ARN.
    pub id: String,
    /// The model whose price is asked for it, and under which its usage is counted.
    pub priced_as: String,
}

impl BedrockModel {
    /// The model that counts tokens for it: CountTokens takes the ids of models, which those of AWS's
    /// own inference profiles end with. None for an application's own profile, which names no model.
    #[must_use]
    pub fn counted_by(&self) -> Option<&str> {
        let name = Some(self.priced_as.as_str()).filter(|name| is_bedrock_id(name))?;
        name.find(FAMILY).map(|at| &name[at..])
    }
}

impl InferenceProfiles {
    /// Reads a setting: `model=profile` with commas between them.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub fn parse(text: &str) -> Result<InferenceProfiles, String> {
        let mut all = BTreeMap::new();
        let pairs = text.split(',').map(str::trim);
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let parts = pair.split_once('=');
            let (model, profile) = parts.ok_or_else(|| {
                format!("must be pairs of <model>=<inference profile>, and {pair:?} is none")
            })?;
            if !is_name(model, MAX_MODEL_NAME) || !is_name(profile, MAX_PROFILE_BYTES) {
                return Err(format!(
                    "{pair:?} must be the name of a model and the id or ARN of an inference profile"
                ));
            }
            if all.insert(model.to_owned(), profile.to_owned()).is_some() {
                return Err(format!("must name {model:?} once"));
            }
        }
        if all.len() > MAX_PROFILES {
            Err(format!("must have at most {MAX_PROFILES} models"))
        } else {
            Ok(InferenceProfiles(all))
        }
    }

    /// What is called for a model: its profile; the profile of its name without a date; or itself,
    /// if it has the form of an id of Bedrock's. Nothing for any other.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<BedrockModel> {
        let undated = || {
            let (name, date) = model.rsplit_once('-')?;
            is_date(date).then(|| self.0.get(name))?
        };
        let own = || is_bedrock_id(model).then(|| model.to_owned());
        let profile = self.0.get(model).or_else(undated).cloned();
        let id = profile.or_else(own)?;
        let last = id.rsplit('/').next().unwrap_or_default();
        // The ARN of an application's own profile does not name its model.
        let priced_as = if is_bedrock_id(last) { last } else { model };
        Some(BedrockModel {
            priced_as: priced_as.to_owned(),
            id,
        })
    }
}

/// True for what stands behind the names of models: a day, or `latest`.
fn is_date(text: &str) -> bool {
    let is_day = text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit());
    is_day || text == "latest"
}

fn is_name(text: &str, longest: usize) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b".:/_-".contains(&b);
    (1..=longest).contains(&text.len()) && text.bytes().all(allowed)
}

/// True for the id of one of Anthropic's models on Bedrock, or of an inference profile of AWS's own.
fn is_bedrock_id(text: &str) -> bool {
    let Some(at) = text.find(FAMILY) else {
        return false;
    };
    let is_geography = |name: &str| {
        (1..=MAX_GEOGRAPHY).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
    };
    let geography = text[..at].strip_suffix('.');
    let is_whole = at == 0 || geography.is_some_and(is_geography);
    is_whole && is_name(text, MAX_MODEL_NAME) && !text.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str =
        "arn:aws:bedrock:eu-west-1:111122223333:application-inference-profile/abc123def456";

    fn profiles(text: &str) -> InferenceProfiles {
        InferenceProfiles::parse(text).unwrap()
    }

    #[test]
    fn a_models_profile_answers_with_and_without_a_date_and_ids_of_bedrock_for_themselves() {
        let profile = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
        let of_system =
            format!("arn:aws:bedrock:eu-west-1:111122223333:inference-profile/{profile}");
        let all = profiles(&format!(
            " claude-sonnet-4-5={profile}, claude-haiku-4-5={ARN},\nclaude-opus-4-5={of_system}"
        ));
        let called = |model: &str| all.of(model).map(|one| (one.id, one.priced_as));
        let both = |id: &str, priced_as: &str| Some((id.to_owned(), priced_as.to_owned()));
        for model in [
            "claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4-5-latest",
        ] {
            assert_eq!(called(model), both(profile, profile), "{model}");
        }
        assert_eq!(called("claude-haiku-4-5"), both(ARN, "claude-haiku-4-5"));
        let counts = |model: &str| Some(all.of(model)?.counted_by()?.to_owned());
        let model = "anthropic.claude-sonnet-4-5-20250929-v1:0";
        for known in ["claude-sonnet-4-5", "claude-opus-4-5", profile, model] {
            assert_eq!(counts(known).as_deref(), Some(model), "{known}");
        }
        assert_eq!(counts("claude-haiku-4-5"), None);
        assert_eq!(called("claude-opus-4-5"), both(&of_system, profile));
        for own in [
            "anthropic.claude-opus-5",
            "us-gov.anthropic.claude-opus-4-1-20250805-v1:0",
        ] {
            assert_eq!(called(own), both(own, own));
        }
        for unknown in [
            "claude-opus-5",
            "claude-sonnet-4-5-fast",
            "amazon.nova-pro-v1:0",
            "x/anthropic.claude-opus-5",
            "EU.anthropic.claude-opus-5",
            ".anthropic.claude-opus-5",
            ARN,
            "",
        ] {
            assert_eq!(called(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_setting_that_does_not_read_is_refused_with_the_pair() {
        assert_eq!(profiles(""), InferenceProfiles::default());
        for (bad, word) in [
            ("claude", "pairs"),
            ("claude=", "\"claude=\""),
            ("=p", "\"=p\""),
            ("a=b c", "\"a=b c\""),
            ("a=b,a=c", "once"),
        ] {
            let why = InferenceProfiles::parse(bad).unwrap_err();
            assert!(why.contains(word), "{bad}: {why}");
        }
        let many: Vec<String> = (0..=MAX_PROFILES).map(|i| format!("m{i}=p")).collect();
        assert!(InferenceProfiles::parse(&many.join(",")).is_err());
        assert!(InferenceProfiles::parse(&many[1..].join(",")).is_ok());
    }

    #[test]
    fn sessions_are_tagged_with_what_tags_may_have() {
        let at = Timestamp::from_epoch_ms(1_790_000_000_000);
        let (org, order) = (OrgId::new(at, 1), WorkOrderId::new(at, 2));
        let tenant = format!("Zoë & Co.\n{}", "x".repeat(300));
        let tags = session_tags(&org, Some(&tenant), &order);
        let names: Vec<&str> = tags.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["orgId", "tenantId", "workOrderId"]);
        assert_eq!((&*tags[0].1, &*tags[2].1), (org.as_str(), order.as_str()));
        assert!(tags[1].1.starts_with("Zoë _ Co._xxx"), "{}", tags[1].1);
        assert_eq!(tags[1].1.chars().count(), MAX_SESSION_TAG);
        assert_eq!(session_tags(&org, None, &order).len(), 2);
    }

    #[test]
    fn credentials_are_never_shown() {
        let credentials = SessionCredentials {
            access_key_id: "ASIA5ecret".to_owned(),
            secret_access_key: "5ecret".to_owned(),
            session_token: "5ecret".to_owned(),
            expires_at: Timestamp::from_epoch_ms(1_790_000_000_000),
        };
        assert!(!format!("{credentials:?}").contains("5ecret"));
    }
}
