//! Settings that point package managers at the servers: variables, and files of a home.

use std::fmt::Write;

use awo_domain::environment::RegistryKind;

use super::Local;

/// Java takes the home of the user's entry in `/etc/passwd`, which is another one than `HOME`.
const MAVENRC: &str = "MAVEN_OPTS=\"-Duser.home=$HOME $MAVEN_OPTS\"\n";

/// Variables of all registries.
pub(super) fn variables(locals: &[Local]) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> = Vec::new();
    for local in locals {
        let of_name = local.name.as_deref().map(variable_part);
        let own = [Some(local.secret.clone()), of_name];
        for name in own.into_iter().flatten() {
            let name = format!("AWO_REGISTRY_{name}");
            // The first of several with one secret has its name.
            if !variables.iter().any(|(earlier, _)| *earlier == name) {
                variables.push((name, local.url_with_key()));
            }
        }
    }
    let of_kind = |kind| locals.iter().filter(move |local| local.kind == kind);
    for local in of_kind(RegistryKind::Pypi).filter(|local| local.is_default) {
        variables.push(("PIP_INDEX_URL".to_owned(), local.url_with_password()));
        variables.push(("UV_DEFAULT_INDEX".to_owned(), local.named_index()));
    }
    let beside: Vec<&Local> = of_kind(RegistryKind::Pypi)
        .filter(|local| !local.is_default)
        .collect();
    if !beside.is_empty() {
        let joined = |url: &dyn Fn(&Local) -> String| {
            let urls: Vec<String> = beside.iter().map(|local| url(local)).collect();
            urls.join(" ")
        };
        let extra = joined(&Local::url_with_password);
        variables.push(("PIP_EXTRA_INDEX_URL".to_owned(), extra));
        variables.push(("UV_INDEX".to_owned(), joined(&Local::named_index)));
    }
    if let Some(proxies) = go_proxies(locals) {
        variables.push(("GOPROXY".to_owned(), proxies));
    }
    variables
}

/// Module proxies in the order in which Go asks them: those with a name, then the default or the source itself.
fn go_proxies(locals: &[Local]) -> Option<String> {
    let all = || locals.iter().filter(|local| local.kind == RegistryKind::Go);
    let url = |local: &Local| local.url_with_key().trim_end_matches('/').to_owned();
    let mut proxies: Vec<String> = all().filter(|local| !local.is_default).map(url).collect();
    match all().find(|local| local.is_default) {
        Some(default) => proxies.push(url(default)),
        None if proxies.is_empty() => return None,
        None => proxies.push("direct".to_owned()),
    }
    Some(proxies.join(","))
}

/// Files of a home.
pub(super) fn files(locals: &[Local]) -> Vec<(&'static str, String)> {
    let of_kind =
        |kind| -> Vec<&Local> { locals.iter().filter(|local| local.kind == kind).collect() };
    let mut files = Vec::new();
    let npm = of_kind(RegistryKind::Npm);
    if !npm.is_empty() {
        let lines: Vec<String> = npm.iter().map(|local| local.npmrc()).collect();
        files.push((".npmrc", lines.concat()));
    }
    let cargo = of_kind(RegistryKind::Cargo);
    if !cargo.is_empty() {
        let sources = cargo.iter().enumerate();
        let sources: Vec<String> = sources
            .map(|(number, local)| local.cargo_source(number))
            .collect();
        files.push((".cargo/config.toml", sources.join("\n")));
    }
    let maven = of_kind(RegistryKind::Maven);
    if !maven.is_empty() {
        files.push((".m2/settings.xml", maven_settings(&maven)));
        files.push((".mavenrc", MAVENRC.to_owned()));
    }
    files
}

/// A mirror for each; the default one mirrors all repositories that no other mirrors.
fn maven_settings(locals: &[&Local]) -> String {
    let named: Vec<&str> = locals
        .iter()
        .filter(|local| !local.is_default)
        .filter_map(|local| local.name.as_deref())
        .collect();
    let mut text = "<settings>\n  <mirrors>\n".to_owned();
    for (number, local) in locals.iter().enumerate() {
        let mirror_of = match &local.name {
            Some(name) if !local.is_default => name.clone(),
            _ => {
                let others = named.iter().map(|name| format!(",!{name}"));
                format!("*{}", others.collect::<String>())
            }
        };
        let id = match number {
            0 => "awo".to_owned(),
            number => format!("awo-{number}"),
        };
        let _ = write!(
            text,
            "    <mirror>\n      <id>{id}</id>\n      <mirrorOf>{mirror_of}</mirrorOf>\n      \
             <url>{}</url>\n    </mirror>\n",
            local.url_with_key()
        );
    }
    text + "  </mirrors>\n</settings>\n"
}

