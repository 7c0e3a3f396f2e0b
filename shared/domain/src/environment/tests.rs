use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::webhook::address::Reach;
use crate::webhook::private_hosts::PrivateHosts;

mod containers;

const LOCAL: Deployment = Deployment {
    images: None,
    allow_loopback: true,
    private_hosts: PrivateHosts::none(Reach::PublicAndLoopback),
    no_egress: false,
};

fn cloud(images: &[&str]) -> Deployment {
    let images = images.iter().map(|&image| image.to_owned()).collect();
    Deployment {
        images: Some(AllowedImages::new(images)),
        allow_loopback: false,
        private_hosts: PrivateHosts::none(Reach::Public),
        no_egress: false,
    }
}

fn paths(content: &EnvironmentContent, deployment: &Deployment) -> Vec<String> {
    let faults = content.faults(deployment).into_iter();
    faults.map(|fault| fault.path).collect()
}

fn registry(kind: RegistryKind, url: &str) -> EnvironmentRegistry {
    EnvironmentRegistry {
        kind,
        url: url.to_owned(),
        secret: "TOKEN".to_owned(),
        name: None,
        scopes: Vec::new(),
        default: false,
    }
}

#[test]
fn registries_of_a_kind_differ_by_name_and_scopes() {
    let named = |kind, name: Option<&str>, scopes: &[&str], default| EnvironmentRegistry {
        name: name.map(str::to_owned),
        scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
        default,
        ..registry(kind, "https://r.example.com/")
    };
    use RegistryKind::{Generic, Npm, Pypi};
    let content = |registries| EnvironmentContent {
        registries,
        ..EnvironmentContent::default()
    };
    let good = content(vec![
        named(Npm, None, &[], false),
        named(Npm, Some("acme"), &["@acme"], false),
        named(Npm, None, &["@other", "@third"], false),
        named(Pypi, Some("acme"), &[], true),
        named(Pypi, Some("other"), &[], false),
        named(Generic, Some("files"), &[], false),
    ]);
    assert_eq!(paths(&good, &LOCAL), [""; 0]);
    for (wrong, path) in [
        (named(Npm, None, &[], false), "/registries/1/kind"),
        (
            named(Npm, Some("a"), &["@b"], true),
            "/registries/1/default",
        ),
        (named(Npm, Some("a"), &[], false), "/registries/1/scopes"),
        (
            named(Npm, None, &["@b", "@b"], false),
            "/registries/1/scopes",
        ),
        (named(Pypi, None, &["@b"], false), "/registries/1/scopes"),
        (named(Generic, None, &[], true), "/registries/1/default"),
    ] {
        let both = content(vec![named(Npm, None, &[], false), wrong]);
        assert_eq!(paths(&both, &LOCAL), [path]);
    }
    for bad in ["", "-a", "a b", "a=b", "\u{e4}"] {
        assert!(check_registry_name(bad).is_err(), "{bad}");
    }
    for bad in ["acme", "@", "@Acme", "@a/b", "@.a"] {
        assert!(check_scope(bad).is_err(), "{bad}");
    }
    assert!(check_registry_name("acme-1.x_y").is_ok() && check_scope("@acme-1").is_ok());
}

