//! What docs/administration.md and the pages for operators say to type.

use serde_json::{Value, json};

use super::blocks::{block_of, commands, filled, text};
use super::reader::{Reader, found};

const FILES: [(&str, &str); 2] = [
    (".awo/agent.sh", "#!/bin/sh\ndate >> NOTES.md\n"),
    ("Makefile", "test:\n\ttest -e .awo/agent.sh\n"),
];

/// The commands of the page's tables, with every optional part.
fn administration() -> Vec<String> {
    let page = text("docs/administration.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    let commands: Vec<String> = cells.map(|cell| cell.replace(['[', ']'], "")).collect();
    assert!(commands.len() >= 16, "{commands:?}");
    commands
}

/// An operator who follows the page on administration.
struct Operator {
    reader: Reader,
    /// The service's first organization.
    own: String,
    /// The one that the page creates.
    org: String,
    /// Its keys.
    made: String,
    rotated: String,
    /// The command that deletes it, which comes last.
    deletion: String,
}

impl Operator {
    fn admin(&self, command: &str) -> String {
        self.reader.ran(&format!("awo admin --local {command}"))
    }

    fn read(&self, command: &str) -> Value {
        let command = format!("awo admin --local {command} --json");
        self.reader.json(&command)
    }

    fn show(&self, org: &str) -> Value {
        self.read(&format!("show-org --org {org}"))
    }

    fn works(&self, key: &str) -> bool {
        let url = self.reader.local().client.base_url();
        let call = format!("AWO_URL={url} AWO_API_KEY={key} awo list");
        self.reader.shell(&call).code == Some(0)
    }

    fn organizations(&mut self, name: &str, command: &str) {
        match name {
            "create-org" => {
                self.org = found(&self.admin(command), "org_");
                assert_eq!(self.show(&self.org)["balance"], 0);
            }
            "list-orgs" => assert!(self.admin(command).contains(&self.org)),
            "show-org" => assert!(self.admin(command).contains("Team A")),
            "rename-org" => {
                self.admin(&command.replace("Team A", "Team B"));
                assert_eq!(self.show(&self.org)["name"], "Team B");
            }
            "suspend-org" => {
                let create = format!("create-key --org {} --scopes '*'", self.org);
                let key = found(&self.admin(&create), "org_live_");
                assert!(self.works(&key));
                self.admin(command);
                assert!(!self.works(&key));
            }
            "reinstate-org" => {
                self.admin(command);
                assert_eq!(self.show(&self.org)["status"], "active");
            }
            "delete-org" => command.clone_into(&mut self.deletion),
            other => panic!("no effect is known of {other}"),
        }
    }

    fn keys(&mut self, name: &str, command: &str) {
        match name {
            "create-key" => {
                self.made = found(&self.admin(command), "org_live_");
                assert!(self.works(&self.made));
            }
            "list-keys" => {
                let shown = self.admin(command);
                assert!(shown.contains("Team A") && !shown.contains(&self.made));
            }
            _ => {
                let id = &self.made["org_live_".len()..][..12];
                let command = command.replace("--key-id ID", &format!("--key-id {id}"));
                let shown = self.admin(&command);
                if name == "rotate-key" {
                    self.rotated = found(&shown, "org_live_");
                }
                assert_eq!(self.works(&self.made), name == "rotate-key");
                assert!(self.works(&self.rotated));
            }
        }
    }

    fn dispatcher(&self, name: &str, command: &str) {
        match name {
            "queue" => assert!(self.admin(command).contains(&self.own)),
            "runs" => assert!(self.admin(command).contains("succeeded")),
            "pause" => {
                self.admin(command);
                self.reader.json("awo submit --prompt wait --json");
                assert_eq!(self.show(&self.own)["waiting"], 1);
            }
            "resume" => {
                self.admin(command);
                // With the next submission.
                self.reader.ran(
                    "awo submit --prompt more --follow && awo list --status queued --format ids \
                     | xargs --no-run-if-empty --max-args 1 awo follow",
                );
            }
            _ => {
                assert_eq!(self.read(command)["running"], 0);
                assert!(self.show(&self.own)["pausedAt"].is_string());
            }
        }
    }

    fn delete(&self) {
        let early = self
            .reader
            .shell(&format!("awo admin --local {}", self.deletion));
        assert_ne!(early.code, Some(0), "it is active");
        self.admin(&format!("suspend-org --org {}", self.org));
        self.admin(&self.deletion);
        assert_eq!(self.show(&self.org)["status"], "deleted");
    }
}

#[test]
fn each_command_of_the_administration_page_has_its_effect() {
    let reader = Reader::started(&FILES, &[]);
    reader.ran("awo submit --prompt note --follow");
    let mut operator = Operator {
        own: reader.local().org.as_str().to_owned(),
        reader,
        org: String::new(),
        made: String::new(),
        rotated: String::new(),
        deletion: String::new(),
    };
    for command in administration() {
        let name = command.split(' ').next().unwrap().to_owned();
        let of_dispatcher = ["queue", "runs", "pause", "resume", "drain"].contains(&name.as_str());
        let id = if of_dispatcher {
            &operator.own
        } else {
            &operator.org
        };
        let command = command
            .replace("--org ID", &format!("--org {id}"))
            .replace("--name N", "--name 'Team A'")
            .replace("--scopes A,B", "--scopes work-orders:read,runs:read")
            .replace("--requests-per-minute N", "--requests-per-minute 60")
            .replace("--status S", "--status succeeded")
            .replace("--limit N", "--limit 5");
        match name.as_str() {
            _ if of_dispatcher => operator.dispatcher(&name, &command),
            "create-key" | "list-keys" | "rotate-key" | "revoke-key" => {
                operator.keys(&name, &command);
            }
            _ => operator.organizations(&name, &command),
        }
    }
    operator.delete();
}

#[test]
fn the_first_run_of_a_deployment_needs_only_the_commands_of_the_page() {
    let reader = Reader::started(&FILES, &[]);
    let page = "docs/deploy.md";
    let (url, home) = (reader.local().client.base_url(), reader.home());
    for (name, content) in [
        ("token", "a-token-of-a-git-host\n"),
        ("key", "sk-of-a-provider\n"),
    ] {
        std::fs::write(reader.project().join(name), content).unwrap();
    }
    let lines = commands(&block_of(page, "awo admin create-org"));
    let org = found(&reader.operator_ran(&lines[0]), "org_");
    let rest = filled(&lines[1..3].join("\n"), &[("org_…", &org)]);
    let key = found(
        &reader.operator_ran(&format!("{rest}\n{}", lines[3])),
        "org_live_",
    );
    let export = filled(&lines[4], &[("org_live_…", &key)]);
    let client = format!("export AWO_URL={url}\n{export}");
    let credits = reader.json(&format!("{client}\nawo credits --json"));
    assert_eq!(credits["balance"], 10_000);

    let secrets = block_of(page, "awo admin set-secret");
    let read = format!("awo admin list-secrets --org {org} --json");
    let shown = reader.operator_ran(&format!("org={org}\n{secrets}\n{read}"));
    assert!(
        shown.contains("git:github.com") && shown.contains("anthropic"),
        "{shown}"
    );

    let submits = commands(&block_of(page, "awo submit --repo"));
    let [first, second] = submits.as_slice() else {
        panic!("{submits:?}");
    };
    let repository = format!("file://{}", home.join("my-project").display());
    let first = filled(
        first,
        &[("https://github.com/octocat/Hello-World", &repository)],
    );
    reader.ran(&format!("{client}\n{first}"));
    let run = reader.json(&format!(
        "{client}\nawo get $(awo runs --format ids) --json"
    ));
    assert_eq!(reader.delivered(&run, "hello.txt"), "hello\n");
    // Without the program it fails before anything is cloned; `tutorial::` of `make test-agents` has it.
    let second = filled(second, &[("https://github.com/you/project", &repository)]);
    let asked = reader.shell(&format!("{client}\nexport PATH\n{second}"));
    let order = reader.json(&format!("{client}\nawo list --limit 1 --json"));
    assert_eq!(
        order["workOrders"][0]["agent"]["type"], "claude-code",
        "{asked:?}"
    );
}

#[test]
fn what_operators_type_about_a_run_and_a_ledger_shows_them() {
    let reader = Reader::started(&FILES, &[]);
    reader.ran("awo submit --prompt note --follow");
    let run = reader.ran("awo runs --format ids").trim().to_owned();
    let events = commands(&block_of(
        "docs/operate.md",
        "query \"$FUNCTION_LOGS\" 60 'filter level",
    ));
    let events: Vec<&String> = events
        .iter()
        .filter(|line| line.starts_with("awo "))
        .collect();
    let shown = reader.ran(&filled(events[0], &[("run_…", &run)]));
    assert!(shown.contains("succeeded"), "{shown}");

    let org = reader.local().org.as_str();
    let ledger = commands(&block_of(
        "docs/operate.md",
        "query \"$FUNCTION_LOGS\" 1440",
    ));
    let ledger: Vec<&String> = ledger
        .iter()
        .filter(|line| line.starts_with("awo ") || line.starts_with("org="))
        .collect();
    let check = filled(ledger[0], &[("org_…", org)]);
    let shown = reader.operator_ran(&format!("{check}\n{}", ledger[1]));
    assert!(shown.contains(org) && shown.contains("sound"), "{shown}");

    std::fs::write(reader.project().join("key"), "sk-of-a-provider\n").unwrap();
    let secret = block_of("docs/agents.md", "awo admin set-secret");
    reader.operator_ran(&filled(&secret, &[("org_…", org)]));
    let secrets = format!("awo admin --local list-secrets --org {org}");
    assert!(reader.ran(&secrets).contains("anthropic"));

    let labels = block_of("docs/finance.md", "awo admin set-cost-labels");
    reader.operator_ran(&filled(&labels, &[("org_…", org)]));
    let refused = reader.shell("awo submit --prompt note");
    assert!(refused.all().contains("team is missing"), "{refused:?}");
    let accepted: Value = reader.json("awo submit --prompt note --metadata team=red --json");
    assert_eq!(accepted["metadata"], json!({"team": "red"}));
}

#[test]
fn the_app_of_the_page_is_set_shown_and_removed() {
    let reader = Reader::started(&FILES, &[]);
    reader.ran("openssl genrsa 2048 > app.private-key.pem 2>/dev/null");
    let block = block_of("docs/administration.md", "awo admin set-app");
    let org = reader.local().org.as_str();
    let printed = reader.operator_ran(&format!("org={org}\n{block}"));
    assert!(printed.contains("123456"), "{printed}");
    let shown = reader.operator_ran(&format!("awo admin show-org --org {org}"));
    assert!(!shown.contains("123456"), "{shown}");
}

/// `sudo` without another user, and a data directory and programs of this test.
#[test]
fn one_servers_commands_create_a_key_drain_back_up_and_restore() {
    let page = "docs/single-server.md";
    let mut reader = Reader::started(&FILES, &[]);
    reader.program("sudo", "#!/bin/sh\nshift 2; exec env \"$@\"\n");
    let (org, data) = (reader.local().org.as_str().to_owned(), reader.data());
    let programs = awo_tests::service::program("awo")
        .parent()
        .unwrap()
        .to_owned();
    let programs = programs.display().to_string();
    let places = [("/var/lib/awo", data.as_str()), ("/opt/awo/bin", &programs)];
    let health = commands(&block_of(page, "make serve-programs"))
        .pop()
        .unwrap();
    let base = reader.local().client.base_url().to_owned();
    let health = filled(&health, &[("http://127.0.0.1:8787", &base)]);
    assert_eq!(reader.json(&health)["status"], "up");

    let create = filled(
        &block_of(
            page,
            "sudo -u awo AWO_DATA_DIR=/var/lib/awo /opt/awo/bin/awo admin create-key",
        ),
        &places,
    );
    let key = found(
        &reader.ran(&filled(&create, &[("org_…", &org)])),
        "org_live_",
    );
    let submit = format!("AWO_URL={base} AWO_API_KEY={key} awo submit --prompt note --follow");
    reader.ran(&submit);

    let lines = commands(&block_of(
        page,
        "sudo -u awo AWO_DATA_DIR=/var/lib/awo /opt/awo/bin/awo admin drain",
    ));
    let [drain, stop, start, resume] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    assert_eq!(
        (stop.as_str(), start.as_str()),
        ("sudo systemctl stop awo", "sudo systemctl start awo")
    );
    reader.ran(&filled(drain, &places));
    reader.stop();
    reader.start(&[]);
    let show = format!("awo admin --local show-org --org {org} --json");
    assert!(reader.json(&show)["pausedAt"].is_string());
    reader.ran(&filled(resume, &places));
    assert!(reader.json(&show)["pausedAt"].is_null());

    let stored = reader.scratch().join("kept").display().to_string();
    let backup = filled(
        &block_of(
            page,
            "sudo -u awo AWO_DATA_DIR=/var/lib/awo /opt/awo/bin/awo-local backup",
        ),
        &places,
    );
    reader.ran(&filled(
        &backup,
        &[("/var/backups/awo-2026-11-23", &stored)],
    ));
    let lines = commands(&block_of(page, "sudo systemctl stop awo"));
    reader.stop();
    std::fs::remove_dir_all(&data).unwrap();
    let restore = filled(&lines[1], &places);
    reader.ran(&filled(
        &restore,
        &[("/var/backups/awo-2026-11-23", &stored)],
    ));
    reader.start(&[]);
    assert_eq!(reader.json("awo runs --json")["total"], 1);
}
