//! The image of a run's task, as far as it can be checked without building it: its file, and its
//! own script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The instructions of a stage, continued lines joined and comments left out.
fn stages() -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("infra/runner/Dockerfile")).unwrap();
    let lines = text.lines().filter(|line| !line.trim().starts_with('#'));
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let mut stages: Vec<Vec<String>> = Vec::new();
    for line in joined.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if line.starts_with("FROM ") {
            stages.push(Vec::new());
        }
        // What is before the first names the bases.
        if let Some(stage) = stages.last_mut() {
            stage.push(line.to_owned());
        }
    }
    stages
}

fn stage(name: &str) -> Vec<String> {
    let ends = format!(" AS {name}");
    let all = stages();
    let found = all.iter().find(|stage| stage[0].ends_with(&ends));
    found
        .unwrap_or_else(|| panic!("no stage {name}: {all:#?}"))
        .clone()
}

#[test]
fn what_changes_least_comes_first_and_a_team_builds_on_what_is_not_sealed_yet() {
    let base = stage("runner-base");
    let at = |word: &str| {
        let found = base.iter().position(|line| line.contains(word));
        found.unwrap_or_else(|| panic!("{word}: {base:#?}"))
    };
    // Packages, then agents, then the runner: a push of another runner has the layers below it.
    let order = ["apt-get install", "--from=agents", "--from=build"].map(at);
    assert!(order.is_sorted(), "{base:#?}");
    let sealed = ["FROM runner-base AS runner", r#"RUN ["seal-image"]"#];
    assert_eq!(stages().last().unwrap()[..], sealed);
    assert!(!base.iter().any(|line| line.contains("RUN [")), "{base:#?}");
    // What is pushed is compressed as a task unpacks it quickest.
    let make = fs::read_to_string(root().join("infra/deploy.mk")).unwrap();
    let output = "type=image,push=true,oci-mediatypes=true,compression=zstd,force-compression=true";
    assert!(make.contains(output), "{make}");
}

#[test]
fn the_image_agrees_with_the_template() {
    let last = stage("runner-base");
    let template = fs::read_to_string(root().join("template.yaml")).unwrap();
    for wanted in [
        "ReadonlyRootFilesystem: true",
        "Volumes: [{Name: workspaces}, {Name: tmp}, {Name: shared}]",
        "{SourceVolume: workspaces, ContainerPath: /workspaces, ReadOnly: false}",
        "{SourceVolume: tmp, ContainerPath: /tmp, ReadOnly: false}",
        "{SourceVolume: shared, ContainerPath: /shared, ReadOnly: false}",
        "{Name: AWO_WORKSPACE_ROOT, Value: /workspaces}",
        "{Name: AWO_AGENT_UID, Value: '10001'}",
        "{Name: AWO_AGENT_GID, Value: '10001'}",
    ] {
        assert!(template.contains(wanted), "template.yaml lacks {wanted}");
    }
    for wanted in [
        r#"VOLUME ["/workspaces", "/tmp"]"#,
        "USER root",
        r#"ENTRYPOINT ["/usr/local/bin/runner"]"#,
    ] {
        assert!(
            last.iter().any(|line| line == wanted),
            "{wanted}: {last:#?}"
        );
    }
    let made = last.join("\n");
    for wanted in [
        "--uid 10001 --gid 10001",
        "--shell /usr/sbin/nologin",
        "--mode=0711 /workspaces",
    ] {
        assert!(made.contains(wanted), "{wanted}: {made}");
    }
}

#[test]
fn a_variant_for_each_language_is_the_base_with_a_tool_chain_and_then_sealed() {
    let make = fs::read_to_string(root().join("docs/agents.md")).unwrap();
    for (language, tools) in [
        (
            "node",
            &["/usr/local/bin/node", "npm", "corepack", "g++"][..],
        ),
        ("python", &["python3-venv", "python3-pip", "python3-dev"]),
        ("rust", &["rust-tools", "gcc", "pkg-config"]),
        ("go", &["golang-go"]),
        ("java", &["default-jdk-headless", "maven", "JAVA_HOME"]),
    ] {
        let base = stage(&format!("base-{language}"));
        assert_eq!(base[0], format!("FROM runner-base AS base-{language}"));
        let steps = base.join("\n");
        for tool in tools {
            assert!(steps.contains(tool), "{language} {tool}: {steps}");
        }
        for step in base.iter().filter_map(|step| step.strip_prefix("RUN ")) {
            let checked = Command::new("sh")
                .args(["-n", "-c", step])
                .output()
                .unwrap();
            assert!(checked.status.success(), "{step}: {checked:?}");
        }
        let sealed = format!("FROM base-{language} AS runner-{language}");
        assert_eq!(
            stage(&format!("runner-{language}")),
            [&*sealed, r#"RUN ["seal-image"]"#]
        );
        assert!(make.contains(&format!("`runner-{language}`")), "{language}");
    }
}

#[test]
fn every_base_is_named_by_its_digest() {
    let text = fs::read_to_string(root().join("infra/runner/Dockerfile")).unwrap();
    let named = |variable: &str| {
        let name = variable.trim_start_matches("${").trim_end_matches('}');
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("ARG {name}=")));
        line.unwrap_or_else(|| panic!("{variable} has no default"))
            .to_owned()
    };
    for stage in stages()
        .iter()
        .filter(|stage| stage[0].starts_with("FROM "))
    {
        let base = stage[0].split(' ').nth(1).unwrap();
        let is_stage = |stage: &Vec<String>| stage[0].ends_with(&format!(" AS {base}"));
        if stages().iter().any(is_stage) {
            continue;
        }
        let base = named(base);
        let (tag, digest) = base
            .split_once("@sha256:")
            .unwrap_or_else(|| panic!("{base}"));
        let hex = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_tagged = tag.split_once(':').is_some_and(|(_, tag)| tag != "latest");
        assert!(hex && is_tagged, "{base}");
    }
}

