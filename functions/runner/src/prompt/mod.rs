//! The text of the task for an agent.

pub(crate) mod threads;

use std::fmt::Write;

use awo_domain::agent::AgentRequest;
use awo_domain::{TaskPrompt, WorkOrderId};

/// Longest subject of a commit, in characters.
const MAX_SUBJECT_CHARS: usize = 72;

/// The task alone.
pub(crate) fn task(task_prompt: &TaskPrompt) -> String {
    format!("{}\n", task_prompt.as_str().trim_end())
}

/// The prompt with the text about earlier turns of a thread, and with what the iteration before got wrong.
pub(crate) fn text(request: &AgentRequest, earlier_turns: &str) -> String {
    let mut text = task(&request.task_prompt);
    text.push_str(earlier_turns);
    if request.feedback.is_empty() {
        return text;
    }
    let before = request.iteration.saturating_sub(1);
    let last = request.max_iterations;
    // Writing to a string cannot fail.
    let _ = match before {
        0 => text.write_str("\nBefore anything is changed, the repository's own checks report:\n"),
        before => write!(
            text,
            "\nThis is iteration {} of at most {last}. After iteration {before} the task is not \
             done yet. What was found:\n",
            request.iteration
        ),
    };
    for item in &request.feedback {
        let level = item
            .level
            .map_or(String::new(), |level| format!("[{level:?}] "));
        let message = item.message.trim_end().replace('\n', "\n  ");
        let _ = write!(text, "\n- {level}{}: {message}\n", item.check);
    }
    text
}

/// The message of an iteration's commit.
pub(crate) fn commit_message(prefix: &str, task_prompt: &TaskPrompt, iteration: u32) -> String {
    let subject = format!("{prefix}iteration {iteration}: {}", task_prompt.title());
    if subject.chars().count() <= MAX_SUBJECT_CHARS {
        return subject;
    }
    let cut: String = subject.chars().take(MAX_SUBJECT_CHARS - 1).collect();
    format!("{cut}…")
}

/// The message of the commit that merges what a child did.
pub(crate) fn merge_message(prefix: &str, child: &WorkOrderId) -> String {
    format!("{prefix}merge child {child}")
}

/// The message of the commit that merges a branch.
pub(crate) fn branch_message(prefix: &str, branch: &str) -> String {
    format!("{prefix}merge {branch}")
}
