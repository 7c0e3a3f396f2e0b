//! Certificates: an authority that the sender trusts, and others that it must not trust.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;

/// What is wrong with a receiver's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    None,
    OtherName,
    Expired,
    NotYet,
    UnknownAuthority,
    SelfSigned,
}

/// The name of every receiver.
pub const NAME: &str = "hooks.example.com";

struct Authorities {
    trusted: CertifiedIssuer<'static, KeyPair>,
    other: CertifiedIssuer<'static, KeyPair>,
    file: PathBuf,
    _dir: TempDir,
}

static AUTHORITIES: LazyLock<Authorities> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let trusted = authority("trusted by the test");
    let file = dir.path().join("ca.pem");
    std::fs::write(&file, trusted.pem()).unwrap();
    Authorities {
        trusted,
        other: authority("trusted by nobody"),
        file,
        _dir: dir,
    }
});

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// The file of the authority that the sender is to believe.
pub fn file() -> String {
    AUTHORITIES.file.display().to_string()
}

/// A server's configuration with a certificate for [`NAME`] and 127.0.0.1.
pub fn server(flaw: Flaw) -> Arc<ServerConfig> {
    let name = match flaw {
        Flaw::OtherName => "other.example.com",
        _ => NAME,
    };
    let names = [name.to_owned(), "127.0.0.1".to_owned()];
    let names = &names[..if flaw == Flaw::OtherName { 1 } else { 2 }];
    let mut params = CertificateParams::new(names).unwrap();
    match flaw {
        Flaw::Expired => params.not_after = date_time_ymd(2020, 1, 1),
        Flaw::NotYet => params.not_before = date_time_ymd(4000, 1, 1),
        _ => {}
    }
    let key = KeyPair::generate().unwrap();
    let certificate = match flaw {
        Flaw::SelfSigned => params.self_signed(&key),
        Flaw::UnknownAuthority => params.signed_by(&key, &AUTHORITIES.other),
        _ => params.signed_by(&key, &AUTHORITIES.trusted),
    };
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.unwrap().der().clone()], key)
        .unwrap();
    Arc::new(config)
}
