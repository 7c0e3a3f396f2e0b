//! What of a registry's answers names its other files: the pages of Python's indexes, and the
//! configuration of a crates' index. Their links lead to the proxy where they led to the registry.

use awo_domain::environment::RegistryKind;
use http::header::{HeaderMap, USER_AGENT};
use regex::Regex;
use serde_json::Value;
use url::Url;

use super::access::Upstream;
use super::serving::Caller;

/// Largest answer that is rewritten.
pub(super) const MAX_PAGE_BYTES: usize = 64 * 1_024 * 1_024;

/// True if an answer to this path is read and rewritten.
pub(super) fn is_page(upstream: &Upstream, caller: &Caller<'_>, content_type: &str) -> bool {
    match upstream.kind() {
        RegistryKind::Pypi => content_type.contains("html") || content_type.contains("json"),
        RegistryKind::Cargo => caller.path == format!("{}config.json", upstream.path()),
        RegistryKind::Npm => caller.rewrites && content_type.contains("json"),
        RegistryKind::Maven | RegistryKind::Go | RegistryKind::Generic => false,
    }
}

/// The page for a client of the proxy; `key` is the part of the path that such a client shows.
pub(super) fn rewritten(upstream: &Upstream, caller: &Caller<'_>, page: &str, key: &str) -> String {
    match upstream.kind() {
        RegistryKind::Cargo => crates(upstream, page, key),
        // What lies below the registry's path is served with the key that the client sends.
        RegistryKind::Npm => {
            let (from, to) = (upstream.origin(), caller.local);
            page.replace(&format!("\"{from}/"), &format!("\"{to}/"))
        }
        _ => packages(upstream, caller, page),
    }
}

/// An index that wants no token any more, and whose crates come from here if they are its own.
fn crates(upstream: &Upstream, page: &str, key: &str) -> String {
    let Ok(mut config) = serde_json::from_str::<Value>(page) else {
        return page.to_owned();
    };
    if let Some(members) = config.as_object_mut() {
        members.remove("auth-required");
        members.remove("api");
    }
    let own = config["dl"].as_str().and_then(|dl| {
        let path = dl.strip_prefix(&upstream.origin())?;
        // A template's fixed beginning is a prefix of all that it makes.
        let fixed = match path.split_once('{') {
            Some((fixed, _)) => fixed.to_owned(),
            None => format!("{}/", path.trim_end_matches('/')),
        };
        Some((path.to_owned(), fixed))
    });
    if let Some((path, fixed)) = own {
        upstream.allow_below(&fixed);
        config["dl"] = format!("{}/{key}{path}", upstream.local()).into();
    }
    config.to_string()
}

/// The links of a page of packages are noted, and those that are whole lead to the proxy.
fn packages(upstream: &Upstream, caller: &Caller<'_>, page: &str) -> String {
    let origin = upstream.origin();
    let Ok(base) = Url::parse(&format!("{origin}{}", caller.path)) else {
        return page.to_owned();
    };
    for link in links(page) {
        let Ok(url) = base.join(&link) else {
            continue;
        };
        if url.origin() == base.origin() {
            upstream.name(url.path());
            upstream.name(&format!("{}.metadata", url.path()));
        }
    }
    page.replace(&format!("{origin}/"), &format!("{}/", caller.local))
}

/// True for package managers that download a tarball from the address that the registry names, whatever their
/// configuration.
pub(super) fn takes_tarballs_as_named(headers: &HeaderMap) -> bool {
    let agent = headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    let managers = ["pnpm/", "yarn/", "bun/", "Bun/"];
    agent.is_some_and(|agent| managers.iter().any(|name| agent.starts_with(name)))
}

/// The project to which a file of an index belongs, by its name.
pub(super) fn project_of(path: &str) -> Option<String> {
    let file = path.rsplit('/').next().unwrap_or_default();
    let file = file.strip_suffix(".metadata").unwrap_or(file);
    let name = if let Some(wheel) = file.strip_suffix(".whl") {
        wheel.split('-').next()
    } else {
        let archives = [".tar.gz", ".zip", ".tar.bz2"];
        let stem = archives.iter().find_map(|end| file.strip_suffix(end))?;
        stem.rsplit_once('-').map(|(name, _)| name)
    }?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || !name.chars().all(allowed) {
        return None;
    }
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.map(str::to_ascii_lowercase).collect();
    Some(parts.join("-"))
}

