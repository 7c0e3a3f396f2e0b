//! Profiles as runners read them. The release before this one knows neither `lazy` nor `eager`: it reads
//! `off` and `before`, and the name that counts stands beside them.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::profile::{Baseline, Profile};

/// The member with the name that counts.
const NAME: &str = "baselineName";

pub(super) fn serialize<S: Serializer>(profile: &Profile, to: S) -> Result<S::Ok, S::Error> {
    let mut value = serde_json::to_value(profile).map_err(S::Error::custom)?;
    let older = match profile.verification.baseline {
        Baseline::Lazy => Some(Baseline::Off),
        Baseline::Eager => Some(Baseline::Before),
        Baseline::Off | Baseline::Before => None,
    };
    let verification = value.get_mut("verification").and_then(Value::as_object_mut);
    if let (Some(older), Some(verification)) = (older, verification) {
        let name = verification.insert("baseline".to_owned(), older.as_str().into());
        verification.insert(NAME.to_owned(), name.unwrap_or_default());
    }
    if !profile.verification.forgive
        && let Some(verification) = value.get_mut("verification").and_then(Value::as_object_mut)
    {
        verification.remove("forgive");
    }
    value.serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Profile, D::Error> {
    let mut value = Value::deserialize(from)?;
    let verification = value.get_mut("verification").and_then(Value::as_object_mut);
    if let Some(verification) = verification
        && let Some(name) = verification.remove(NAME)
    {
        verification.insert("baseline".to_owned(), name);
    }
    serde_json::from_value(value).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Carrier {
        #[serde(with = "super")]
        profile: Profile,
    }

    #[test]
    fn a_runner_of_the_last_release_reads_names_that_it_knows() {
        for baseline in Baseline::ALL {
            let mut profile = Profile::default_profile();
            profile.verification.baseline = baseline;
            let carrier = Carrier { profile };
            let value = serde_json::to_value(&carrier).unwrap();
            let name = value["profile"]["verification"]["baseline"].as_str();
            assert!(["off", "before"].contains(&name.unwrap()), "{value}");
            let read: Carrier = serde_json::from_value(value).unwrap();
            assert_eq!(read.profile, carrier.profile);
        }
    }
}
