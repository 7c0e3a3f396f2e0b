//! A commit has what an agent meant to change, and nothing that a checkout, a setup or a tool did.

use std::process::Command;

use awo_domain::control::RunnerEvent as E;
use awo_domain::run::RunErrorCode as Code;
use base64::Engine as _;

use crate::scene::{EndedRunner, Scene, commit_files, git};

const PASSES: &str = "test:\n\t@echo '3 passed in 0.10s'\n";

/// Ignored files and litter, as the last verification names them.
fn left_out(ended: &EndedRunner) -> (Vec<String>, Vec<String>) {
    let last = ended.events.iter().rev().find_map(|event| match event {
        E::VerificationFinished {
            ignored, litter, ..
        } => Some((ignored.clone(), litter.clone())),
        _ => None,
    });
    last.unwrap()
}

/// Files that the run delivered, against the base.
fn delivered(scene: &Scene, ended: &EndedRunner) -> String {
    let (commit, _) = ended.succeeded();
    let range = ["diff", "--name-only", "main", commit.unwrap()];
    git(&scene.origin(), &range)
}

/// A scene whose files differ from their commits as soon as they are checked out.
fn phantoms(agent: &str) -> Scene {
    let scene = Scene::new(&[("Makefile", PASSES), ("a.txt", "a\r\nb\r\n")], agent).once();
    commit_files(
        &scene.origin(),
        &[("auto/b", "a\r\nb\r\n"), ("wide.w", "a\n")],
    );
    let attributes = "*.txt text eol=lf\nauto/* text=auto\n*.w working-tree-encoding=UTF-16LE-BOM\n\
                      *.id ident\n";
    commit_files(&scene.origin(), &[("x.id", "$Id$ $Id: 1 $\n")]);
    std::fs::write(scene.origin().join(".gitattributes"), attributes).unwrap();
    git(&scene.origin(), &["add", ".gitattributes"]);
    git(&scene.origin(), &["commit", "-q", "-m", "attributes"]);
    scene
}

#[test]
fn a_conversion_by_the_checkout_alone_is_no_change() {
    let ended = phantoms("true").run();
    assert_eq!(ended.succeeded(), (None, None));
    assert!(ended.diffs.is_empty());
    let scene = phantoms("echo c > c; chmod +x Makefile");
    let ended = scene.run();
    assert_eq!(delivered(&scene, &ended), "Makefile\nc\n");
    let scene = phantoms("printf 'a\\r\\nc\\r\\n' > a.txt; rm auto/b");
    let ended = scene.run();
    assert_eq!(delivered(&scene, &ended), "a.txt\nauto/b\n");
}

#[test]
fn what_a_setup_changed_is_no_change_of_the_agent() {
    let files = [
        ("Makefile", PASSES),
        ("lock", "1\n"),
        ("gone", "1\n"),
        ("own", "1\n"),
    ];
    let scene = |agent: &str| {
        let mut scene = Scene::new(&files, agent).once();
        let setup = "echo 2 > lock; rm gone; echo 2 > own; chmod +x Makefile; echo new > new";
        let environment = format!(
            r#"{{"name":"ci","variables":{{}},"secrets":[],"missingSecrets":[],
                "setup":[{{"name":"s","run":"{setup}"}}],"caches":[],"registries":[]}}"#
        );
        scene.spec.environment = Some(serde_json::from_str(&environment).unwrap());
        scene
    };
    assert_eq!(scene("true").run().succeeded(), (None, None));
    let scene = scene("grep -q 2 lock && echo 3 > own");
    let ended = scene.run();
    assert_eq!(delivered(&scene, &ended), "own\n");
}

#[test]
fn ignored_files_of_the_agent_are_named_in_feedback_and_event() {
    let makefile = "test:\n\t@grep -q ok lib/new.txt && echo '1 passed in 0.1s'\n";
    let agent = "mkdir -p lib node_modules/x out sub; echo ok > lib/new.txt; echo 1 > my-data.csv; \
                 echo 1 > out/a; echo 1 > sub/own.log; echo x > node_modules/x/y; \
                 cp $AWO_REQUEST request-$AWO_ITERATION";
    let files = [
        ("Makefile", makefile),
        ("sub/.gitignore", "*.log\n"),
        (".gitignore", "lib/\nnode_modules\n.env\n*data*\nout/\n"),
    ];
    let mut scene = Scene::new(&files, agent);
    scene.spec.asked_iterations = Some(2);
    scene.spec.hooks.post_create =
        vec!["echo secret > .env; mkdir lib; echo x > lib/old".to_owned()];
    let ended = scene.run();
    ended.failed(Code::MaxIterationsReached);
    assert_eq!(
        left_out(&ended),
        (
            ["lib/new.txt", "my-data.csv", "out/a", "sub/own.log"]
                .map(str::to_owned)
                .to_vec(),
            Vec::new()
        )
    );
    let request = ended.run_dir.join("workspace/request-2");
    let request = std::fs::read_to_string(request).unwrap();
    assert!(request.contains("git ignores these files") && request.contains("lib/new.txt"));
    assert!(
        !request.contains("lib/old") && !request.contains(".env"),
        "{request}"
    );
}