/// What a page links to: HTML's `href`, and the `url` of JSON.
fn links(page: &str) -> Vec<String> {
    let found = Regex::new(r#"(?i)(?:href\s*=\s*|"url"\s*:\s*)(?:"([^"]*)"|'([^']*)')"#);
    let Ok(found) = found else {
        return Vec::new();
    };
    let links = found.captures_iter(page);
    links
        .filter_map(|link| link.get(1).or(link.get(2)))
        .map(|link| link.as_str().replace("&amp;", "&"))
        .collect()
}

#[cfg(test)]
mod tests {
    use awo_domain::control::RegistryAccess;
    use awo_domain::environment::EnvironmentRegistry;
    use awo_domain::webhook::address::Reach;
    use awo_domain::webhook::private_hosts::PrivateHosts;

    use super::super::refusals::Refusals;
    use super::*;

    fn upstream(kind: RegistryKind, url: &str) -> Upstream {
        let registry = EnvironmentRegistry {
            kind,
            url: url.to_owned(),
            secret: "T".to_owned(),
            name: None,
            scopes: Vec::new(),
            default: false,
        };
        let access = RegistryAccess {
            registry,
            credential: "token".to_owned(),
        };
        Upstream::new(
            &access,
            "http://127.0.0.1:1",
            Refusals::default(),
            &PrivateHosts::none(Reach::PublicAndLoopback),
        )
        .unwrap()
    }

    fn caller(path: &str) -> Caller<'_> {
        Caller::of(path, "http://127.0.0.1:1")
    }

    #[test]
    fn the_files_that_an_index_of_python_names_are_reachable_and_lead_to_the_proxy() {
        let upstream = upstream(RegistryKind::Pypi, "https://pypi.example.com/simple/");
        let page = r#"<a href="../../files/a-1.whl#sha256=00">a</a>
            <a href='https://pypi.example.com/other/b.whl'>b</a><a href="https://cdn.example/c.whl">c</a>"#;
        let page = rewritten(&upstream, &caller("/simple/a/"), page, "key");
        assert!(page.contains("http://127.0.0.1:1/other/b.whl"), "{page}");
        assert!(page.contains("https://cdn.example/c.whl"), "{page}");
        for named in ["/files/a-1.whl", "/files/a-1.whl.metadata", "/other/b.whl"] {
            assert!(upstream.has(named), "{named}");
        }
        assert!(!upstream.has("/c.whl") && !upstream.has("/files/b.whl"));
    }

    #[test]
    fn the_name_of_a_file_has_that_of_its_project() {
        for (path, project) in [
            (
                "/files/acme_right-1.2.0-py3-none-any.whl",
                Some("acme-right"),
            ),
            (
                "/files/acme_right-1.2.0-py3-none-any.whl.metadata",
                Some("acme-right"),
            ),
            ("/x/Acme.Left-1.0.tar.gz", Some("acme-left")),
            ("/x/acme-left-1.0.tar.gz", Some("acme-left")),
            ("/admin/secret", None),
            ("/x/%2e%2e-1.0.tar.gz", None),
            ("/x/-1.whl", None),
        ] {
            assert_eq!(project_of(path).as_deref(), project, "{path}");
        }
    }

    #[test]
    fn tarballs_of_npm_lead_through_here_where_a_client_takes_them_as_named() {
        let upstream = upstream(RegistryKind::Npm, "https://npm.example.com/p/");
        let page =
            r#"{"tarball":"https://npm.example.com/p/a.tgz","x":"https://cdn.example/a.tgz"}"#;
        let page = rewritten(&upstream, &caller("/p/a"), page, "key");
        assert!(page.contains("http://127.0.0.1:1/p/a.tgz"), "{page}");
        assert!(page.contains("https://cdn.example/a.tgz"), "{page}");
    }

    #[test]
    fn a_crates_index_wants_no_token_and_its_own_crates_come_from_the_proxy() {
        let upstream = upstream(RegistryKind::Cargo, "https://crates.example.com/index/");
        let config = r#"{"dl":"https://crates.example.com/dl/{crate}/{version}","auth-required":true,"api":"https://crates.example.com"}"#;
        let config = rewritten(&upstream, &caller("/index/config.json"), config, "key");
        let config: Value = serde_json::from_str(&config).unwrap();
        let wanted = "http://127.0.0.1:1/key/dl/{crate}/{version}";
        assert_eq!(config, serde_json::json!({ "dl": wanted }));
        assert!(upstream.has("/dl/a/1.0.0") && !upstream.has("/api/v1/me"));
        let theirs = r#"{"dl":"https://cdn.example/crates"}"#;
        let theirs = rewritten(&upstream, &caller("/index/config.json"), theirs, "key");
        assert!(theirs.contains("https://cdn.example/crates"));
    }
}
