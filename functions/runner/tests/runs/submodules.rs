//! Submodules are there for agent and verification, and only what others can fetch is delivered.

use std::fs;
use std::path::{Path, PathBuf};

use awo_domain::control::{GitCredential, NotFetched, RunnerEvent as E};
use awo_domain::run::RunErrorCode as Code;
use awo_origins::git_host::{Access, GitHost};

use crate::scene::{CANARY, EndedRunner, Scene, commit_files, git};

const ALLOW: [&str; 2] = ["-c", "protocol.file.allow=always"];

/// A repository beside the scene's origin.
fn repository(scene: &Scene, name: &str, files: &[(&str, &str)]) -> PathBuf {
    let dir = scene.dir.path().join(name);
    fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "-q", "-b", "main"]);
    commit_files(&dir, files);
    dir
}

fn add(dir: &Path, url: &str, path: &str) {
    let add = ["submodule", "--quiet", "add", url, path];
    git(dir, &[&ALLOW[..], &add].concat());
    git(dir, &["commit", "-q", "-m", "submodule"]);
}

/// A scene whose origin has the submodule `lib` of two commits, which has the submodule `deep`.
fn scene(plan: &str, agent: &str) -> Scene {
    let scene = Scene::new(&[("verify.yaml", plan)], agent).once();
    repository(&scene, "deep", &[("deep.txt", "deep\n")]);
    let lib = repository(&scene, "lib", &[("lib.txt", "old\n")]);
    commit_files(&lib, &[("lib.txt", "lib\n")]);
    let deep = format!("file://{}", scene.dir.path().join("deep").display());
    add(&lib, &deep, "deep");
    fs::write(
        lib.join(".gitmodules"),
        "[submodule \"../../x\"]\n\tpath = deep\n\turl = ../deep\n",
    )
    .unwrap();
    git(&lib, &["commit", "-q", "-a", "-m", "relative"]);
    add(&scene.origin(), &format!("file://{}", lib.display()), "lib");
    scene
}

fn missing(ended: &EndedRunner) -> Vec<NotFetched> {
    let submodules = ended.events.iter().find_map(|event| match event {
        E::WorkspaceReady { submodules, .. } => Some(submodules.clone()),
        _ => None,
    });
    submodules.unwrap_or_else(|| panic!("{:?}", ended.events))
}

const PLAN: &str = "tests:\n  - {name: t, run: 'grep -q lib lib/lib.txt && grep -q deep lib/deep/deep.txt'}\n  \
     - {name: s, run: 'test -z \"$(git status --porcelain)\" && git submodule status | grep \"^ \" && \
     git -C lib log -1 && git -C lib/deep rev-parse HEAD'}\n";

#[test]
fn submodules_are_there_for_agent_and_verification() {
    let agent = "set -e; grep -q lib lib/lib.txt; grep -q deep lib/deep/deep.txt; \
                 test -z \"$(git status --porcelain)\"; git submodule status | grep '^ '; \
                 echo x > x; touch lib/own";
    let scene = scene(PLAN, agent);
    let ended = scene.run();
    let (commit, _) = ended.succeeded();
    let range = ["diff", "--name-only", "main", commit.unwrap()];
    assert_eq!(git(&scene.origin(), &range), "x\n");
    assert_eq!(missing(&ended), []);
}

#[test]
fn a_submodule_that_cannot_be_fetched_is_named_at_the_start_and_in_feedback() {
    let plan = "tests: [{name: t, run: 'test $(cat tries) = 2'}]\n";
    let agent = "echo $AWO_ITERATION > tries; cp $AWO_REQUEST request";
    let mut scene = scene(plan, agent);
    scene.spec.asked_iterations = Some(2);
    let modules = "[submodule \"lib\"]\n\tpath = lib\n\turl = ext::sh -c id\n";
    commit_files(&scene.origin(), &[(".gitmodules", modules)]);
    let ended = scene.run();
    ended.succeeded();
    let missing = missing(&ended);
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].path, "lib");
    assert!(missing[0].reason.contains("ext::sh"), "{missing:?}");
    let request = fs::read_to_string(ended.run_dir.join("workspace/request")).unwrap();
    assert!(
        request.contains("these submodules could not be fetched"),
        "{request}"
    );
}

