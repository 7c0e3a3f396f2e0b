//! Registries that want a credential, with the real Go and Maven: Debian's `golang-go` and `maven`. The
//! others are in `make test`, since this repository's own tests need their tools anyway.

#[path = "../product/registries/project.rs"]
mod project;
#[path = "../product/registries/server.rs"]
mod server;

use std::path::Path;
use std::process::Command;

use awo_tests::repository::Repository;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use project::{TOKEN, all_showed, environment, hunter, ran, service};
use server::Server;

/// Says what to install where a tool is not there: a test that did not run must not look like one that passed.
fn needs(program: &str, package: &str) {
    let found = Command::new(program).arg("version").output();
    let found = found.or_else(|_| Command::new(program).arg("--version").output());
    assert!(
        found.is_ok(),
        "{program} is not installed: apt-get install {package}"
    );
}

/// What `module` answers to anybody who asks for its only version.
fn go_module(server: &Server, module: &str) {
    let dir = tempfile::tempdir().unwrap();
    let at = format!("/go/{module}/@v");
    let manifest = format!("module {module}\n\ngo 1.19\n");
    let script = format!(
        "import zipfile\nwith zipfile.ZipFile('module.zip', 'w') as z:\n\
         \x20   z.writestr('{module}@v1.0.0/go.mod', {manifest:?})\n\
         \x20   z.writestr('{module}@v1.0.0/left.go', 'package left\\n\\nconst Hello = \"from the registry\"\\n')\n"
    );
    let made = Command::new("python3")
        .args(["-c", &script])
        .current_dir(dir.path())
        .status();
    assert!(made.unwrap().success());
    let zip = std::fs::read(Path::new(dir.path()).join("module.zip")).unwrap();
    let info = r#"{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}"#;
    server.file(&format!("{at}/list"), "text/plain", "v1.0.0\n");
    server.file(&format!("{at}/v1.0.0.info"), "application/json", info);
    server.file(&format!("{at}/v1.0.0.mod"), "text/plain", manifest);
    server.file(&format!("{at}/v1.0.0.zip"), "application/zip", zip);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn go_downloads_from_a_private_module_proxy() {
    needs("go", "golang-go");
    let credential = format!("Basic {}", STANDARD.encode(format!("builder:{TOKEN}")));
    let server = Server::start(Some(&credential)).await;
    go_module(&server, "acme.example/left");
    let project = "module acme.example/app\n\ngo 1.19\n\nrequire acme.example/left v1.0.0\n";
    let program =
        "package main\n\nimport \"acme.example/left\"\n\nfunc main() { println(left.Hello) }\n";
    // No module of the registry is known to Go's own checksum database.
    let check = "tests: [{name: module, run: 'export GONOSUMDB=acme.example GOFLAGS=-mod=mod; \
                 go list -deps . | grep -q acme.example/left && go mod verify'}]\n";
    let repository = Repository::with(&[
        ("verify.yaml", check),
        ("go.mod", project),
        ("main.go", program),
        (".gitignore", "go.sum\n"),
    ]);
    let service = service().await;
    let url = format!("{}/go/", server.url);
    environment(
        &service,
        "go",
        &url,
        "GONOSUMDB=acme.example go mod download",
    )
    .await;
    let secrets = service.service.cloud.secrets().unwrap();
    let with_user = format!("builder:{TOKEN}");
    let name = "env:go:REGISTRY";
    secrets.set(&service.org, name, &with_user).await.unwrap();
    let again =
        "export GONOSUMDB=acme.example GOFLAGS=-mod=mod; go clean -modcache; go mod download";
    ran(&service, "go", &repository, &hunter(again)).await;
    all_showed(&server, &credential);
}

/// A project whose parent and whose list of versions are the registry's. Maven needs no plugin to
/// check that, so that nothing else has to be downloaded.
const POM: &str = "<project><modelVersion>4.0.0</modelVersion>\
    <parent><groupId>acme</groupId><artifactId>parent</artifactId><version>1.0.0</version><relativePath/></parent>\
    <artifactId>app</artifactId><packaging>pom</packaging>\
    <dependencyManagement><dependencies><dependency><groupId>acme</groupId><artifactId>versions</artifactId>\
    <version>1.0.0</version><type>pom</type><scope>import</scope></dependency></dependencies></dependencyManagement>\
    </project>\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maven_resolves_from_a_private_repository() {
    needs("mvn", "maven");
    let credential = format!("Basic {}", STANDARD.encode(format!("builder:{TOKEN}")));
    let server = Server::start(Some(&credential)).await;
    for name in ["parent", "versions"] {
        let pom = format!(
            "<project><modelVersion>4.0.0</modelVersion><groupId>acme</groupId><artifactId>{name}</artifactId>\
             <version>1.0.0</version><packaging>pom</packaging></project>\n"
        );
        let path = format!("/maven/acme/{name}/1.0.0/{name}-1.0.0.pom");
        server.file(&path, "application/xml", pom);
    }
    let check = "test:\n\t@mvn -q -B -o validate && test -d ~/.m2/repository/acme/versions/1.0.0\n";
    let repository = Repository::with(&[("Makefile", check), ("pom.xml", POM)]);
    let service = service().await;
    let url = format!("{}/maven/", server.url);
    environment(&service, "maven", &url, "mvn -q -B validate").await;
    let secrets = service.service.cloud.secrets().unwrap();
    let with_user = format!("builder:{TOKEN}");
    let name = "env:maven:REGISTRY";
    secrets.set(&service.org, name, &with_user).await.unwrap();
    let again = "rm -rf ~/.m2/repository; mvn -q -B validate";
    ran(&service, "maven", &repository, &hunter(again)).await;
    all_showed(&server, &credential);
}
