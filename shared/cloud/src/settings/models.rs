//! Where models are, as a deployment has it: base URLs instead of the providers' own, and Bedrock.

use awo_domain::control::bedrock::{BedrockAccess, InferenceProfiles};
use awo_domain::control::{BaseUrl, ProviderSettings};

use super::invalid;
use crate::environment::{Environment, SetupError};

/// The role with which runs call Bedrock.
pub const BEDROCK_ROLE_ARN: &str = "AWO_BEDROCK_ROLE_ARN";

/// The base URLs of the deployment.
///
/// # Errors
/// [`SetupError`] if one does not read.
pub fn providers(environment: &Environment) -> Result<ProviderSettings, SetupError> {
    Ok(ProviderSettings {
        messages_provider: None,
        anthropic_base_url: base_url(environment, "AWO_ANTHROPIC_BASE_URL")?,
        openai_base_url: base_url(environment, "AWO_OPENAI_BASE_URL")?,
    })
}

/// Bedrock, where the deployment names its region.
///
/// # Errors
/// [`SetupError`] if a setting does not read.
pub fn bedrock(environment: &Environment) -> Result<Option<BedrockAccess>, SetupError> {
    const REGION: &str = "AWO_BEDROCK_REGION";
    const PROFILES: &str = "AWO_BEDROCK_INFERENCE_PROFILES";
    let Some(region) = environment.get(REGION) else {
        return Ok(None);
    };
    let is_region = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !region.bytes().all(is_region) {
        let why = "must be a region such as eu-west-1".to_owned();
        return Err(invalid(REGION, why));
    }
    let profiles = environment.get(PROFILES).unwrap_or_default();
    let profiles = InferenceProfiles::parse(&profiles).map_err(|why| invalid(PROFILES, why))?;
    let base_url = match base_url(environment, "AWO_BEDROCK_BASE_URL")? {
        Some(base_url) => base_url,
        None => BaseUrl::parse(&endpoint(&region)).map_err(|why| invalid(REGION, why))?,
    };
    Ok(Some(BedrockAccess {
        region,
        base_url,
        inference_profiles: profiles,
    }))
}

fn endpoint(region: &str) -> String {
    let suffix = if region.starts_with("cn-") {
        "amazonaws.com.cn"
    } else {
        "amazonaws.com"
    };
    format!("https://bedrock-runtime.{region}.{suffix}")
}

fn base_url(environment: &Environment, name: &str) -> Result<Option<BaseUrl>, SetupError> {
    let text = environment.get(name);
    let read = text.map(|text| BaseUrl::parse(&text)).transpose();
    read.map_err(|why| invalid(name, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(settings: &'static [(&str, &str)]) -> Environment {
        Environment::new(move |name| {
            let mut settings = settings.iter();
            let found = settings.find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn bedrock_is_called_in_its_region_and_only_where_there_is_one() {
        let access = |settings| bedrock(&of(settings));
        assert!(access(&[("AWO_BEDROCK_REGION", "")]).unwrap().is_none());
        let own = access(&[("AWO_BEDROCK_REGION", "eu-west-1")])
            .unwrap()
            .unwrap();
        let url = own.base_url.as_str();
        assert_eq!(url, "https://bedrock-runtime.eu-west-1.amazonaws.com");
        for (bad, name) in [
            (
                &[("AWO_BEDROCK_REGION", "eu/west")][..],
                "AWO_BEDROCK_REGION",
            ),
            (
                &[
                    ("AWO_BEDROCK_REGION", "eu-west-1"),
                    ("AWO_BEDROCK_INFERENCE_PROFILES", "x"),
                ][..],
                "AWO_BEDROCK_INFERENCE_PROFILES",
            ),
        ] {
            let why = access(bad).unwrap_err().to_string();
            assert!(why.contains(name), "{why}");
        }
    }

    #[test]
    fn a_base_url_that_would_send_keys_in_the_clear_is_refused_by_its_name() {
        let read = |settings| providers(&of(settings));
        let set = read(&[("AWO_OPENAI_BASE_URL", "https://gateway.example/")]).unwrap();
        let url = set.openai_base_url.unwrap();
        assert_eq!(url.as_str(), "https://gateway.example");
        assert_eq!(set.anthropic_base_url, None);
        let why = read(&[("AWO_ANTHROPIC_BASE_URL", "http://gateway.example")]);
        let why = why.unwrap_err().to_string();
        assert!(why.contains("AWO_ANTHROPIC_BASE_URL"), "{why}");
    }
}
