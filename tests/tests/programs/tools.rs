//! Claude Code and Codex as clients: each reaches the service's tools as the page says.

use std::path::Path;
use std::process::Command;

use awo_tests::service::program;
use serde_json::Value;

use crate::models::Manners;
use crate::scene::Scene;

fn blocks() -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/mcp.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap().to_owned());
    blocks.filter(|block| block.contains("mcp add")).collect()
}

/// The output of a script in an empty home.
fn shown(scene: &Scene, home: &Path, script: &str) -> String {
    let bin = program("awo").parent().unwrap().to_owned();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let ready = std::fs::read(scene.data_dir().with_file_name("ready.json")).unwrap();
    let ready: Value = serde_json::from_slice(&ready).unwrap();
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(home)
        .env("PATH", &path)
        .env("HOME", home)
        .env("AWO_URL", ready["baseUrl"].as_str().unwrap())
        .env("AWO_API_KEY", ready["apiKey"].as_str().unwrap())
        .output()
        .unwrap();
    let shown = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{script}\n{shown}");
    shown
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_of_the_page_connect_claude_code_and_codex() {
    let scene = Scene::start(Manners::Good, "true").await;
    let blocks = blocks();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let home = tempfile::tempdir().unwrap();
        shown(&scene, home.path(), &block);
        // It starts the server, or calls it, and waits for its first answer.
        let listed = shown(&scene, home.path(), "claude mcp list");
        let line = listed.lines().find(|line| line.starts_with("awo:"));
        assert!(
            line.is_some_and(|line| line.contains("Connected")),
            "{listed}"
        );
        if block.contains("codex") {
            let listed = shown(&scene, home.path(), "codex mcp list");
            assert!(listed.contains("awo"), "{listed}");
        }
    }
}
