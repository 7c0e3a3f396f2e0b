//! What README.md says to type.

use awo_tests::service::program;

use super::blocks::{alternatives, block_of, commands, filled, path};
use super::reader::{Reader, found, free_port};
use crate::release_archive::Release;

const PAGE: &str = "README.md";
/// It does as it is asked.
const AGENT: &str = "#!/bin/sh\ncat \"$AWO_PROMPT_FILE\" >> NOTES.md\n";
const FILES: [(&str, &str); 2] = [
    (".awo/agent.sh", AGENT),
    (
        "Makefile",
        "test:\n\t@test -e .awo/agent.sh && echo '1 passed in 0.1s'\n",
    ),
];

#[test]
fn the_first_commands_show_the_demo_and_start_the_service() {
    let reader = Reader::new(&[]);
    // The real recipes of the Makefile, with programs that are built already.
    let programs = program("awo").parent().unwrap().display().to_string();
    let make = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}} exec make --directory='{}' --old-file=programs \
         --old-file=serve-programs BIN_DIR='{programs}' SERVE_DIR='{programs}' \"$@\"\n",
        path("").display()
    );
    reader.program("make", &make);
    let lines = commands(&block_of(PAGE, "make demo"));
    let [demo, starts @ ..] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    let shown = reader.ran(demo);
    assert!(
        shown.contains("The tests pass on the branch and fail on main."),
        "{shown}"
    );
    assert_eq!(starts.len(), 2);
    for start in starts {
        let port = free_port();
        let settings = format!("export AWO_PORT={port} AWO_DATA_DIR=\"$HOME/{port}\"");
        let service = reader.begin(&format!("{settings}; {start}"));
        service.shows("is ready on");
        let health = reader.json(&format!(
            "curl --fail --silent http://127.0.0.1:{port}/health"
        ));
        assert_eq!(health["status"], "up", "{start}");
        // The command line finds it from any folder.
        assert!(reader.json("awo credits --json")["balance"].is_number());
    }
}

#[test]
fn the_commands_for_a_release_install_it_and_start_the_service() {
    let release = Release::packed();
    let reader = Reader::new(&[]);
    let address = format!("export RELEASE=file://{}", release.dist().display());
    let shown = reader.ran(&format!("{address}\n{}", block_of(PAGE, "curl -fsSL")));
    assert!(shown.contains("Installed awo 9.8.7 below "), "{shown}");
    assert!(shown.ends_with("awo-local 9.8.7\n"), "{shown}");

    let page = block_of("docs/releases.md", "curl -fsSL");
    let shown = reader.ran(&format!("{address}\n{page}"));
    assert!(shown.ends_with("awo 9.8.7\n"), "{shown}");
    assert!(reader.home().join("awo/share/doc/awo/LICENSE").is_file());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_for_a_repository_of_your_own_deliver_what_the_agent_did() {
    let reader = Reader::started(&FILES, &[]);
    let page = filled(
        &block_of(PAGE, "export PATH"),
        &[("/path/to/repository", "~/my-project")],
    );
    let shown = reader.ran(&page);
    assert!(shown.contains("\nverified: verification passed"), "{shown}");
    let run = reader.newest_run().await;
    assert_eq!(run["verified"], true, "{run}");
    assert!(reader.delivered(&run, "NOTES.md").contains("Fix the tests"));
    let next = format!("awo diff {}", run["runId"].as_str().unwrap());
    assert!(shown.contains(&next), "the next step: {shown}");

    reader.program("my-agent", "#!/bin/sh\ncat > ANSWER.md\n");
    std::fs::write(reader.project().join("task.md"), "Answer in a file\n").unwrap();
    reader.ran(&block_of(PAGE, "awo submit --prompt @task.md"));
    let run = reader.newest_run().await;
    let answer = reader.delivered(&run, "ANSWER.md");
    assert!(answer.contains("Answer in a file"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_overview_of_the_command_line_names_commands_that_do_what_it_says() {
    let reader = Reader::started(&FILES, &[]);
    let (mut org, mut seen) = (String::new(), 0);
    std::fs::write(reader.project().join("token"), "a-token-of-a-git-host\n").unwrap();
    let block = block_of(PAGE, "awo submit | start");
    let lines: Vec<String> = commands(&block)
        .iter()
        .flat_map(|line| line.split(" ; ").map(str::to_owned).collect::<Vec<_>>())
        .collect();
    for line in &lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let checked = match words.as_slice() {
            _ if line.contains(" | ") => {
                for command in alternatives(line) {
                    let help = reader.ran(&format!("{command} --help"));
                    assert!(help.contains(&format!("Usage: {command}")), "{help}");
                }
                true
            }
            ["awo", "console"] => {
                let address = reader.ran(line);
                let address = address.lines().next().unwrap();
                let page = reader.ran(&format!("curl --fail --silent {address}"));
                page.contains("<html")
            }
            ["awo", "login", url] => {
                let client = &reader.local().client;
                let login = line.replace(url, client.base_url());
                reader.ran(&format!("echo {} | {login}", client.key().unwrap()));
                let used = reader.json("awo context show --json");
                used["address"].as_str().unwrap().trim_end_matches('/') == client.base_url()
            }
            // With an effect: `command_line::the_commands_for_developing_…`.
            ["awo", "listen", ..] => {
                reader.begin(line);
                true
            }
            ["awo", "completions", shell] => {
                let script = reader.ran(&format!("{line} | tee /dev/stderr | {shell} -n"));
                script.contains("complete -F _awo")
            }
            ["awo", "man", ..] => {
                reader.ran(&filled(line, &[("DIR", "~/manual")]));
                reader.home().join("manual/awo-submit.1").is_file()
            }
            ["awo", "admin", "--local", action, ..] => {
                let command = line.replace("org_…", &org);
                let shown = reader.ran(&command);
                has_effect(&reader, action, &shown, &mut org);
                true
            }
            other => panic!("no effect is known of {other:?}"),
        };
        assert!(checked, "{line}");
        seen += 1;
    }
    assert!(seen >= 12, "{lines:?}");
}

/// What an administrator's command that showed this has done.
fn has_effect(reader: &Reader, action: &str, shown: &str, org: &mut String) {
    match action {
        "create-org" => *org = found(shown, "org_"),
        "create-key" => {
            let key = found(shown, "org_live_");
            let url = reader.local().client.base_url();
            let as_it = format!("export AWO_URL={url} AWO_API_KEY={key}; awo list --json");
            assert_eq!(reader.json(&as_it)["total"], 0);
        }
        "grant" => {
            let show = format!("awo admin --local show-org --org {org} --json");
            assert_eq!(reader.json(&show)["balance"], 500);
        }
        "set-secret" => {
            let list = format!("awo admin --local list-secrets --org {org}");
            assert!(reader.ran(&list).contains("git:github.com"));
        }
        other => panic!("no effect is known of {other}"),
    }
}
