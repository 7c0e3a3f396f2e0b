//! The image of a run's task, as far as it can be judged without building it: what its file says,
//! and what its own script does.

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
        stages.last_mut().unwrap().push(line.to_owned());
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
fn the_last_stage_is_a_copy_without_layers_below_and_agrees_with_the_template() {
    let all = stages();
    let last = all.last().unwrap();
    assert_eq!(last[..2], ["FROM scratch", "COPY --from=root / /"]);
    let template = fs::read_to_string(root().join("template.yaml")).unwrap();
    for wanted in [
        "ReadonlyRootFilesystem: true",
        "Volumes: [{Name: workspaces}, {Name: tmp}, {Name: kept}]",
        "{SourceVolume: workspaces, ContainerPath: /workspaces, ReadOnly: false}",
        "{SourceVolume: tmp, ContainerPath: /tmp, ReadOnly: false}",
        "{SourceVolume: kept, ContainerPath: /kept, ReadOnly: false}",
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
    let made = stage("root").join("\n");
    for wanted in [
        "--uid 10001 --gid 10001",
        "--shell /usr/sbin/nologin",
        "--mode=0711 /workspaces",
    ] {
        assert!(made.contains(wanted), "{wanted}: {made}");
    }
}

#[test]
fn every_base_is_named_with_its_version() {
    for stage in stages() {
        let base = stage[0].split(' ').nth(1).unwrap();
        let is_pinned =
            base == "scratch" || base.split_once(':').is_some_and(|(_, tag)| tag != "latest");
        assert!(is_pinned, "{base}");
    }
}

/// Runs the last instruction of the root stage in a folder that stands for the image's root.
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
    ];
    let kept = [
        "usr/bin/git",
        "usr/bin/su",
        "usr/local/bin/runner",
        "usr/local/bin/node",
        "etc/ssl/certs/x",
    ];
    for name in gone.iter().chain(&kept) {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let su = dir.path().join("usr/bin/su");
    fs::set_permissions(&su, fs::Permissions::from_mode(0o4755)).unwrap();
    let last = stage("root").pop().unwrap();
    // Every path of the script is absolute: they are below the folder here.
    let place = dir.path().display();
    let script = last
        .strip_prefix("RUN ")
        .unwrap()
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
    for name in kept {
        assert!(dir.path().join(name).exists(), "{name}");
    }
    assert_eq!(su.metadata().unwrap().permissions().mode() & 0o7777, 0o755);
}

fn sh(script: &str, env: &[(&str, &str)]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).envs(env.iter().copied());
    command.output().unwrap()
}

#[test]
fn agents_are_installed_with_their_version_alone_and_node_with_them_alone() {
    let dir = tempfile::tempdir().unwrap();
    let npm = dir.path().join("npm");
    fs::write(
        &npm,
        format!("#!/bin/sh\necho \"$@\" > {}/asked\n", dir.path().display()),
    )
    .unwrap();
    fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(&npm, dir.path().join("node")).unwrap();
    let path = format!(
        "{}:{}",
        dir.path().display(),
        std::env::var("PATH").unwrap()
    );
    let script = stage("agents").pop().unwrap();
    let agents = dir.path().join("agents");
    let script = script
        .strip_prefix("RUN ")
        .unwrap()
        .replace("/agents", agents.to_str().unwrap());
    let run = |asked: &str| sh(&script, &[("AGENTS", asked), ("PATH", &path)]);

    assert!(run("").status.success());
    assert!(!dir.path().join("asked").exists() && !agents.join("bin/node").exists());
    for unpinned in [
        "opencode-ai",
        "@openai/codex",
        "@openai/codex@1.2.3 opencode-ai@latest",
    ] {
        let refused = run(unpinned);
        assert_eq!(refused.status.code(), Some(1), "{unpinned}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("has no version"));
    }
    assert!(!dir.path().join("asked").exists());
    assert!(
        run("@openai/codex@1.2.3 opencode-ai@4.5.6")
            .status
            .success()
    );
    let asked = fs::read_to_string(dir.path().join("asked")).unwrap();
    assert!(
        asked
            .trim()
            .ends_with("@openai/codex@1.2.3 opencode-ai@4.5.6"),
        "{asked}"
    );
    assert!(agents.join("bin/node").exists());
}
