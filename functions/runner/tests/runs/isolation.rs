//! The boundaries of agents, hooks and verifiers: secrets, other processes, other runs, the
//! runner's own files. A hostile program searches for all of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use awo_domain::control::{GitCredential, ModelKey, Provider};
use awo_supervisor::Sandbox;

use crate::model_double::{Manners, ModelDouble};
use crate::models::equip;
use crate::scene::{CANARY, Scene, output, until};

const HUNT: &str = include_str!("hunt.pl");

/// A run of hunters: one as a hook, one as the agent, one as a verifier.
struct Hunt {
    scene: Scene,
    /// Part of every secret, and of nothing else on this machine.
    secret: String,
    /// What the hunter is started with.
    hunter: String,
    _models: ModelDouble,
}

impl Hunt {
    fn new(of: &[&str]) -> Hunt {
        let secret = format!("5ecret-of-{}-{}", std::process::id(), of.concat());
        let mut scene = Scene::new(&[("hunt.pl", HUNT)], "").once();
        let models = ModelDouble::start(Manners::Good);
        equip(&mut scene, &models);
        scene.spec.model_keys = Provider::KEYED
            .map(|provider| ModelKey {
                provider,
                key: format!("{CANARY}-{secret}"),
            })
            .into();
        scene.spec.git_credentials = vec![GitCredential::of_token(
            "git.example".to_owned(),
            format!("{CANARY}-{secret}"),
        )];
        scene.nonce.push_str(&secret);
        for name in ["AWS_SESSION_TOKEN", "AWO_OPERATOR_KEY", "GIT_ASKPASS"] {
            scene.env.push((name, secret.clone()));
        }
        let other = scene
            .run_dir()
            .with_file_name("run_other")
            .join("workspace");
        fs::create_dir_all(&other).unwrap();
        let other = other.join("notes");
        fs::write(&other, &secret).unwrap();
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(other.parent().unwrap(), private).unwrap();
        let root = fs::canonicalize(scene.run_dir().parent().unwrap()).unwrap();
        for dir in [root.parent().unwrap(), &root] {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o711)).unwrap();
        }
        let run = root.join(scene.spec.run_id.as_str());
        let backwards: String = secret.chars().rev().collect();
        let hunt = |haul: &str| {
            format!(
                "perl hunt.pl {backwards} {} {} {haul}",
                run.display(),
                other.display()
            )
        };
        if of.contains(&"hook") {
            scene.spec.hooks.post_create = vec![hunt("haul-of-hook")];
        }
        let agent = if of.contains(&"agent") {
            hunt("haul-of-agent")
        } else {
            "date > x".to_owned()
        };
        scene.spec.agent.command = Some(["sh", "-c", &agent].map(str::to_owned).into());
        if of.contains(&"verifier") {
            let plan = format!("tests: [{{name: hunt, run: '{}'}}]\n", hunt("/dev/null"));
            crate::scene::commit_files(&scene.origin(), &[("verify.yaml", &plan)]);
        }
        Hunt {
            hunter: hunt("haul"),
            scene,
            secret,
            _models: models,
        }
    }
}