#[test]
fn variables_have_names_of_a_shell_and_none_that_the_service_sets() {
    for good in ["A", "_", "a1", "NPM_TOKEN", "DATABASE_URL", "AWS_REGION"] {
        assert_eq!(check_name(good).as_deref(), Ok(good));
    }
    let long = "A".repeat(MAX_NAME + 1);
    for bad in [
        "",
        "1A",
        "A-B",
        "A B",
        "Ä",
        "HOME",
        "PATH",
        "TMPDIR",
        "AWO_RUN_ID",
        "LD_PRELOAD",
        "DYLD_INSERT_LIBRARIES",
        "GLIBC_TUNABLES",
        &long,
    ] {
        assert!(check_name(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_cache_lies_in_the_workspace_or_in_the_home() {
    for good in ["node_modules", "a/b", "~/.npm", "~/.cache/pip", ".venv"] {
        assert_eq!(check_cache(good).as_deref(), Ok(good));
    }
    for bad in [
        "",
        "/etc",
        "..",
        "a/../b",
        "~",
        "~/",
        "~/..",
        "~root/x",
        "./a",
        "a//b",
        ".git",
        "a/.git/hooks",
        "a\n",
        "-C",
    ] {
        assert!(check_cache(bad).is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn no_path_that_is_taken_leads_out(text in "[a-z~./-]{0,20}") {
        if let Ok(path) = check_cache(&text) {
            let inner = path.strip_prefix("~/").unwrap_or(&path);
            let mut parts = std::path::Path::new(inner).components();
            prop_assert!(parts.all(|part| matches!(part, std::path::Component::Normal(_))));
        }
    }
}

#[test]
fn names_that_stand_for_two_things_are_refused() {
    let step = |name: &str| SetupStep {
        name: name.to_owned(),
        run: "true".to_owned(),
        timeout_ms: None,
    };
    let secret = |name: &str, phases: &[SecretPhase]| EnvironmentSecret {
        name: name.to_owned(),
        phases: phases.to_vec(),
    };
    let content = EnvironmentContent {
        variables: BTreeMap::from([("A".to_owned(), "1".to_owned())]),
        secrets: vec![
            secret("A", &[SecretPhase::Setup]),
            secret("B", &[SecretPhase::Agent, SecretPhase::Agent]),
            secret("B", &[SecretPhase::Verify]),
        ],
        setup: vec![step("deps"), step("build"), step("deps")],
        ..EnvironmentContent::default()
    };
    let wanted = [
        "/secrets/0/name",
        "/secrets/1/phases",
        "/secrets/2/name",
        "/setup/2/name",
    ];
    assert_eq!(paths(&content, &cloud(&[])), wanted);
}

#[test]
fn a_registry_is_reached_by_https_without_a_credential_in_its_url_and_one_of_a_kind() {
    let content = EnvironmentContent {
        registries: vec![
            registry(RegistryKind::Npm, "https://npm.example.com/private/"),
            registry(RegistryKind::Npm, "https://other.example.com/"),
            registry(RegistryKind::Pypi, "http://pypi.example.com/simple/"),
            registry(RegistryKind::Go, "https://u:p@go.example.com/"),
            registry(RegistryKind::Cargo, "https://crates.example.com/?a=b"),
            registry(RegistryKind::Generic, "https://a.example.com/"),
            registry(RegistryKind::Generic, "https://b.example.com/"),
            registry(RegistryKind::Maven, "http://127.0.0.1:8081/maven/"),
        ],
        ..EnvironmentContent::default()
    };
    let wanted = [
        "/registries/1/kind",
        "/registries/2/url",
        "/registries/3/url",
        "/registries/4/url",
    ];
    assert_eq!(paths(&content, &LOCAL), wanted);
    assert_eq!(
        paths(&content, &cloud(&[])).last().unwrap(),
        "/registries/7/url"
    );
}

#[test]
fn an_environment_is_not_larger_than_a_list_of_them_allows() {
    let value = "x".repeat(MAX_VALUE);
    let variables = (0..5).map(|i| (format!("V{i}"), value.clone()));
    let content = EnvironmentContent {
        variables: variables.collect(),
        ..EnvironmentContent::default()
    };
    assert_eq!(paths(&content, &LOCAL), [""]);
}

#[test]
fn a_secret_is_set_under_the_name_of_its_environment() {
    let name = EnvironmentName::parse("node-20").unwrap();
    let text = secret_name(&name, "NPM_TOKEN");
    assert_eq!(text, "env:node-20:NPM_TOKEN");
    let read = parse_secret_name(&text).unwrap();
    assert_eq!(read, Some((name, SecretName::parse("NPM_TOKEN").unwrap())));
    assert_eq!(parse_secret_name("git:example.com"), Ok(None));
    for bad in [
        "env:",
        "env:a",
        "env::A",
        "env:a:",
        "env:a b:A",
        "env:a:1",
        "env:a:HOME",
    ] {
        assert!(parse_secret_name(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_secrets_of_registries_are_needed_and_in_no_phase() {
    let content = EnvironmentContent {
        secrets: vec![EnvironmentSecret {
            name: "B".to_owned(),
            phases: vec![SecretPhase::Verify],
        }],
        registries: vec![
            registry(RegistryKind::Npm, "https://a.example.com/"),
            registry(RegistryKind::Go, "https://a.example.com/"),
        ],
        ..EnvironmentContent::default()
    };
    assert_eq!(content.needed_secrets(), ["B", "TOKEN"]);
}

#[test]
fn a_record_has_hashes_of_values_and_names_of_secrets() {
    let content = EnvironmentContent {
        variables: BTreeMap::from([("MODE".to_owned(), "abc".to_owned())]),
        secrets: vec![EnvironmentSecret {
            name: "TOKEN".to_owned(),
            phases: vec![SecretPhase::Setup],
        }],
        ..EnvironmentContent::default()
    };
    let name = EnvironmentName::parse("e").unwrap();
    let record = EnvironmentRecord::of(&name, &content, None, Some(Size::Large));
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(record.variables["MODE"], hash);
    assert_eq!(record.secrets, content.secrets);
    assert!(!serde_json::to_string(&record).unwrap().contains("abc\""));
}

#[test]
fn sizes_are_those_that_fargate_has() {
    let shape = |size: Size| (size.cpu_units(), size.memory_mib());
    assert_eq!(
        Size::ALL.map(shape),
        [
            (512, 1_024),
            (1_024, 4_096),
            (2_048, 8_192),
            (4_096, 16_384)
        ]
    );
}