/// Runs the image's last step in a folder that stands for its root.
#[test]
fn nothing_that_installs_is_left_and_no_program_makes_anybody_somebody_else() {
    let dir = tempfile::tempdir().unwrap();
    let gone = [
        "usr/bin/apt",
        "usr/bin/apt-get",
        "usr/bin/dpkg",
        "usr/bin/dpkg-deb",
        "usr/lib/apt/methods/https",
        "usr/lib/dpkg/x",
        "var/lib/dpkg/status",
        "var/lib/apt/lists/x",
        "etc/apt/sources.list",
        "usr/bin/debconf",
        "usr/local/sbin/seal-image",
    ];
    let stored = [
        "usr/bin/git",
        "usr/bin/su",
        "usr/local/bin/runner",
        "usr/local/bin/node",
        "etc/ssl/certs/x",
    ];
    for name in gone.iter().chain(&stored) {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let su = dir.path().join("usr/bin/su");
    fs::set_permissions(&su, fs::Permissions::from_mode(0o4755)).unwrap();
    let seal = fs::read_to_string(root().join("infra/runner/seal-image")).unwrap();
    // Every path of the script is absolute: they are below the folder here.
    let place = dir.path().display();
    let lines = seal.lines().filter(|line| !line.starts_with('#'));
    let script = lines
        .collect::<Vec<_>>()
        .join("\n")
        .replace(" /", &format!(" {place}/"));
    let script = script.replace(&format!(" -perm {place}/6000"), " -perm -6000");
    // It removes things: it must not run if it names anything of this machine.
    let inside = dir.path().to_str().unwrap();
    let strays = |word: &&str| word.contains('/') && !word.starts_with(inside);
    assert_eq!(script.split_whitespace().find(strays), None, "{script}");
    let done = sh(&script.replace("-perm -6000", "-perm /6000"), &[]);
    assert!(done.status.success(), "{done:?}");
    for name in gone {
        assert!(!dir.path().join(name).exists(), "{name}");
    }
    for name in stored {
        assert!(dir.path().join(name).exists(), "{name}");
    }
    assert_eq!(su.metadata().unwrap().permissions().mode() & 0o7777, 0o755);
}

fn sh(script: &str, env: &[(&str, &str)]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).envs(env.iter().copied());
    command.output().unwrap()
}

/// The stage that installs agents, with programs of its own for npm and node.
struct Installing {
    dir: tempfile::TempDir,
    script: String,
}

impl Installing {
    fn new() -> Installing {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().display();
        // It installs what the file `installed` says, and one program.
        let npm = format!(
            "#!/bin/sh\necho \"$@\" >> {at}/asked\nif [ \"$1\" = install ]; then mkdir -p node_modules/.bin; \
             cp {at}/installed node_modules/.package-lock.json; touch node_modules/.bin/codex; fi\n"
        );
        for name in ["npm", "node"] {
            let path = dir.path().join(name);
            fs::write(&path, &npm).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let lock = root().join("tests/agents");
        let last = stage("agents").pop().unwrap();
        let script = last.strip_prefix("RUN ").unwrap();
        let script = script.replace("/lock/", &format!("{}/", lock.display()));
        let script = script.replace(" /agents", &format!(" {at}/agents"));
        Installing { script, dir }
    }

    fn run(&self, asked: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.dir.path().display());
        sh(&self.script, &[("AGENTS", asked), ("PATH", &path)])
    }

