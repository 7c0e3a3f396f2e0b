//! Attacks on the reference over several turns, and the honest cases that look like them.

use super::*;

/// Files by name and content.
type FileList<'a> = &'a [(&'a str, &'a str)];

fn files(listed: FileList<'_>) -> Files {
    let entry = |(path, content): &(&str, &str)| (path.into(), content.as_bytes().to_vec());
    listed.iter().map(entry).collect()
}

/// A thread: its base, what was delivered and what was there at the start of each later turn, and the newest
/// result.
struct Story<'a> {
    name: &'a str,
    base: FileList<'a>,
    points: &'a [(FileList<'a>, FileList<'a>)],
    result: FileList<'a>,
    /// Paths of the result that differ from the reference.
    changed: &'a [&'a str],
}

impl Story<'_> {
    fn reference(&self) -> Files {
        let mut reference = files(self.base);
        for (delivered, present) in self.points {
            let (delivered, present) = (files(delivered), files(present));
            adopt(&mut reference, &changed_by_others(&delivered, &present));
        }
        reference
    }

    fn check(&self) {
        let (reference, result) = (self.reference(), files(self.result));
        let mut changed: Vec<&Path> = changed_by_others(&reference, &result)
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        changed.sort_unstable();
        let expected: Vec<&Path> = self.changed.iter().map(Path::new).collect();
        assert_eq!(changed, expected, "{}", self.name);
    }
}

const BASE: FileList<'_> = &[("a", "1"), ("t", "strict")];

#[test]
fn a_change_of_an_agent_is_held_against_the_base_in_every_later_turn() {
    let deleted: FileList<'_> = &[("a", "2")];
    let skipped: FileList<'_> = &[("a", "2"), ("t", "skipped")];
    let renamed: FileList<'_> = &[("a", "2"), ("t2", "strict")];
    let with_plan: FileList<'_> = &[("a", "2"), ("t", "strict"), ("verify.yaml", "true")];
    let stories = [
        ("deleted", deleted, &["a", "t"][..]),
        ("skipped", skipped, &["a", "t"]),
        ("renamed", renamed, &["a", "t", "t2"]),
        ("a plan added", with_plan, &["a", "verify.yaml"]),
    ];
    for (name, left, changed) in stories {
        Story {
            name,
            base: BASE,
            // Four turns start with what the one before delivered.
            points: &[(left, left), (left, left), (left, left), (left, left)],
            result: left,
            changed,
        }
        .check();
    }
}

#[test]
fn an_agent_cannot_hide_its_change_behind_one_of_others() {
    let deleted: FileList<'_> = &[("a", "2")];
    let stories = [
        Story {
            name: "others change another file than the one that was deleted",
            base: BASE,
            points: &[(deleted, &[("a", "3")])],
            result: &[("a", "3")],
            changed: &["t"],
        },
        Story {
            name: "a test of a reviewer is deleted in the turn after",
            base: BASE,
            points: &[(BASE, &[("a", "1"), ("r", "of a reviewer"), ("t", "strict")])],
            result: BASE,
            changed: &["r"],
        },
        Story {
            name: "a test of a reviewer is deleted, delivered and forgotten",
            base: BASE,
            points: &[
                (BASE, &[("a", "1"), ("r", "of a reviewer"), ("t", "strict")]),
                (BASE, BASE),
            ],
            result: BASE,
            changed: &["r"],
        },
        Story {
            name: "a file of the base becomes a folder, in which others change a file",
            base: &[("a", "1"), ("t", "strict")],
            points: &[(
                &[("a", "1"), ("t/x", "lax")],
                &[("a", "1"), ("t/x", "of a reviewer")],
            )],
            result: &[("a", "1"), ("t/x", "lax")],
            changed: &["t/x"],
        },
    ];
    for story in stories {
        story.check();
    }
}

#[test]
fn changes_of_others_between_turns_are_the_reference_from_then_on() {
    let turn: FileList<'_> = &[("a", "2"), ("t", "strict")];
    let stories = [
        Story {
            name: "a reviewer adds a test",
            base: BASE,
            points: &[(turn, &[("a", "2"), ("r", "new"), ("t", "strict")])],
            result: &[("a", "3"), ("r", "new"), ("t", "strict")],
            changed: &["a"],
        },
        Story {
            name: "a reviewer changes a test",
            base: BASE,
            points: &[(turn, &[("a", "2"), ("t", "stricter")])],
            result: &[("a", "1"), ("t", "stricter")],
            changed: &[],
        },
        Story {
            name: "a reviewer deletes a test",
            base: BASE,
            points: &[(turn, &[("a", "2")])],
            result: &[("a", "1")],
            changed: &[],
        },
        Story {
            name: "a reviewer puts back a test that a turn deleted",
            base: BASE,
            points: &[(&[("a", "2")], turn)],
            result: turn,
            changed: &["a"],
        },
        Story {
            name: "the latest change of others counts",
            base: BASE,
            points: &[
                (turn, &[("a", "2"), ("t", "second")]),
                (&[("a", "2"), ("t", "lax")], &[("a", "2"), ("t", "third")]),
            ],
            result: &[("a", "1"), ("t", "third")],
            changed: &[],
        },
        Story {
            name: "a reviewer makes a folder of a file, and a file of a folder",
            base: &[("f", "1"), ("d/x", "1"), ("d-e", "1")],
            points: &[(
                &[("f", "1"), ("d/x", "1"), ("d-e", "1")],
                &[("f/x", "2"), ("d", "2"), ("d-e", "1")],
            )],
            result: &[("f/x", "2"), ("d", "2"), ("d-e", "1")],
            changed: &[],
        },
    ];
    for story in stories {
        story.check();
    }
}
