//! The containers of an environment: the image that its tasks have in the place of the deployment's, and
//! the services beside it.
//!
//! Task definitions are found by the content of what is written here, not by an environment's name: two
//! environments that say the same share one, and one that is changed gets another.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::faults::fault;
use super::{
    EnvironmentContent, EnvironmentService, MAX_COMMAND, MAX_IMAGE, MAX_IMAGE_NAME,
    MAX_SERVICE_NAME, Size,
};
use crate::Fault;

/// Raised whenever another task definition is made of the same content.
const SHAPE: u32 = 1;
/// What an id begins with, and the hex digits behind that.
const ID_PREFIX: &str = "env_";
const ID_DIGITS: usize = 26;
/// Stands for every image in a deployment's list.
const ANY: &str = "*";
/// The parts of a host that say that it is a private registry of Amazon ECR, `-fips` included, and one that
/// also answers by IPv6.
const PRIVATE_ECR: [&str; 2] = [".dkr.ecr", ".dkr-ecr."];

/// What an environment asks of its tasks' containers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Containers {
    /// The image of the runner's container; the deployment's where it is absent.
    pub image: Option<String>,
    /// Beside it.
    pub services: Vec<EnvironmentService>,
    /// The size of the task, of which services have a share.
    pub size: Option<Size>,
}

/// The identity of [`Containers`], by their content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContainersId(String);

impl ContainersId {
    /// As it stands in the name of a task definition: `env_` and 26 hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContainersId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Containers {
    /// Those of an environment; none if its tasks are as the deployment makes them.
    #[must_use]
    pub fn of(content: &EnvironmentContent) -> Option<Containers> {
        let is_own = content.image.is_some() || !content.services.is_empty();
        is_own.then(|| Containers {
            image: content.image.clone(),
            services: content.services.clone(),
            size: content.size,
        })
    }

    /// Their identity.
    #[must_use]
    pub fn id(&self) -> ContainersId {
        let json = serde_json::to_vec(&(SHAPE, self)).unwrap_or_default();
        let hash = hex::encode(Sha256::digest(json));
        ContainersId(format!("{ID_PREFIX}{}", &hash[..ID_DIGITS]))
    }
}

/// The images that a deployment lets environments name.
///
/// The runner's program is part of `image`, so an image has the credentials of the runs that it is
/// for and reports what they used: an operator says whose images those may be. What stands in a
/// private registry of Amazon ECR is fetched with the deployment's own permissions, so that is an
/// operator's to allow for services, too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedImages(Vec<String>);

impl AllowedImages {
    /// Images whose names begin with one of these; `*` allows all.
    #[must_use]
    pub fn new(beginnings: Vec<String>) -> AllowedImages {
        AllowedImages(beginnings)
    }

    fn has(&self, image: &str) -> bool {
        let mut beginnings = self.0.iter();
        beginnings.any(|beginning| beginning == ANY || image.starts_with(beginning))
    }

    fn listed(&self) -> String {
        if self.0.is_empty() {
            "none".to_owned()
        } else {
            self.0.join(", ")
        }
    }
}

fn is_private_ecr(image: &str) -> bool {
    let registry = image.split('/').next().unwrap_or_default();
    let registry = registry.to_ascii_lowercase();
    PRIVATE_ECR.iter().any(|part| registry.contains(part))
}

/// Checks the name of an image that is pinned by its digest.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_image(text: &str) -> Result<String, String> {
    if text.contains('@') && is_reference(text) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "must be pinned by its digest: registry/name@sha256:… with at most {MAX_IMAGE_NAME} \
         characters before the @"
        ))
    }
}

/// Checks the name of a service's image, which may have a tag in the place of a digest.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_service_image(text: &str) -> Result<String, String> {
    if is_reference(text) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "must be the name of an image with a tag or a digest, such as postgres:17 or \
         registry/name@sha256:…, with at most {MAX_IMAGE_NAME} characters before the @"
        ))
    }
}

/// True for what a task definition takes as an image.
fn is_reference(text: &str) -> bool {
    let (name, digest) = match text.split_once("@sha256:") {
        Some((name, digest)) => (name, Some(digest)),
        None => (text, None),
    };
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"._-:".contains(&b);
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.bytes().all(is_letter)
    };
    text.len() <= MAX_IMAGE
        && name.len() <= MAX_IMAGE_NAME
        && name.split('/').all(is_part)
        && digest.is_none_or(|hex| hex.len() == 64 && hex.bytes().all(is_hex))
}

/// Checks the name of a service, which is part of its container's name.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_service_name(text: &str) -> Result<String, String> {
    const LENGTHS: RangeInclusive<usize> = 1..=MAX_SERVICE_NAME;
    let is_letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if LENGTHS.contains(&text.len()) && text.bytes().all(is_letter) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "must be 1 to {MAX_SERVICE_NAME} lower-case letters, digits and hyphens"
        ))
    }
}

/// Checks the command that says that a service is ready.
///
/// # Errors
/// A sentence that names the fault.
pub fn check_ready(text: &str) -> Result<String, String> {
    let is_command = (1..=MAX_COMMAND).contains(&text.chars().count())
        && !text.trim().is_empty()
        && !text.contains('\0');
    if is_command {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "must be a command for sh -c in the service's container, of at most {} characters",
            MAX_COMMAND
        ))
    }
}

impl EnvironmentContent {
    /// What is wrong with its image and its services in a deployment with these images; one without a
    /// list has no containers.
    pub(super) fn wrong_containers(&self, images: Option<&AllowedImages>) -> Vec<Fault> {
        let mut faults = self.repeated_ports();
        match images {
            None => faults.extend(self.without_containers()),
            Some(images) => faults.extend(self.not_allowed(images)),
        }
        faults
    }

    fn without_containers(&self) -> Vec<Fault> {
        let message = "needs a container engine, which this deployment does not have: on one machine a \
                       run is a process, which has the machine's programs, and nothing runs beside it; \
                       leave it out";
        let named = [
            ("/image", self.image.is_some()),
            ("/services", !self.services.is_empty()),
        ];
        let named = named.into_iter().filter(|(_, is_named)| *is_named);
        named.map(|(path, _)| fault(path, message)).collect()
    }

    fn not_allowed(&self, images: &AllowedImages) -> Vec<Fault> {
        let mut faults = Vec::new();
        let refused = |path: String| {
            let message = format!(
                "must begin with what the operator of this deployment allows images to begin with \
                 ({}): have the operator add its repository to EnvironmentImages",
                images.listed()
            );
            fault(path, message)
        };
        if self.image.as_ref().is_some_and(|image| !images.has(image)) {
            faults.push(refused("/image".to_owned()));
        }
        for (i, service) in self.services.iter().enumerate() {
            if is_private_ecr(&service.image) && !images.has(&service.image) {
                faults.push(refused(format!("/services/{i}/image")));
            }
        }
        if Containers::of(self).is_some() && !self.caches.is_empty() {
            let message = "cannot be kept for tasks with an image of their own or with services: these have no \
                           access to the file system that caches are on, because a client's program could \
                           use it as well; leave out one of the two";
            faults.push(fault("/caches", message));
        }
        faults
    }

    /// The containers of a task share its loopback.
    fn repeated_ports(&self) -> Vec<Fault> {
        let again = self.services.iter().enumerate().filter(|(i, service)| {
            let mut before = self.services[..*i].iter();
            before.any(|other| other.port == service.port)
        });
        again
            .map(|(i, service)| {
                let message = format!("is the port of another service: {}", service.port);
                fault(format!("/services/{i}/port"), message)
            })
            .collect()
    }
}
