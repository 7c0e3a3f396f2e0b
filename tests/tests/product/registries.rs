//! Registries that want a credential, with the real npm, pip and cargo: they install, nobody sees the
//! credential, and nothing else is reachable with it. Go and Maven are in `tests/programs`.

mod packages;
mod project;
mod server;

use awo_tests::repository::Repository;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest, Sha256, Sha512};

use packages::{archive, wheel};
use project::{TOKEN, all_showed, environment, hunter, ran, service};
use server::Server;

use crate::plugins::register;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn npm_installs_from_a_private_registry_and_lock_files_go_on_naming_it() {
    let server = Server::start(Some(&format!("Bearer {TOKEN}"))).await;
    let package = archive(&[
        (
            "package/package.json",
            r#"{"name":"@acme/left","version":"1.0.0","main":"index.js"}"#,
        ),
        (
            "package/index.js",
            "module.exports = 'from the registry';\n",
        ),
    ]);
    let integrity = format!("sha512-{}", STANDARD.encode(Sha512::digest(&package)));
    let tarball = format!("{}/private/@acme/left/-/left-1.0.0.tgz", server.url);
    let dist = json!({ "tarball": tarball, "integrity": integrity });
    let metadata = json!({
        "name": "@acme/left", "dist-tags": { "latest": "1.0.0" },
        "versions": { "1.0.0": { "name": "@acme/left", "version": "1.0.0", "dist": dist } },
    });
    server.file(
        "/private/@acme/left/-/left-1.0.0.tgz",
        "application/octet-stream",
        package,
    );
    for path in ["/private/@acme%2fleft", "/private/@acme/left"] {
        server.file(path, "application/json", metadata.to_string());
    }
    let manifest = r#"{"name":"app","version":"1.0.0","dependencies":{"@acme/left":"1.0.0"}}"#;
    let lock = json!({
        "name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
        "packages": {
            "": { "name": "app", "version": "1.0.0", "dependencies": { "@acme/left": "1.0.0" } },
            "node_modules/@acme/left":
                { "version": "1.0.0", "resolved": tarball, "integrity": integrity },
        },
    });
    let check = "test:\n\t@node -e \"if (require('@acme/left') !== 'from the registry') process.exit(1)\"\n";
    let repository = Repository::with(&[
        ("Makefile", check),
        ("package.json", manifest),
        ("package-lock.json", &lock.to_string()),
        (".gitignore", "node_modules\n"),
    ]);
    let service = service().await;
    let url = format!("{}/private/", server.url);
    environment(&service, "npm", &url, "npm ci --no-audit --no-fund").await;
    // Once more without the lock file, as an agent does that adds a package.
    let again = "rm -rf node_modules package-lock.json && npm install --no-audit --no-fund && \
                 cp package-lock.json made-lock.txt && git checkout -q package-lock.json";
    let run = ran(&service, "npm", &repository, &hunter(again)).await;
    all_showed(&server, &format!("Bearer {TOKEN}"));
    let made = repository.show(run["branch"].as_str().unwrap(), "made-lock.txt");
    assert!(made.contains(&tarball), "{made}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pip_installs_from_a_private_index_with_links_of_every_kind() {
    let credential = format!("Basic {}", STANDARD.encode(format!("__token__:{TOKEN}")));
    let server = Server::start(Some(&credential)).await;
    let simple = |name: &str, link: &str| {
        let page =
            format!("<!doctype html><html><body><a href=\"{link}\">{name}</a></body></html>");
        server.file(
            &format!(
                "/simple/{}/",
                name.split('-').next().unwrap().replace('_', "-")
            ),
            "text/html",
            page,
        );
    };
    let wheels = tempfile::tempdir().unwrap();
    for name in ["acme_one", "acme_two"] {
        let file = wheel(wheels.path(), name);
        let bytes = std::fs::read(wheels.path().join(&file)).unwrap();
        server.file(&format!("/files/{file}"), "application/octet-stream", bytes);
    }
    simple(
        "acme_one-1.0-py3-none-any.whl",
        "../../files/acme_one-1.0-py3-none-any.whl",
    );
    let whole = format!("{}/files/acme_two-1.0-py3-none-any.whl", server.url);
    simple("acme_two-1.0-py3-none-any.whl", &whole);
    let check = "test:\n\t@PYTHONPATH=deps python3 -c 'import acme_one, acme_two'\n";
    let repository = Repository::with(&[
        ("Makefile", check),
        ("requirements.txt", "acme-one==1.0\nacme-two==1.0\n"),
        (".gitignore", "deps\n"),
    ]);
    let service = service().await;
    // Past a version manager's shim, which writes into its own folder after each pip.
    let install = "$(python3 -c 'import sys; print(sys.executable)') -m pip install -q --disable-pip-version-check --no-deps --target deps \
                   -r requirements.txt";
    environment(
        &service,
        "pypi",
        &format!("{}/simple/", server.url),
        install,
    )
    .await;
    ran(&service, "pypi", &repository, &hunter("true")).await;
    all_showed(&server, &credential);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cargo_fetches_from_a_private_sparse_index_that_wants_a_token() {
    let server = Server::start(Some(TOKEN)).await;
    let manifest = "[package]\nname = \"acme-crate\"\nversion = \"1.0.0\"\nedition = \"2021\"\n";
    let package = archive(&[
        ("acme-crate-1.0.0/Cargo.toml", manifest),
        (
            "acme-crate-1.0.0/src/lib.rs",
            "pub const HELLO: &str = \"hello\";\n",
        ),
    ]);
    let checksum: String = Sha256::digest(&package)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let entry = json!({
        "name": "acme-crate", "vers": "1.0.0", "deps": [], "cksum": checksum, "features": {},
        "yanked": false,
    });
    let config = json!({
        "dl": format!("{}/crates/{{crate}}/{{version}}", server.url), "auth-required": true,
    });
    server.file("/index/config.json", "application/json", config.to_string());
    server.file(
        "/index/ac/me/acme-crate",
        "text/plain",
        format!("{entry}\n"),
    );
    server.file(
        "/crates/acme-crate/1.0.0",
        "application/octet-stream",
        package,
    );
    let index = format!("sparse+{}/index/", server.url);
    let project = "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
                   [dependencies]\nacme-crate = { version = \"1.0.0\", registry = \"acme\" }\n";
    let own = format!("[registries.acme]\nindex = \"{index}\"\n");
    let check = "test:\n\t@grep -q 'acme-crate' Cargo.lock && grep -q index/ Cargo.lock\n";
    let repository = Repository::with(&[
        ("Makefile", check),
        ("Cargo.toml", project),
        ("src/lib.rs", "\n"),
        (".cargo/config.toml", &own),
    ]);
    let service = service().await;
    environment(&service, "cargo", &index, "cargo fetch").await;
    let script = hunter("cargo fetch --offline && cp Cargo.lock made-lock.txt");
    let run = ran(&service, "cargo", &repository, &script).await;
    all_showed(&server, TOKEN);
    let made = repository.show(run["branch"].as_str().unwrap(), "made-lock.txt");
    assert!(made.contains(&index), "{made}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verification_that_a_client_requests_installs_through_the_proxy_too() {
    let credential = format!("Bearer {TOKEN}");
    let server = Server::start(Some(&credential)).await;
    server.file("/files/package", "text/plain", "from the registry\n");
    let check = "test:\n\t@grep -q registry installed.txt && echo '1 passed in 0.1s'\n";
    let repository = Repository::with(&[("Makefile", check), (".gitignore", "installed.txt\n")]);
    let service = service().await;
    let url = format!("{}/files/", server.url);
    let install = "curl -sSf -o installed.txt \"${AWO_REGISTRY_REGISTRY%/}/package\"";
    environment(&service, "generic", &url, install).await;
    let run = ran(&service, "generic", &repository, &hunter("true")).await;
    let dir = std::path::PathBuf::from(run["workDir"].as_str().unwrap());
    std::fs::remove_file(dir.join("installed.txt")).unwrap();
    let asked = server.seen().len();
    let hunt = format!(
        "{{ env; cat /proc/[0-9]*/environ; cat ~/.npmrc; grep -rhs \"$V\" \"$HOME\" \"$TMPDIR\" .; }} \
         2>/dev/null | grep -q \"$V\" && exit 1; {}",
        "curl -sSf \"${AWO_REGISTRY_REGISTRY%/}/package\" | grep registry"
    );
    let hunt = format!("V=$(printf 'registry-%s' credential-1123581321); {hunt}");
    let plugin = json!({ "id": "custom:hunt", "command": ["sh", "-c", hunt] });
    register(&service.client, &plugin).await;
    let answer = service
        .client
        .post("/api/v1/verification/run", &json!({ "workDir": dir }))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let result = &answer.body["data"];
    assert_eq!(result["overallStatus"], "passed", "{result:#}");
    assert_eq!(server.seen().len(), asked + 2);
    all_showed(&server, &credential);
    assert!(!answer.text.contains(TOKEN), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_the_registry_is_reachable_and_redirects_do_not_carry_the_credential() {
    let credential = format!("Bearer {TOKEN}");
    let (server, other) = (
        Server::start(Some(&credential)).await,
        Server::start(None).await,
    );
    server.file("/files/good", "text/plain", "good\n");
    server.file("/admin/secret", "text/plain", "must not be seen\n");
    other.file("/elsewhere", "text/plain", "from elsewhere\n");
    for (from, to) in [
        ("/files/away", format!("{}/elsewhere", other.url)),
        ("/files/inside", format!("{}/files/good", server.url)),
        ("/files/aside", format!("{}/admin/secret", server.url)),
    ] {
        server
            .api
            .redirects
            .lock()
            .unwrap()
            .insert(from.to_owned(), to);
    }
    let repository = Repository::with(&[("Makefile", "test:\n\t@true\n"), ("a", "b\n")]);
    let service = service().await;
    environment(
        &service,
        "generic",
        &format!("{}/files/", server.url),
        "true",
    )
    .await;
    let script = hunter(
        "B=${AWO_REGISTRY_REGISTRY%/}; R=${B%/files}; \
         get() { curl -sS --path-as-is -o body -w \"$1 %{http_code} \" \"$@\" >> got.txt 2>&1; cat body >> got.txt; echo >> got.txt; rm -f body; }; \
         get \"$B/good\"; get \"$R/admin/secret\"; get \"$B/../admin/secret\"; get \"$B/%2e%2e/admin/secret\"; \
         get -L \"$B/inside\"; get -L \"$B/away\"; get -L \"$B/aside\"; get -X PUT \"$B/good\"; \
         get \"$(echo $R | sed 's,/awo-registry[^/]*,/awo-registry-wrong,')/files/good\"; sed -i 's,http[^ ]*,,' got.txt",
    );
    let run = ran(&service, "generic", &repository, &script).await;
    let got = repository.show(run["branch"].as_str().unwrap(), "got.txt");
    assert!(!got.contains("must not be seen"), "{got}");
    assert_eq!(got.matches("200 good").count(), 2, "{got}");
    assert_eq!(got.matches("200 from elsewhere").count(), 1, "{got}");
    assert_eq!(got.matches(" 403 ").count(), 4, "{got}");
    assert!(got.contains(" 405 ") && got.contains(" 401 "), "{got}");
    assert_eq!(other.seen(), [("GET /elsewhere".to_owned(), None)]);
    let mut asked = server.seen().into_iter();
    assert!(asked.all(|(call, shown)| {
        call.starts_with("GET /files/") && shown.as_deref() == Some(&credential)
    }));
}
