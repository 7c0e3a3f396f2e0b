//! Diffs of runs on their way to clients.

use std::io::Read;

use awo_domain::control::{MAX_DIFF_BYTES, MAX_DIFF_GZIP_BYTES, RunnerEvent as E, SnapshotDiff};
use base64::Engine as _;

use crate::control_double::Fault;
use crate::scene::{EndedRunner, Scene};

fn text(sent: &SnapshotDiff) -> String {
    let gzip = base64::engine::general_purpose::STANDARD
        .decode(&sent.diff)
        .unwrap();
    assert!(gzip.len() <= MAX_DIFF_GZIP_BYTES);
    let mut bytes = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(&gzip[..]);
    reader.read_to_end(&mut bytes).unwrap();
    assert!(bytes.len() <= MAX_DIFF_BYTES);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn commits(ended: &EndedRunner) -> Vec<(u32, String)> {
    let commit = |event: &E| match event {
        E::Committed {
            iteration, commit, ..
        } => Some((*iteration, commit.clone())),
        _ => None,
    };
    ended.events.iter().filter_map(commit).collect()
}

#[test]
fn each_commit_comes_with_all_that_the_run_has_changed_so_far() {
    let agent = "echo $AWO_ITERATION >> a.txt; test $AWO_ITERATION != 1";
    let mut scene = Scene::new(&[("a.txt", "0\n")], agent);
    scene.fault = Fault::LosesEverySecondAnswer;
    let ended = scene.run();
    ended.succeeded();
    let mut diffs = ended.diffs.clone();
    diffs.dedup();
    assert_eq!(diffs.len(), 2);
    let sent: Vec<_> = diffs
        .iter()
        .map(|d| (d.iteration, d.commit.clone()))
        .collect();
    assert_eq!(sent, commits(&ended));
    for (diff, added) in diffs.iter().zip(["+1\n", "+1\n+2\n"]) {
        let text = text(diff);
        assert!(
            text.starts_with("diff --git a/a.txt b/a.txt\nindex "),
            "{text}"
        );
        assert!(
            text.contains("\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,"),
            "{text}"
        );
        assert!(text.ends_with(&format!(" 0\n{added}")), "{text}");
        assert_eq!(diff.bytes, text.len() as u64);
        assert_eq!(diff.base_commit, diffs[0].base_commit);
    }
}

#[test]
fn nothing_of_the_repository_is_executed_or_heeded_to_make_a_diff() {
    let files = [("a.txt", "0\n"), (".gitattributes", "*.txt diff=evil\n")];
    let agent = "git config diff.evil.command 'touch /tmp/evil-$AWO_RUN_ID; true'; \
                 git config diff.evil.textconv 'touch /tmp/evil-$AWO_RUN_ID; echo converted'; \
                 git config diff.external 'touch /tmp/evil-$AWO_RUN_ID; true'; \
                 git config color.diff always; echo '*.txt diff=evil' > .gitattributes; \
                 printf '1\\n\\377\\033[31m\\n' > a.txt";
    let scene = Scene::new(&files, agent);
    let ended = scene.run();
    ended.succeeded();
    let text = text(&ended.diffs[0]);
    assert!(text.ends_with("-0\n+1\n+\u{fffd}\u{1b}[31m\n"), "{text}");
    let evil = format!("/tmp/evil-{}", scene.spec.run_id);
    assert!(!std::path::Path::new(&evil).exists());
}

#[test]
fn a_large_diff_is_cut_at_a_line_and_says_how_large_it_was() {
    // Beyond what git's answers may have otherwise, and nothing that shrinks.
    let agent = "seq 1 5000000 > many; base64 /dev/urandom | head -c 2000000 > noise";
    let ended = Scene::new(&[("a.txt", "0\n")], agent).run();
    ended.succeeded();
    let diff = &ended.diffs[0];
    let text = text(diff);
    assert!(diff.bytes > 40_000_000, "{}", diff.bytes);
    assert!(text.ends_with('\n') && text.len() > MAX_DIFF_BYTES - 100);
    assert!(text.lines().last().unwrap().starts_with('+'));

    let agent = "base64 /dev/urandom | head -c 2000000 > noise";
    let ended = Scene::new(&[("a.txt", "0\n")], agent).run();
    ended.succeeded();
    let stored = self::text(&ended.diffs[0]);
    assert!(stored.ends_with('\n') && stored.len() > MAX_DIFF_GZIP_BYTES - 10_000);
}

#[test]
fn an_iteration_that_changes_nothing_has_no_diff() {
    let ended = Scene::new(&[("a.txt", "0\n")], "true").run();
    ended.succeeded();
    assert!(ended.diffs.is_empty() && commits(&ended).is_empty());
}