#[test]
fn a_submodules_commit_is_delivered_if_its_remote_has_it() {
    let plan = "tests: [{name: t, run: 'grep -q old lib/lib.txt'}]\n";
    let scene = scene(plan, "git -C lib checkout -q HEAD~3");
    let ended = scene.run();
    let (commit, _) = ended.succeeded();
    let link = format!("{}:lib", commit.unwrap());
    let lib = scene.dir.path().join("lib");
    let first = git(&lib, &["rev-parse", "HEAD~3"]);
    assert_eq!(git(&scene.origin(), &["rev-parse", &link]), first);

    let agent = "cd lib && echo new > lib.txt && git -c user.name=a -c user.email=b commit -qam x";
    let ended = self::scene(plan, agent).run();
    ended.failed(Code::MaxIterationsReached);
    let check = ended.check("submodules");
    assert!(
        check.message.contains("lib (") && check.message.contains("not our ref"),
        "{check:?}"
    );
}

#[test]
fn a_submodule_that_an_agent_adds_is_delivered_as_one_if_its_remote_has_it() {
    let plan = "tests: [{name: t, run: 'grep -q lib more/lib.txt'}]\n";
    let copy = "cp -r lib more; printf '[submodule \"more\"]\\n\\tpath = more\\n\\turl = URL\\n' >> .gitmodules";
    let mut scene = scene(plan, "");
    let url = format!("file://{}", scene.dir.path().join("lib").display());
    let agent = copy.replace("URL", &url);
    scene.spec.agent.command = Some(["sh", "-c", &agent].map(str::to_owned).into());
    let ended = scene.run();
    let (commit, _) = ended.succeeded();
    let entry = git(&scene.origin(), &["ls-tree", commit.unwrap(), "more"]);
    assert!(entry.starts_with("160000 commit "), "{entry}");

    let mut scene = self::scene(plan, "");
    let agent = copy.replace("URL", "http://localhost/x");
    scene.spec.agent.command = Some(["sh", "-c", &agent].map(str::to_owned).into());
    let ended = scene.run();
    ended.failed(Code::MaxIterationsReached);
    let check = ended.check("submodules");
    assert!(check.message.contains("more ("), "{check:?}");
}

#[test]
fn credentials_go_to_submodules_that_the_base_names_and_to_no_others() {
    let token = format!("{CANARY}-git");
    let host = GitHost::start(&token, Access::All);
    let mut scene = Scene::new(
        &[("a", "a\n")],
        "test -e lib/lib.txt && test ! -e lib/deep/deep.txt",
    );
    let deep = repository(&scene, "deep", &[("deep.txt", "deep\n")]);
    let lib = repository(&scene, "lib", &[("lib.txt", "lib\n")]);
    add(&lib, &format!("file://{}", deep.display()), "deep");
    let nested = "[submodule \"deep\"]\n\tpath = deep\n\turl = ../deep.git\n";
    commit_files(&lib, &[(".gitmodules", nested)]);
    add(&scene.origin(), &format!("file://{}", lib.display()), "lib");
    let relative = "[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib.git\n";
    commit_files(&scene.origin(), &[(".gitmodules", relative)]);
    for (name, dir) in [("lib", &lib), ("deep", &deep)] {
        host.add(&format!("acme/{name}.git"), &dir.display().to_string());
    }
    let url = host.add("acme/app.git", &scene.origin().display().to_string());
    let source = format!(r#"{{"repository":"{url}"}}"#);
    scene.spec.source = serde_json::from_str(&source).unwrap();
    scene.spec.allow_file_repositories = false;
    scene.spec.git_credentials = vec![GitCredential::of_token(host.host(), token)];
    let ca = host.ca_file().display().to_string();
    scene.env.push(("AWO_GIT_CA_FILE", ca));
    let ended = scene.run();
    ended.succeeded();
    let missing = missing(&ended);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!(missing[0].path, "lib/deep");
    let seen = host.seen();
    let calls = |name: &str| {
        let calls = seen.calls.iter().filter(|(_, path, _)| path.contains(name));
        calls
            .map(|(_, _, given)| given.is_some())
            .collect::<Vec<_>>()
    };
    assert!(calls("lib.git").contains(&true));
    assert!(!calls("deep.git").is_empty() && !calls("deep.git").contains(&true));
}