/// The name of a registry as a part of a variable's name.
fn variable_part(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.to_ascii_uppercase().chars().map(letter).collect()
}

impl Local {
    /// The registry's address for a client that sends the key as a password, or with the key as the
    /// first part of the path.
    pub(super) fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    fn url_with_key(&self) -> String {
        format!("http://{}/{}{}", self.address, self.key, self.path)
    }

    /// With a slash at its end where the registry's own URL has one: lock files repeat it.
    fn url_with_password(&self) -> String {
        let path = if self.url.ends_with('/') {
            self.path.as_str()
        } else {
            self.path.trim_end_matches('/')
        };
        format!("http://awo:{}@{}{path}", self.key, self.address)
    }

    /// An index of Python as uv knows it.
    fn named_index(&self) -> String {
        match &self.name {
            Some(name) => format!("{name}={}", self.url_with_password()),
            None => self.url_with_password(),
        }
    }

    /// Of the default registry, its own address in lock files stays as it is, and is replaced where it is used.
    fn npmrc(&self) -> String {
        let mut lines = String::new();
        if self.is_default {
            let replaced = if self.host.contains(':') {
                "always"
            } else {
                self.host.as_str()
            };
            let _ = writeln!(lines, "registry={}", self.url());
            let _ = writeln!(lines, "replace-registry-host={replaced}");
        }
        for scope in &self.scopes {
            let _ = writeln!(lines, "{scope}:registry={}", self.url());
        }
        let _ = writeln!(lines, "//{}/:_authToken={}", self.address, self.key);
        lines
    }

    /// Manifests and lock files go on naming the registry itself.
    fn cargo_source(&self, number: usize) -> String {
        let url = self.url.trim_start_matches("sparse+");
        let suffix = match number {
            0 => String::new(),
            number => format!("-{number}"),
        };
        format!(
            "[source.awo-registry{suffix}]\nregistry = \"sparse+{url}\"\nreplace-with = \"awo-proxy{suffix}\"\n\n\
             [source.awo-proxy{suffix}]\nregistry = \"sparse+{}\"\n",
            self.url_with_key()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::lock_files::local;
    use super::*;

    #[test]
    fn registries_beside_the_default_are_found_by_name_and_scope() {
        use RegistryKind::{Go, Maven, Npm, Pypi};
        let named = |kind, name: &str, scopes: &[&str]| Local {
            name: Some(name.to_owned()),
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            is_default: false,
            ..local(kind, "https://r.example/x/")
        };
        let locals = [
            named(Npm, "acme", &["@acme", "@other"]),
            named(Pypi, "acme-py", &[]),
            named(Go, "go", &[]),
            named(Maven, "acme", &[]),
            local(Maven, "https://m.example/maven/"),
        ];
        let variables = variables(&locals);
        let value = |name: &str| {
            let entry = variables.iter().find(|(variable, _)| variable == name);
            entry.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("PIP_INDEX_URL"), None);
        assert_eq!(
            value("UV_INDEX"),
            Some("acme-py=http://awo:key@127.0.0.1:7/x/")
        );
        assert_eq!(
            value("PIP_EXTRA_INDEX_URL"),
            Some("http://awo:key@127.0.0.1:7/x/")
        );
        assert_eq!(value("GOPROXY"), Some("http://127.0.0.1:7/key/x,direct"));
        let own = Some("http://127.0.0.1:7/key/x/");
        assert_eq!(value("AWO_REGISTRY_ACME_PY"), own);
        assert_eq!(value("AWO_REGISTRY_TOKEN"), own);
        let files = files(&locals);
        let file = |name: &str| &files.iter().find(|(path, _)| *path == name).unwrap().1;
        let npmrc = file(".npmrc");
        assert!(npmrc.contains("@acme:registry=http://127.0.0.1:7/x/\n@other:registry="));
        assert!(!npmrc.starts_with("registry=") && !npmrc.contains("replace-registry-host"));
        let settings = file(".m2/settings.xml");
        assert!(settings.contains("<mirrorOf>acme</mirrorOf>"), "{settings}");
        assert!(
            settings.contains("<mirrorOf>*,!acme</mirrorOf>"),
            "{settings}"
        );
    }
}
