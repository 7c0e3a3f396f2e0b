//! A git host: private repositories over HTTPS, for one token, and the APIs of the same host: GitHub's
//! below `/api/v3`, as in GitHub Enterprise Server, GitLab's below `/api/v4`, Gitea's below `/api/v1`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Response, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::backend;
use crate::gitea::Gitea;
use crate::github::Github;
use crate::github_app::Admission;
use crate::gitlab::Gitlab;
use crate::serve::{Identity, Server, serve};

/// What a host lets the token do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Access {
    /// Clone and push.
    #[default]
    All,
    /// Everything, for everybody: no token is asked for.
    Public,
    /// Clone; a push is 403.
    Read,
    /// Nothing: 403, though the token is known.
    Nothing,
    /// All calls are sent to another base, without a slash at its end.
    Redirect(String),
}

/// What a host has seen.
#[derive(Debug, Default)]
pub struct HostLog {
    /// Method, path and `Authorization` of every call of git.
    pub calls: Vec<(String, String, Option<String>)>,
    /// Command lines that held the token while a call was under way.
    pub leaks: Vec<String>,
}

/// A host that runs until it is dropped.
pub struct GitHost {
    /// Its API; its calls are seen there.
    pub github: Github,
    /// Its API as a GitLab's.
    pub gitlab: Gitlab,
    /// Its API as a Gitea's.
    pub gitea: Gitea,
    dir: tempfile::TempDir,
    seen: Arc<Mutex<HostLog>>,
    server: Server,
}

struct App {
    root: PathBuf,
    token: String,
    access: Access,
    github: Github,
    seen: Arc<Mutex<HostLog>>,
}

impl GitHost {
    /// A host for one token.
    ///
    /// # Panics
    /// When there is no port or no folder to be had.
    #[must_use]
    pub fn start(token: &str, access: Access) -> GitHost {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let identity = Identity::of_loopback();
        std::fs::write(dir.path().join("ca.pem"), &identity.pem).expect("a file");
        let seen = Arc::new(Mutex::new(HostLog::default()));
        let github = Github::new(token);
        let app = App {
            root: dir.path().join("repositories"),
            token: token.to_owned(),
            access,
            github: github.clone(),
            seen: Arc::clone(&seen),
        };
        let (gitlab, gitea) = (Gitlab::new(token), Gitea::new(token));
        let router = Router::new()
            .nest("/api/v3", github.router())
            .nest("/api/v4", gitlab.router())
            .nest("/api/v1", gitea.router())
            .fallback(handle)
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::new(app));
        GitHost {
            github,
            gitlab,
            gitea,
            server: serve(router, Some(&identity)),
            dir,
            seen,
        }
    }

    /// Takes a repository over, a bare clone of the one at `from`; its URL.
    ///
    /// # Panics
    /// When it cannot be cloned.
    pub fn add(&self, name: &str, from: &str) -> String {
        let to = self.repository(name);
        let cloned = Command::new("git")
            .args(["clone", "--quiet", "--bare", from])
            .arg(&to)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status();
        assert!(cloned.expect("git runs").success());
        format!("{}/{name}", self.base())
    }

    /// Where a repository is on this machine.
    #[must_use]
    pub fn repository(&self, name: &str) -> PathBuf {
        self.dir.path().join("repositories").join(name)
    }

    /// Host name and port, as the secret of its token is named by.
    #[must_use]
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.server.port)
    }

    /// Its URL, without a slash at its end.
    #[must_use]
    pub fn base(&self) -> String {
        format!("https://{}", self.host())
    }

    /// The PEM file of who says that it is the host.
    #[must_use]
    pub fn ca_file(&self) -> PathBuf {
        Path::join(self.dir.path(), "ca.pem")
    }

    /// What it has seen so far.
    pub fn seen(&self) -> MutexGuard<'_, HostLog> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl App {
    /// Judges a token of the installation of GitHub's App, given as basic authentication.
    fn admission(&self, given: Option<&str>, path: &str, pushes: bool) -> Admission {
        let given = given.and_then(|given| given.strip_prefix("Basic "));
        let given = given.and_then(|pair| STANDARD.decode(pair).ok());
        let given = given.and_then(|pair| String::from_utf8(pair).ok());
        let token = given
            .as_deref()
            .and_then(|pair| pair.strip_prefix("x-access-token:"));
        let mut names = path.trim_start_matches('/').splitn(3, '/');
        let owner = names.next().unwrap_or_default();
        let name = names.next().unwrap_or_default().trim_end_matches(".git");
        let repository = format!("{owner}/{name}");
        self.github.change(|github| match (token, &github.app) {
            (Some(token), Some(app)) => app.admits(token, &repository, ("contents", pushes)),
            _ => Admission::Unknown,
        })
    }

    /// Texts that no command line may hold.
    fn secrets(&self, pair: &str) -> Vec<String> {
        let issued = self.github.change(|github| {
            let issued = github.app.iter().flat_map(|app| &app.issued);
            issued
                .map(|issued| issued.token.clone())
                .collect::<Vec<_>>()
        });
        [self.token.clone(), pair.to_owned()]
            .into_iter()
            .chain(issued)
            .collect()
    }
}

async fn handle(
    State(app): State<Arc<App>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let given = headers.get("authorization").and_then(|v| v.to_str().ok());
    let wanted = STANDARD.encode(format!("x-access-token:{}", app.token));
    {
        let mut seen = app.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let path = uri.path().to_owned();
        let call = (method.to_string(), path, given.map(str::to_owned));
        seen.calls.push(call);
        seen.leaks.extend(leaks(&app.secrets(&wanted)));
    }
    if let Access::Redirect(base) = &app.access {
        let to = format!("{base}{uri}");
        return plain(301, "location", &to, "moved");
    }
    let service = format!("{}{}", uri.path(), uri.query().unwrap_or_default());
    let pushes = service.contains("git-receive-pack");
    let is_known = given == Some(&format!("Basic {wanted}"));
    if app.access != Access::Public && !is_known {
        match app.admission(given, uri.path(), pushes) {
            Admission::Admitted => {}
            Admission::Unknown => {
                return plain(401, "www-authenticate", "Basic realm=\"git\"", "who is it");
            }
            Admission::Elsewhere => {
                return plain(404, "content-type", "text/plain", "Repository not found.");
            }
            Admission::Less => {
                let why = "Write access to repository not granted.";
                return plain(403, "content-type", "text/plain", why);
            }
        }
    }
    if app.access == Access::Nothing || (app.access == Access::Read && pushes) {
        // A host that quotes what it was sent.
        let quoted = format!("{} may not", app.token);
        return plain(403, "content-type", "text/plain", &quoted);
    }
    backend::answer(&app.root, "awo", (&method, &uri), &headers, &body).await
}

fn plain(status: u16, name: &str, value: &str, text: &str) -> Response<Body> {
    let response = Response::builder().status(status).header(name, value);
    response
        .body(Body::from(text.to_owned()))
        .expect("a response")
}

/// Command lines that hold one of the marks.
fn leaks(marks: &[String]) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines
        .filter(|line| marks.iter().any(|mark| line.contains(mark.as_str())))
        .collect()
}