#[test]
fn caches_and_dependencies_are_not_committed_and_are_named() {
    let agent = "mkdir -p __pycache__ app/.venv/bin node_modules/a/node_modules target/debug rs/target; \
                 touch __pycache__/p.pyc app/.venv/bin/python node_modules/a/i.js target/debug/own; \
                 touch rs/Cargo.toml rs/target/x fixtures/dist2; echo 2 > p.py; \
                 mkdir -p new/vendor; echo x > new/vendor/own; touch cache.pyc";
    let files = [
        ("Makefile", PASSES),
        ("p.py", "1\n"),
        ("fixtures/dist", "x\n"),
    ];
    let scene = Scene::new(&files, agent).once();
    let ended = scene.run();
    let committed = "fixtures/dist2\nnew/vendor/own\np.py\nrs/Cargo.toml\ntarget/debug/own\n";
    assert_eq!(delivered(&scene, &ended), committed);
    let litter = [
        "__pycache__",
        "app/.venv",
        "cache.pyc",
        "node_modules",
        "rs/target",
    ];
    assert_eq!(left_out(&ended).1, litter);
}

#[test]
fn a_repository_that_has_such_files_gets_more_of_them() {
    let files = [("Makefile", PASSES), ("fixtures/node_modules/a.js", "x\n")];
    let agent = "mkdir -p more/node_modules; echo x > more/node_modules/b.js";
    let scene = Scene::new(&files, agent).once();
    let ended = scene.run();
    assert_eq!(delivered(&scene, &ended), "more/node_modules/b.js\n");
}

fn has_git_lfs() -> bool {
    Command::new("git-lfs").arg("version").output().is_ok()
}

#[test]
fn with_git_lfs_content_is_there_and_new_content_is_stored_before_the_push() {
    if !has_git_lfs() {
        println!("skipped: git-lfs is not installed");
        return;
    }
    let plan = "tests: [{name: t, run: 'grep -q new big.bin && grep -q old same.bin && \
                test -z \"$(git status --porcelain)\"'}]\n";
    let agent = "grep -q old big.bin && test -z \"$(git status --porcelain)\" && echo new > big.bin && \
                 printf '[lfs]\\n\\turl = https://localhost:1/x\\n' > .lfsconfig";
    let scene = Scene::new(&[("verify.yaml", plan)], agent).once();
    let origin = scene.origin();
    git(&origin, &["lfs", "install", "--local"]);
    let attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n";
    let files = [
        (".gitattributes", attributes),
        ("big.bin", "old\n"),
        ("same.bin", "old\n"),
    ];
    commit_files(&origin, &files);
    let ended = scene.run();
    assert_eq!(delivered(&scene, &ended), ".lfsconfig\nbig.bin\n");
    let (commit, _) = ended.succeeded();
    let blob = git(
        &origin,
        &["cat-file", "blob", &format!("{}:big.bin", commit.unwrap())],
    );
    let hash = blob
        .split("sha256:")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let stored = format!(".git/lfs/objects/{}/{}/{hash}", &hash[..2], &hash[2..4]);
    assert_eq!(
        std::fs::read_to_string(origin.join(stored)).unwrap(),
        "new\n"
    );
}

#[test]
fn content_of_a_file_that_lfs_stores_fails_the_check_and_is_not_delivered() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:\
                   4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a4d7a\nsize 12345\n";
    let attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n";
    let files = [
        ("Makefile", PASSES),
        (".gitattributes", attributes),
        ("big.bin", pointer),
    ];
    if has_git_lfs() {
        println!("skipped: git-lfs is installed");
        return;
    }
    let ended = Scene::new(&files, "echo content > big.bin").once().run();
    ended.failed(Code::MaxIterationsReached);
    let check = ended.check("lfs");
    assert!(check.message.contains("big.bin"), "{check:?}");
    let agent = "sed s/12345/12346/ big.bin > x && mv x other.bin; echo x > plain; : > empty.bin";
    let scene = Scene::new(&files, agent).once();
    let ended = scene.run();
    assert_eq!(delivered(&scene, &ended), "empty.bin\nother.bin\nplain\n");
}

#[test]
fn a_diff_with_binary_and_latin_files_is_taken_by_git_apply() {
    let agent = "printf '\\000\\001\\377new' > bin.dat; printf 'gr\\374n\\n' > latin.txt; rm gone";
    let files = [("Makefile", PASSES), ("bin.dat", "\0old"), ("gone", "\0x")];
    let scene = Scene::new(&files, agent).once();
    let ended = scene.run();
    let (commit, _) = ended.succeeded();
    let gzip = base64::engine::general_purpose::STANDARD.decode(&ended.diffs[0].diff);
    let patch = scene.dir.path().join("patch");
    let mut reader = std::io::Cursor::new(gzip.unwrap());
    let mut decoder = flate2::read::GzDecoder::new(&mut reader);
    std::io::copy(&mut decoder, &mut std::fs::File::create(&patch).unwrap()).unwrap();
    let mut apply = Command::new("git");
    apply.current_dir(scene.origin()).args(["apply", "--index"]);
    assert!(apply.arg(&patch).status().unwrap().success());
    let tree = git(&scene.origin(), &["write-tree"]);
    let committed_tree = git(
        &scene.origin(),
        &["rev-parse", &format!("{}^{{tree}}", commit.unwrap())],
    );
    assert_eq!(tree, committed_tree);
}
