//! The clean checkout of a verification is a clone of the branch that is delivered.

use awo_domain::verification::Status;
use awo_supervisor::Sandbox;

use crate::scene::{Scene, commit_files, git};

/// A plan with a test for each command.
fn plan(commands: &[&str]) -> String {
    let tests = commands.iter().enumerate().map(|(number, run)| {
        let run = run.replace('\'', "''");
        format!("  - {{name: t{number}, run: '{run}'}}\n")
    });
    format!("tests:\n{}", tests.collect::<String>())
}

/// An origin with a tagged release, a second commit, and a plan of these commands.
fn scene(commands: &[&str], agent: &str) -> Scene {
    let scene = Scene::new(&[("a.txt", "a\n")], agent).once();
    git(&scene.origin(), &["tag", "-a", "v1", "-m", "release"]);
    git(&scene.origin(), &["tag", "light"]);
    let plan = plan(commands);
    commit_files(&scene.origin(), &[("verify.yaml", &plan)]);
    scene
}

#[test]
fn a_checkout_answers_git_as_a_fresh_clone_of_the_delivered_branch() {
    let commands = [
        "test \"$(git ls-files)\" = \"$(printf 'a.txt\\nb.txt\\nverify.yaml')\"",
        "git diff-index --quiet HEAD && git diff-files --quiet && git diff --exit-code HEAD",
        "test -z \"$(git status --porcelain)\" && git status | grep 'up to date'",
        "git describe --tags | grep '^v1-2-g' && test \"$(git tag)\" = \"$(printf 'light\\nv1')\"",
        "test $(git rev-list --count HEAD) = 3 && test $(git log --format=%s | wc -l) = 3",
        "git rev-parse --abbrev-ref HEAD | grep '^awo/run_'",
        "test $(git rev-parse origin/main) = $(git rev-parse HEAD~1)",
        "test $(git rev-parse @{upstream}) = $(git rev-parse HEAD)",
        "git remote get-url origin | grep '^file:///' && git fsck --no-dangling",
        "git commit -q --allow-empty -m x || git -c user.name=a -c user.email=b commit -q --allow-empty -m x",
        "git clone -q . ../tmp/again && test -e ../tmp/again/b.txt",
    ];
    let ended = scene(&commands, "echo b > b.txt").run();
    ended.succeeded();
    for number in 0..commands.len() {
        let check = ended.check(&format!("t{number}"));
        assert_eq!(check.status, Status::Passed, "{check:?}");
    }
}

#[test]
fn nothing_of_the_agents_git_reaches_the_checkout() {
    let agent = "git config awo.evil 1; git config core.hooksPath .git/hooks; \
                 git config filter.evil.smudge 'touch /tmp/evil'; git tag evil; \
                 mkdir -p .git/hooks .git/info; echo 'exit 1' > .git/hooks/pre-commit; \
                 chmod +x .git/hooks/pre-commit; echo '*' > .git/info/exclude; \
                 echo '* -diff' > .git/info/attributes; git branch other; echo b > b.txt";
    let commands = [
        "if git config awo.evil || git config core.hooksPath; then false; fi",
        "test -z \"$(ls .git/hooks)$(ls .git/info)$(git tag --list evil)\"",
        "if git rev-parse --verify -q other; then false; fi",
        "test -e b.txt",
    ];
    scene(&commands, agent).run().succeeded();
}

#[test]
fn commands_that_were_restored_are_part_of_the_head() {
    let makefile = "test:\n\t@git diff --exit-code && test -z \"$$(git status --porcelain)\" && \
                    git log -1 --format=%s | grep -v '^base' && echo '1 passed in 0.1s'\n";
    let agent = "printf 'test:\\n\\t@echo 9 passed in 0.1s\\n' > Makefile; echo b > b.txt";
    let scene = Scene::new(&[("Makefile", makefile)], agent).once();
    let ended = scene.run();
    let (commit, branch) = ended.succeeded();
    let check = ended.check("make test");
    assert!(check.message.contains("1 passed"), "{check:?}");
    let head = git(&scene.origin(), &["rev-parse", branch.unwrap()]);
    assert_eq!(Some(head.trim()), commit);
}

#[test]
fn what_a_verification_does_to_its_repository_does_not_reach_the_runners() {
    let harm = "objects=$(cat .git/objects/info/alternates); ls $objects/pack > /dev/null || exit 1; \
                rm -rf .git/refs .git/packed-refs .git/index; \
                for it in $(find $objects -type f); do chmod u+w $it 2> /dev/null; \
                { echo x >> $it; } 2> /dev/null && exit 2; rm -f $it 2> /dev/null; \
                test -e $it || exit 3; done; \
                { echo x > $objects/new; } 2> /dev/null && exit 4; true";
    for other_user in [true, false] {
        if !other_user && !Sandbox::is_available() {
            println!("skipped: this kernel has no Landlock");
            continue;
        }
        let mut scene = scene(&[harm], "echo b > b.txt; test $AWO_ITERATION = 2");
        scene.other_user = other_user;
        scene.spec.asked_iterations = Some(2);
        let ended = scene.run();
        let (_, branch) = ended.succeeded();
        git(&scene.origin(), &["fsck", "--strict", branch.unwrap()]);
    }
}

#[test]
fn the_agents_clone_has_tags_and_the_branch_of_the_origin() {
    let agent = "git describe --tags | grep '^v1-1-g' && git diff --exit-code origin/main";
    scene(&["true"], agent).run().succeeded();
}
