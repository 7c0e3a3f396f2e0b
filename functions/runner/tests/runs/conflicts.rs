//! Children whose results conflict.

use std::fs;

use awo_domain::run::RunErrorCode as Code;
use awo_domain::template::Hooks;

use crate::control_double::child_id;
use crate::hostile::{Trap, plant};
use crate::integration::{Files, PLAN, of, resumed, story};
use crate::scene::git;

/// Two children that change the same line, and one that does not.
const RIVALS: [Files<'static>; 3] = [
    &[("f", "of the first\n"), ("one", "1\n")],
    &[("f", "of the second\n"), ("two", "2\n")],
    &[("g", "g\n")],
];
const RIVALS_BASE: Files<'static> = &[
    ("f", "of the base\n"),
    (
        "verify.yaml",
        "tests: [{run: 'grep both f && test -f one && test -f two && test -f g'}]\n",
    ),
];

#[test]
fn a_conflict_goes_to_the_agent_and_what_it_makes_of_it_is_the_merge() {
    let agent = format!(
        r#"set -e
        grep -q '^<<<<<<< awo/parent' f; grep -q '^>>>>>>> awo/children/{child}' f
        test "$(git show awo/children/{child}:f)" = 'of the second'
        grep -q '"sessionId": "s-1"' "$AWO_REQUEST"; grep -q '"check": "children"' "$AWO_REQUEST"
        grep -q 'Merge conflict in f' "$AWO_PROMPT"
        echo both > f; echo more > more
        echo '{{"usage": [{{"model": "m", "inputTokens": 5, "outputTokens": 1}}]}}' > "$AWO_RESULT""#,
        child = child_id(1)
    );
    let scene = resumed(RIVALS_BASE, &RIVALS, &agent);
    let ended = scene.run();
    let commit = ended.succeeded().0.unwrap();
    let wanted = [
        "ready",
        "integrates 3",
        "commit in 1",
        "merged 0",
        "conflict in f",
        "iteration 2",
        "commit in 2",
        "merged 1",
        "commit in 2",
        "merged 2",
        "verifies in 2",
        "delivered",
    ];
    assert_eq!(story(&ended), wanted);
    let origin = scene.origin();
    let show = |what: &str| git(&origin, &["show", &format!("{commit}{what}")]);
    assert_eq!(
        (show(":f").as_str(), show(":more").as_str()),
        ("both\n", "more\n")
    );
    let parents = git(
        &origin,
        &["log", "-1", "--format=%P", &format!("{commit}^")],
    );
    let theirs = scene.spec.resumption.unwrap().children[1].commit.clone();
    assert_eq!(parents.trim().split(' ').nth(1), theirs.as_deref());
    assert_eq!(ended.input_tokens(), 12);
    assert_eq!(ended.finish.as_ref().unwrap().iterations, 2);
}

#[test]
fn a_conflict_stays_open_while_markers_stand_or_the_agent_fails() {
    let agent = r#"case $AWO_ITERATION in
        2) echo other > other;;
        3) grep -q 'markers still stand in f' "$AWO_PROMPT" || exit 7; echo both > f; exit 1;;
        *) grep -q 'conflicts with what is here' "$AWO_PROMPT" || exit 8;;
    esac"#;
    let mut scene = resumed(RIVALS_BASE, &RIVALS, agent);
    scene.spec.asked_iterations = Some(4);
    let ended = scene.run();
    let commit = ended.succeeded().0.unwrap();
    let wanted = [
        "iteration 2",
        "iteration 3",
        "iteration 4",
        "commit in 4",
        "merged 1",
    ];
    assert_eq!(story(&ended)[5..10], wanted);
    assert_eq!(
        git(&scene.origin(), &["show", &format!("{commit}:other")]),
        "other\n"
    );
}

#[test]
fn a_conflict_that_nobody_resolves_fails_the_run_and_its_markers_are_not_delivered() {
    for (iterations, begun) in [(1, 1), (2, 2)] {
        let mut scene = resumed(RIVALS_BASE, &RIVALS, "true");
        scene.spec.asked_iterations = Some(iterations);
        let own = of(&mut scene).commit.clone();
        let ended = scene.run();
        let message = ended.failed(Code::ChildrenFailed);
        assert!(message.contains(child_id(1).as_str()), "{message}");
        assert!(message.contains(": f."), "{message}");
        assert_eq!(ended.finish.as_ref().unwrap().iterations, begun);
        let branch = format!("awo/{}", scene.spec.run_id);
        assert_eq!(git(&scene.origin(), &["rev-parse", &branch]).trim(), own);
        let outcome = serde_json::to_value(ended.outcome()).unwrap();
        let repo = ended.run_dir.join("repo.git");
        let stored = outcome["commit"].as_str().unwrap();
        assert_eq!(
            git(&repo, &["show", &format!("{stored}:f")]),
            "of the first\n"
        );
    }
}

#[test]
fn nothing_in_a_childs_branch_is_executed_or_leads_out_of_the_workspace() {
    let trap = Trap::new();
    let outside = tempfile::tempdir().unwrap();
    let attributes = "* merge=x filter=x diff=x conflict-marker-size=3\n";
    let rivals: [Files<'_>; 3] = [
        &[
            (".gitattributes", attributes),
            ("f", "1\n"),
            ("one", "1\n"),
            ("src/x", "1\n"),
        ],
        &[("f", "2\n"), ("two", "2\n"), ("d/evil", "evil\n")],
        &[],
    ];
    let agent = "case $AWO_ITERATION in 2) echo both > f;; *) test -f d/evil;; esac";
    let files = [("f", "0\n"), ("src/x", "0\n"), ("verify.yaml", PLAN)];
    let mut scene = resumed(&files, &rivals, agent);
    scene.spec.hooks = Hooks {
        post_create: vec![format!(
            "{} rm -f {}/sprung; rm -rf src; ln -s {} src",
            plant(&trap.path()),
            trap.dir.path().display(),
            outside.path().display()
        )],
    };
    let origin = scene.origin();
    git(&origin, &["checkout", "-q", "awo/child-2"]);
    std::os::unix::fs::symlink(outside.path(), origin.join("d")).unwrap();
    git(&origin, &["add", "d"]);
    git(&origin, &["commit", "-q", "-m", "d"]);
    of(&mut scene).children[2].commit = Some(git(&origin, &["rev-parse", "HEAD"]).trim().into());
    git(&origin, &["checkout", "-q", "main"]);
    let ended = scene.run();
    let commit = ended.succeeded().0.unwrap();
    let story = story(&ended).join(", ");
    assert!(story.contains("conflict in f, iteration 2"), "{story}");
    assert!(story.contains("conflict in d~awo_children_"), "{story}");
    assert_eq!(trap.sprung(), "");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    for (file, text) in [("src/x", "1\n"), ("d/evil", "evil\n"), ("f", "both\n")] {
        assert_eq!(git(&origin, &["show", &format!("{commit}:{file}")]), text);
    }
}
