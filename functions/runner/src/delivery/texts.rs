//! The texts of a pull request. The task is a client's text: in the body it is formatted as code,
//! so nothing in it is a mention, a link, an image, or a keyword that closes an issue.

use std::fmt::Write;

use awo_domain::TaskPrompt;
use awo_domain::control::{EarlierTurn, RunSpec};

use super::result::PushedResult;

/// Longest title, in characters; every forge takes 255.
const MAX_TITLE: usize = 200;
/// How much of the task the body shows, in characters; every forge takes 65 536 in all.
const MAX_TASK: usize = 8_000;
/// Largest part of the body about earlier turns, and about the task of one of them, in characters.
const MAX_EARLIER: usize = 40_000;
const MAX_EARLIER_TASK: usize = 1_000;
/// What a title is where the task has no words for one.
const NO_TITLE: &str = "Changes by an agent";

/// The first line of the task; of a thread that of its first turn, so that a pull request keeps its title.
pub(super) fn title(spec: &RunSpec) -> String {
    match earlier(spec).first() {
        Some(first) => title_of(&TaskPrompt::new(first.task_prompt.as_str())),
        None => title_of(&spec.task_prompt),
    }
}

fn earlier(spec: &RunSpec) -> &[EarlierTurn] {
    spec.thread.as_deref().map_or(&[], |thread| &thread.turns)
}

fn title_of(task_prompt: &TaskPrompt) -> String {
    let line = task_prompt.title().chars();
    let line: String = line.filter(|c| !c.is_control()).collect();
    match line.trim() {
        "" => NO_TITLE.to_owned(),
        line if line.chars().count() <= MAX_TITLE => line.to_owned(),
        line => {
            let cut: String = line.chars().take(MAX_TITLE - 1).collect();
            format!("{cut}…")
        }
    }
}

/// The request and the result, for reviewers.
pub(super) fn body(pushed: &PushedResult<'_>) -> String {
    let spec = pushed.spec;
    let tries = match pushed.iterations {
        1 => "1 iteration".to_owned(),
        many => format!("{many} iterations"),
    };
    let reported = if pushed.verified {
        "They passed the verification of their run"
    } else {
        "They are **unverified**: no test is known to have run and passed"
    };
    let mut text = format!(
        "An agent made these changes. {reported}; review them before you merge.\n\n- Run `{}` of work order `{}`, {tries}\n- Commit {}\n\n\
",
        spec.run_id, spec.work_order_id, pushed.commit
    );
    if !pushed.tests_changed.is_empty() {
        text.push_str("The run changed tests, or what decides how they run:\n\n");
        text.push_str(&quoted(&pushed.tests_changed.join("\n")));
        text.push('\n');
    }
    let more = pushed.gate_changed.iter();
    let more: Vec<&str> = more
        .filter(|name| !pushed.tests_changed.contains(name))
        .map(String::as_str)
        .collect();
    if !more.is_empty() {
        text.push_str(
            "The run changed files that decide what the commands of its verification do:\n\n",
        );
        text.push_str(&quoted(&more.join("\n")));
        text.push('\n');
    }
    let turn = spec.thread.as_deref().map_or(1, |thread| thread.turn);
    if turn > 1 {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "### Turn {turn}\n");
    }
    text.push_str("The task was:\n\n");
    text.push_str(&quoted(spec.task_prompt.as_str()));
    text.push_str(&earlier_tasks(earlier(spec)));
    text
}

/// A section for each earlier turn, newest first, as many as there is space for.
fn earlier_tasks(turns: &[EarlierTurn]) -> String {
    let (mut text, mut left) = (String::new(), MAX_EARLIER);
    for turn in turns.iter().rev() {
        let task = quoted_up_to(&turn.task_prompt, MAX_EARLIER_TASK);
        let status: &str = turn.status.into();
        let section = format!("\n### Turn {} ({status})\n\n{task}", turn.turn);
        let length = section.chars().count();
        if length > left {
            text.push_str("\nEarlier turns are omitted.\n");
            break;
        }
        left -= length;
        text.push_str(&section);
    }
    text
}

/// A text as a block of code.
fn quoted(text: &str) -> String {
    quoted_up_to(text, MAX_TASK)
}

fn quoted_up_to(text: &str, most: usize) -> String {
    let text = text.trim();
    let shown: String = text
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .take(most)
        .collect();
    let fence = "`".repeat(longest_run(&shown).max(2) + 1);
    let mut block = String::new();
    // Writing to a string cannot fail.
    let _ = write!(block, "{fence}text\n{shown}\n{fence}\n");
    if text.chars().count() > most {
        block.push_str("\nThe rest is omitted.\n");
    }
    block
}

/// The most backticks in a row.
fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_of_bounded_length() {
        let title = |text: &str| title_of(&TaskPrompt::new(text));
        assert_eq!(title("\n  Fix\tit \nplease"), "Fixit");
        assert_eq!(title("\u{1b}[31m\n"), "[31m");
        assert_eq!(title(" \u{7} \n x"), NO_TITLE);
        let long = title(&"ä".repeat(1_000));
        assert!(long.chars().count() == MAX_TITLE && long.ends_with('…'));
    }

    #[test]
    fn a_task_cannot_leave_its_block_of_code() {
        assert_eq!(quoted("x\u{7}\n"), "```text\nx\n```\n");
        let hostile = quoted("```\n@everyone fixes #1\n`````\n![](https://evil.example)");
        assert!(
            hostile.starts_with("``````text\n```\n@everyone"),
            "{hostile}"
        );
        assert!(hostile.ends_with("\n``````\n"), "{hostile}");
        let long = quoted(&"x".repeat(50_000));
        assert!(long.len() < MAX_TASK + 100 && long.contains("omitted"));
    }

    #[test]
    fn earlier_tasks_are_sections_of_bounded_length_newest_first() {
        let turn = |turn: u32, task: &str| EarlierTurn {
            turn,
            task_prompt: task.to_owned(),
            summary: None,
            status: awo_domain::work_order::WorkOrderStatus::Succeeded,
        };
        let text = earlier_tasks(&[turn(1, "first"), turn(2, "```\n@everyone")]);
        assert_eq!(
            text,
            "\n### Turn 2 (succeeded)\n\n````text\n```\n@everyone\n````\n\n### Turn 1 (succeeded)\n\n```text\nfirst\n```\n"
        );
        let many: Vec<EarlierTurn> = (1..100).map(|n| turn(n, &"x".repeat(4_000))).collect();
        let text = earlier_tasks(&many);
        assert!(text.chars().count() < MAX_EARLIER + 100);
        assert!(text.contains("### Turn 99 ") && text.ends_with("Earlier turns are omitted.\n"));
    }
}