    fn installs(&self, integrity: &str) {
        let lock = format!("{{\n  \"integrity\": \"{integrity}\",\n}}");
        fs::write(self.dir.path().join("installed"), lock).unwrap();
    }

    fn asked(&self) -> String {
        fs::read_to_string(self.dir.path().join("asked")).unwrap_or_default()
    }
}

#[test]
fn agents_are_installed_as_they_are_locked_and_node_with_them_alone() {
    let lock = fs::read_to_string(root().join("tests/agents/package.json")).unwrap();
    let lock: serde_json::Value = serde_json::from_str(&lock).unwrap();
    let locked = |name: &str| format!("{name}@{}", lock["dependencies"][name].as_str().unwrap());
    let (codex, opencode) = (locked("@openai/codex"), locked("opencode-ai"));
    let installing = Installing::new();
    let node = installing.dir.path().join("agents/bin/node");

    assert!(installing.run("").status.success());
    assert!(installing.asked().is_empty() && !node.exists());
    for (asked, why) in [
        ("opencode-ai", "has no version"),
        ("@openai/codex", "has no version"),
        (&*format!("{codex} opencode-ai@latest"), "has no version"),
        (&*format!("{codex} opencode-ai@0.0.1"), "is not locked"),
        ("left-pad@1.3.0", "is not locked"),
    ] {
        let refused = installing.run(asked);
        assert_eq!(refused.status.code(), Some(1), "{asked}");
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains(why),
            "{refused:?}"
        );
    }
    assert!(installing.asked().is_empty());

    // What npm found has another content than was locked: none of its scripts runs.
    installing.installs("sha512-bm90IHdoYXQgd2FzIGxvY2tlZA==");
    let refused = installing.run(&codex);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not locked"));
    assert!(!installing.asked().contains("rebuild") && !node.exists());

    let whole = fs::read_to_string(root().join("tests/agents/package-lock.json")).unwrap();
    let whole: serde_json::Value = serde_json::from_str(&whole).unwrap();
    let known = &whole["packages"]["node_modules/@openai/codex"]["integrity"];
    installing.installs(known.as_str().unwrap());
    fs::remove_file(installing.dir.path().join("asked")).unwrap();
    let done = installing.run(&format!("{codex} {opencode}"));
    assert!(done.status.success(), "{done:?}");
    let asked = installing.asked();
    let asked: Vec<&str> = asked.lines().collect();
    assert!(
        asked[0].starts_with("install --ignore-scripts"),
        "{asked:?}"
    );
    assert_eq!(asked[1..], ["rebuild"]);
    let program = installing.dir.path().join("agents/bin/codex");
    assert!(
        node.exists() && program.exists(),
        "a program that leads nowhere"
    );
}

/// The script that searches for known advisories, with a cargo-deny that does this.
fn advisories(fetch: &str, check: &str, required: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let deny = dir.path().join("cargo-deny");
    let script =
        format!("#!/bin/sh\ncase \"$*\" in *\"fetch db\"*) {fetch} ;; *) {check} ;; esac\n");
    fs::write(&deny, script).unwrap();
    fs::set_permissions(&deny, fs::Permissions::from_mode(0o755)).unwrap();
    let script = format!(
        "{}/tests/advisories.sh {}",
        root().display(),
        deny.display()
    );
    sh(&script, &[("REQUIRE_ADVISORIES", required)])
}

#[test]
fn known_advisories_are_searched_where_the_database_can_be_reached_and_reported_as_unchecked_where_not()
 {
    let unreachable = advisories("echo no such host >&2; exit 1", "exit 0", "");
    assert!(unreachable.status.success());
    let printed = String::from_utf8_lossy(&unreachable.stderr);
    assert!(
        printed.contains("NOT CHECKED") && printed.contains("no such host"),
        "{printed}"
    );
    assert!(!advisories("exit 1", "exit 0", "1").status.success());
    assert!(advisories("exit 0", "exit 0", "1").status.success());
    assert!(
        !advisories("exit 0", "exit 1", "").status.success(),
        "a hole"
    );
}
