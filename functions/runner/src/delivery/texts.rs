//! The texts of a pull request. The task is a client's text: in the body it is formatted as code,
//! so nothing in it is a mention, a link, an image, or a keyword that closes an issue.

use std::fmt::Write;

use awo_domain::TaskPrompt;

use super::result::PushedResult;

/// Longest title, in characters; every forge takes 255.
const MAX_TITLE: usize = 200;
/// How much of the task the body shows, in characters; every forge takes 65 536 in all.
const MAX_TASK: usize = 8_000;
/// What a title is where the task has no words for one.
const NO_TITLE: &str = "Changes by an agent";

/// The first line of the task.
pub(super) fn title(task_prompt: &TaskPrompt) -> String {
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
    text.push_str("The task was:\n\n");
    text.push_str(&quoted(spec.task_prompt.as_str()));
    text
}

/// A text as a block of code.
fn quoted(text: &str) -> String {
    let text = text.trim();
    let shown: String = text
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .take(MAX_TASK)
        .collect();
    let fence = "`".repeat(longest_run(&shown).max(2) + 1);
    let mut block = String::new();
    // Writing to a string cannot fail.
    let _ = write!(block, "{fence}text\n{shown}\n{fence}\n");
    if text.chars().count() > MAX_TASK {
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
        let title = |text: &str| title(&TaskPrompt::new(text));
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
}
