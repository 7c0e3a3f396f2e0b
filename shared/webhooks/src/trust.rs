//! Trusted authorities: the public ones of this machine, and in tests one more. Names and dates are
//! always checked, and no session is resumed: each connection checks its receiver's certificate.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use awo_cloud::SetupError;

use crate::NotReady;

/// Adds the authority in a file of PEM; for tests.
pub const CA_FILE: &str = "AWO_WEBHOOK_CA_FILE";

/// Reads some hundred certificates, which takes milliseconds.
pub fn client_config(ca_file: Option<&str>) -> Result<ClientConfig, NotReady> {
    let mut roots = RootCertStore::empty();
    // A certificate that does not read is one authority less that is believed.
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if let Some(path) = ca_file {
        add(&mut roots, path)?;
    }
    if roots.is_empty() {
        return Err(NotReady::NoRoots);
    }
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn add(roots: &mut RootCertStore, path: &str) -> Result<(), NotReady> {
    let invalid = |why: String| SetupError::Invalid {
        name: CA_FILE.to_owned(),
        why,
    };
    let certificates = CertificateDer::pem_file_iter(path);
    let certificates = certificates.and_then(Iterator::collect::<Result<Vec<_>, _>>);
    for certificate in certificates.map_err(|error| invalid(error.to_string()))? {
        let added = roots.add(certificate);
        added.map_err(|error| invalid(error.to_string()))?;
    }
    Ok(())
}
