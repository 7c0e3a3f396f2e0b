//! Every example of the documents is run by a test, for its effect; [`table::TABLE`] says by which.

mod blocks;
mod command_line;
mod examples;
mod front_page;
mod money;
mod operators;
mod reader;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use blocks::{blocks, inline, pages, path, text};
use reader::Reader;
use table::{Proof, TABLE};

#[test]
fn every_block_of_the_documents_is_run_by_a_test_or_has_a_reason() {
    let rows: BTreeMap<&str, &[(&str, Proof)]> = TABLE.iter().copied().collect();
    let mut faults = Vec::new();
    let mut used = BTreeSet::new();
    for page in pages() {
        let rows = rows.get(page.as_str()).copied().unwrap_or_default();
        for block in blocks(&page) {
            let fitting = rows.iter().filter(|(head, _)| block.head.starts_with(head));
            // The most exact one.
            match fitting.max_by_key(|(head, _)| head.len()) {
                Some((head, _)) => {
                    used.insert((page.clone(), *head));
                }
                None => faults.push(format!("{page}: nothing runs the block {:?}", block.head)),
            }
        }
    }
    for (page, rows) in TABLE {
        for (head, _) in *rows {
            if !used.contains(&((*page).to_owned(), *head)) {
                faults.push(format!("{page}: no block begins with {head:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn what_runs_the_blocks_of_the_documents_is_there() {
    let rules = text("tests/rules.md") + &text("tests/agents/rules.md");
    let makefiles = makefiles();
    let mut sources = Vec::new();
    for dir in [
        "tests/tests",
        "functions/runner/tests",
        "shared/webhooks/tests",
    ] {
        sources_of(&path(dir), &mut sources);
    }
    for (page, rows) in TABLE {
        for (head, held) in *rows {
            match held {
                Proof::Test(name) | Proof::Where(name) => {
                    let may_lack_a_tool = matches!(held, Proof::Where(_));
                    let is_a_rule = rules.contains(&format!("`{name}`"));
                    assert!(is_a_rule || may_lack_a_tool, "no rule has {name}");
                    let function = format!("fn {}(", name.rsplit("::").next().unwrap());
                    let is_there = sources.iter().any(|source| source.contains(&function));
                    assert!(is_there, "{page}, {head}: there is no {name}");
                }
                Proof::Script(script) | Proof::Checked(script, _) => {
                    if let Proof::Checked(_, reason) = held {
                        assert!(!reason.is_empty());
                    }
                    let name = page.rsplit('/').next().unwrap();
                    assert!(text(script).contains(name), "{script} does not read {page}");
                    let suite = script.split('/').nth(1).unwrap();
                    assert!(makefiles.contains(&format!("tests/{suite}/")), "{script}");
                }
                Proof::Not(reason) => assert!(!reason.is_empty()),
            }
        }
    }
}

/// The Makefile with the files that it includes.
fn makefiles() -> String {
    ["Makefile", "infra/deploy.mk", "infra/release.mk"]
        .map(text)
        .concat()
}

fn sources_of(dir: &std::path::Path, sources: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources_of(&path, sources);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            sources.push(std::fs::read_to_string(path).unwrap());
        }
    }
}

/// The commands of `make` and `awo` in blocks and in sentences.
fn typed(program: &str) -> BTreeSet<String> {
    let begin = format!("{program} ");
    let mut all = BTreeSet::new();
    // What was is not what is, and the commands of other projects are not this one's.
    let others = ["CHANGELOG.md", "docs/repositories.md"];
    for page in pages()
        .iter()
        .filter(|page| !others.contains(&page.as_str()))
    {
        let lines = blocks(page).into_iter().flat_map(|block| {
            let lines = block.text.lines().map(|line| line.trim().to_owned());
            lines.collect::<Vec<_>>()
        });
        let lines = lines.chain(inline(page));
        all.extend(lines.filter(|line| line.starts_with(&begin)));
    }
    assert!(all.len() > 10, "{all:?}");
    all
}

#[test]
fn every_make_target_of_the_documents_is_one() {
    let makefiles = makefiles();
    for command in typed("make") {
        let words = command.split_whitespace().skip(1);
        let target = words
            .into_iter()
            .find(|word| !word.starts_with('-') && !word.contains('='));
        let target = target.unwrap().trim_end_matches([';', ')', '&']);
        if target.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
            let rule = format!("\n{target}:");
            assert!(
                makefiles.contains(&rule),
                "{command}: there is no target {target}"
            );
        }
    }
}

#[test]
fn every_awo_command_of_the_documents_has_the_words_and_options_that_are_written() {
    let reader = Reader::new(&[]);
    let subcommand = Regex::new(r"^[a-z]+(-[a-z]+)*$").unwrap();
    let option = Regex::new(r"(^|[ \[])(--[a-z][a-z-]*)").unwrap();
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let mut faults = Vec::new();
    for command in typed("awo") {
        // Up to a comment, another program or the agent's own command.
        let ends = [
            " # ",
            " -- ",
            " --command ",
            " ; ",
            " < ",
            " > ",
            " && ",
            "$(",
        ];
        let end = ends.iter().filter_map(|end| command.find(end)).min();
        let first = command[..end.unwrap_or(command.len())]
            .split(" | ")
            .next()
            .unwrap();
        let mut named = "awo".to_owned();
        let words: Vec<&str> = first.split_whitespace().skip(1).collect();
        let words = words.iter().skip_while(|word| word.starts_with("--local"));
        for word in words.take_while(|word| subcommand.is_match(word)) {
            let help = help(&reader, &mut helps, &named);
            let is_listed = help
                .lines()
                .any(|line| line.trim_start().starts_with(&format!("{word} ")));
            if !help.contains("Commands:") {
                break;
            }
            if !is_listed {
                faults.push(format!("{command}: {named} has no {word}"));
                break;
            }
            named = format!("{named} {word}");
        }
        let help = help(&reader, &mut helps, &named);
        for found in option.captures_iter(first) {
            if !help.contains(&found[2]) && !["--help", "--version"].contains(&&found[2]) {
                faults.push(format!("{command}: {named} has no {}", &found[2]));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

fn help(reader: &Reader, helps: &mut BTreeMap<String, String>, named: &str) -> String {
    let help = || reader.ran(&format!("{named} --help"));
    helps.entry(named.to_owned()).or_insert_with(help).clone()
}