/// Files below a folder that hold one of these words.
fn holding(dir: &Path, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                open.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            if words.iter().any(|word| text.contains(word)) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_hostile_hook_agent_and_verifier_find_no_secret_and_reach_nothing_of_the_runner() {
    let hunt = Hunt::new(&["hook", "agent", "verifier"]);
    let running = hunt.scene.start();
    until("the run is claimed", || {
        running.control.seen().token.is_some()
    });
    let token = running.control.seen().token.clone().unwrap();
    let ended = running.end(hunt.scene.dir.path());
    if !nix::unistd::geteuid().is_root() {
        // As the runner's own user they may signal it and read its files; what is not there, they
        // do not find all the same.
        let reported = format!("{:?} {}", ended.events, ended.log);
        assert!(!reported.contains("secret in"), "{reported}");
        return;
    }
    ended.succeeded();
    let words = [hunt.secret.as_str(), token.as_str()];
    assert_eq!(holding(&ended.run_dir, &words), Vec::<String>::new());
    let mut reported = format!("{:?} {:?} {}", ended.events, ended.finish, ended.log);
    for (_, log) in &ended.logs {
        reported.push_str(&String::from_utf8_lossy(&output(log)));
    }
    reported.push_str(&format!("{:?}", ended.diffs));
    for word in words {
        assert!(!reported.contains(word), "a secret was reported");
    }
    let haul = ended.run_dir.join("workspace/haul-of-agent");
    let haul = String::from_utf8_lossy(&fs::read(haul).unwrap()).into_owned();
    assert!(haul.contains("AWO_ITERATION"), "it can read its own");
    assert!(reported.contains("looked at"), "{reported}");
}

#[test]
fn in_a_sandbox_a_hunter_of_the_runners_own_user_finds_nothing_either() {
    if !Sandbox::is_available() {
        println!("skipped: this kernel has no Landlock");
        return;
    }
    let mut hunt = Hunt::new(&["hook", "agent", "verifier"]);
    hunt.scene.other_user = false;
    let ended = hunt.scene.run();
    ended.succeeded();
    let haul = fs::read(ended.run_dir.join("workspace/haul-of-agent")).unwrap();
    let haul = String::from_utf8_lossy(&haul);
    assert!(haul.contains("AWO_ITERATION"), "it can read its own");
}

#[test]
fn the_hunter_finds_what_there_is_to_find() {
    if !nix::unistd::geteuid().is_root() {
        // The others show as much: without root there is always something.
        return;
    }
    let mut hunt = Hunt::new(&[]);
    hunt.scene.other_user = false;
    let wait = "touch here; until [ -e go ]; do sleep 0.01; done";
    hunt.scene.spec.agent.command = Some(["sh", "-c", wait].map(str::to_owned).into());
    let running = hunt.scene.start();
    running.until_there_is("here");
    // Nothing is closed to it but what is not there: it is no process of the run's.
    let workspace = running.run_dir.join("workspace");
    let mut hunter = Command::new(env!("CARGO_BIN_EXE_runner"))
        .args(["supervise", "--", "sh", "-c", &hunt.hunter])
        .current_dir(&workspace)
        // Its end would be the hunter's.
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = hunter.stdin.take();
    let hunter = hunter.wait_with_output().unwrap();
    drop(stdin);
    let found = String::from_utf8_lossy(&hunter.stdout).into_owned()
        + &String::from_utf8_lossy(&hunter.stderr);
    for thing in [
        "FOUND a file of another run, to write",
        "FOUND a secret in a file of another run",
        "FOUND capabilities",
        "FOUND git.config, to write",
    ] {
        assert!(found.contains(thing), "{thing}: {found}");
    }
    fs::write(workspace.join("go"), "").unwrap();
    // It has spoiled the run, too.
    running.end(hunt.scene.dir.path());
}

#[test]
fn the_runner_listens_on_no_socket_that_has_a_name() {
    let scene = Scene::new(
        &[("README.md", "x\n")],
        "touch here; until [ -e go ]; do sleep 0.01; done",
    )
    .once();
    let running = scene.start();
    running.until_there_is("here");
    let named = fs::read_to_string("/proc/net/unix").unwrap();
    let own = fs::read_dir(format!("/proc/{}/fd", running.child.id())).unwrap();
    let own: Vec<String> = own
        .flatten()
        .filter_map(|fd| fs::read_link(fd.path()).ok())
        .filter_map(|to| {
            let to = to.to_string_lossy().into_owned();
            Some(to.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    for line in named.lines().skip(1) {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_own = fields
            .get(6)
            .is_some_and(|inode| own.iter().any(|own| own == inode));
        assert!(!is_own || fields.len() < 8, "{line}");
    }
    fs::write(running.run_dir.join("workspace/go"), "").unwrap();
    running.end(scene.dir.path()).succeeded();
}
