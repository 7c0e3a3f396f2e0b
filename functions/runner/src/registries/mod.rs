//! Registries that want a credential: for each a server on loopback that adds it, so that neither an
//! agent nor a verifier nor a setup holds one.
//!
//! What it keeps:
//! - a credential goes to its registry's own origin, and never along with a redirect, which is the
//!   client's to follow without it;
//! - only reading, only below the registry's own path, or what one of its answers has named;
//! - callers show the run's key for it, so that no other process of the machine is served.

mod access;
mod files;
mod pages;
mod serving;

use std::io;
use std::path::Path;

use awo_domain::control::RegistryAccess;
use awo_domain::environment::RegistryKind;
use tokio::task::AbortHandle;

use crate::agent_user::AgentUser;
use crate::contained_process::Variables;
use crate::loopback;

use access::Upstream;
use serving::Serving;

/// Java takes the home of the user's entry in `/etc/passwd`, which is another one than `HOME`.
const MAVENRC: &str = "MAVEN_OPTS=\"-Duser.home=$HOME $MAVEN_OPTS\"\n";

/// A registry as commands reach it.
#[derive(Debug, Clone)]
struct Local {
    kind: RegistryKind,
    /// The name of its secret, by which its variable is called.
    name: String,
    /// `127.0.0.1:…`
    address: String,
    /// The path of the registry's URL, with a slash at its end.
    path: String,
    /// The registry's own host, with the port where it is written.
    host: String,
    /// The registry's URL as it was given.
    url: String,
    /// What a caller shows.
    key: String,
}

/// The servers of a run; they end with this value.
#[derive(Default)]
pub(crate) struct Registries {
    locals: Vec<Local>,
    serving: Vec<AbortHandle>,
}

impl Drop for Registries {
    fn drop(&mut self) {
        self.serving.iter().for_each(AbortHandle::abort);
    }
}

impl Registries {
    /// Starts a server for each registry.
    ///
    /// # Errors
    /// A sentence for people.
    pub(crate) async fn start(registries: &[RegistryAccess]) -> Result<Registries, String> {
        let mut started = Registries::default();
        for one in registries {
            let (listener, address) = loopback::listen().await?;
            let key = loopback::new_key("awo-registry")?;
            let origin = format!("http://{address}");
            let upstream = Upstream::new(one, &origin)?;
            let url = upstream.url();
            started.locals.push(Local {
                kind: one.registry.kind,
                name: one.registry.secret.clone(),
                address: address.to_string(),
                path: upstream.path().to_owned(),
                host: match (url.host_str(), url.port()) {
                    (Some(host), Some(port)) => format!("{host}:{port}"),
                    (host, _) => host.unwrap_or_default().to_owned(),
                },
                url: one.registry.url.clone(),
                key: key.clone(),
            });
            let serving = Serving::new(upstream, key);
            let answer = move |request| {
                let serving = serving.clone();
                async move { serving.answer(request).await }
            };
            started.serving.push(loopback::serve(listener, answer));
        }
        Ok(started)
    }

    /// What points package managers at the servers: what of it are variables.
    pub(crate) fn variables(&self) -> Variables {
        let of_each = self.locals.iter().flat_map(Local::variables);
        of_each.map(|(name, value)| (name, value.into())).collect()
    }

    /// What of it are files in a home.
    ///
    /// # Errors
    /// If one cannot be written.
    pub(crate) fn write_files(&self, user: Option<AgentUser>, home: &Path) -> io::Result<()> {
        for local in &self.locals {
            for (path, text) in local.files() {
                files::write(user, home, Path::new(path), &text)?;
            }
        }
        Ok(())
    }
}

impl Local {
    /// Where the registry is for a client that sends the key as a password, or with the key as the
    /// first part of the path.
    fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    fn url_with_key(&self) -> String {
        format!("http://{}/{}{}", self.address, self.key, self.path)
    }

    fn url_with_password(&self) -> String {
        format!("http://awo:{}@{}{}", self.key, self.address, self.path)
    }

    fn variables(&self) -> Vec<(String, String)> {
        let own = (format!("AWO_REGISTRY_{}", self.name), self.url_with_key());
        let of_kind: Vec<(&str, String)> = match self.kind {
            RegistryKind::Pypi => vec![
                ("PIP_INDEX_URL", self.url_with_password()),
                ("UV_DEFAULT_INDEX", self.url_with_password()),
            ],
            RegistryKind::Go => {
                let url = self.url_with_key();
                vec![("GOPROXY", url.trim_end_matches('/').to_owned())]
            }
            RegistryKind::Npm
            | RegistryKind::Cargo
            | RegistryKind::Maven
            | RegistryKind::Generic => Vec::new(),
        };
        let of_kind = of_kind.into_iter();
        std::iter::once(own)
            .chain(of_kind.map(|(name, value)| (name.to_owned(), value)))
            .collect()
    }

    fn files(&self) -> Vec<(&'static str, String)> {
        match self.kind {
            RegistryKind::Npm => vec![(".npmrc", self.npmrc())],
            RegistryKind::Cargo => vec![(".cargo/config.toml", self.cargo_config())],
            RegistryKind::Maven => vec![
                (".m2/settings.xml", self.maven_settings()),
                (".mavenrc", MAVENRC.to_owned()),
            ],
            RegistryKind::Pypi | RegistryKind::Go | RegistryKind::Generic => Vec::new(),
        }
    }

    /// The registry's own address in lock files stays as it is, and is replaced where it is used.
    fn npmrc(&self) -> String {
        let replaced = if self.host.contains(':') {
            "always"
        } else {
            self.host.as_str()
        };
        format!(
            "registry={}\n//{}/:_authToken={}\nreplace-registry-host={replaced}\n",
            self.url(),
            self.address,
            self.key,
        )
    }

    /// Manifests and lock files go on naming the registry itself.
    fn cargo_config(&self) -> String {
        let url = self.url.trim_start_matches("sparse+");
        format!(
            "[source.awo-registry]\nregistry = \"sparse+{url}\"\nreplace-with = \"awo-proxy\"\n\n\
             [source.awo-proxy]\nregistry = \"sparse+{}\"\n",
            self.url_with_key()
        )
    }

    fn maven_settings(&self) -> String {
        format!(
            "<settings>\n  <mirrors>\n    <mirror>\n      <id>awo</id>\n      <mirrorOf>*</mirrorOf>\n      \
             <url>{}</url>\n    </mirror>\n  </mirrors>\n</settings>\n",
            self.url_with_key()
        )
    }
}
