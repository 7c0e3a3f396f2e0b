//! The tutorial of the first real agent, command by command, with the real Claude Code.

use std::process::Command;

use awo_tests::service::program;

use crate::models::Manners;
use crate::scene::{self, CANARY, Scene};

fn commands() -> Vec<String> {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/tutorial-real-agent.md"
    );
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(1);
    let commands = blocks.map(|block| block.split("```").next().unwrap().to_owned());
    let commands: Vec<String> = commands.collect();
    assert!(commands.len() >= 3, "{commands:?}");
    commands
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tutorial_of_the_first_real_agent_works_as_it_is_written() {
    let scene = Scene::start(Manners::Good, "true").await;
    let repository = scene::repository(&[]);
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy");
    let cloned = Command::new("git")
        .args(["clone", "--quiet", &repository.url()])
        .arg(&copy)
        .status();
    assert!(cloned.unwrap().success());
    std::fs::write(copy.join("key.txt"), format!("{CANARY}-anthropic")).unwrap();
    let bin = program("awo").parent().unwrap().to_owned();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for command in commands() {
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &command])
            .current_dir(&copy)
            .env("PATH", &path)
            .env("ORG", scene.local.org.as_str())
            .env("AWO_DATA_DIR", scene.data_dir())
            .output()
            .unwrap();
        let shown = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success(), "{command}\n{shown}");
        if command.contains("--follow") {
            assert!(shown.contains("succeeded"), "{shown}");
        }
        if command.contains("awo usage") {
            assert!(shown.contains("claude-sonnet-4-5"), "{shown}");
        }
    }
}
