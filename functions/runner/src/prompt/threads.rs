//! Earlier turns of a thread, for an agent that does not remember them.

use std::fmt::Write;

use awo_domain::control::{EarlierTurn, RunThread, TurnOrigin};
use awo_domain::verification::Check;

/// Largest text about earlier turns.
const MAX_BYTES: usize = 32 * 1_024;
/// Largest part of it about failing checks, and about one of them.
const MAX_CHECKS_BYTES: usize = 8 * 1_024;
const MAX_CHECK_BYTES: usize = 1_024;

/// The text about a thread: what the workspace holds, the checks that failed last, and the turns. Where there are too
/// many of them, the oldest are left out.
pub(crate) fn text(thread: &RunThread, origin: TurnOrigin) -> String {
    let mut text = beginning(thread, origin);
    let room = MAX_BYTES.saturating_sub(text.len());
    text.push_str(&turns(&thread.turns, room));
    text
}

/// The same for an agent that goes on in the session of the turn before, and so knows the turns.
pub(crate) fn resumed_text(thread: &RunThread, origin: TurnOrigin) -> String {
    let mut text = beginning(thread, origin);
    text.push_str(
        "\nThe workspace is the current folder. Earlier turns had other folders, which are gone: use no path \
         that you remember, and read a file again before you change it.\n",
    );
    text
}

fn beginning(thread: &RunThread, origin: TurnOrigin) -> String {
    let mut text = format!(
        "\nThis is turn {} of a thread; the task above is the newest. {}\n",
        thread.turn,
        state(origin)
    );
    text.push_str(&failing(thread));
    text
}

fn state(origin: TurnOrigin) -> &'static str {
    match origin {
        TurnOrigin::Branch => {
            "The workspace holds the result of the turns before, with what others pushed to its branch."
        }
        TurnOrigin::Workspace => {
            "The workspace holds what the turn before left; none of it was delivered."
        }
        TurnOrigin::Target => {
            "The pull request of the turns before was merged or closed, or their branch is gone: the workspace \
             holds the target branch as it is now."
        }
        TurnOrigin::Base => {
            "The turns before delivered nothing: the workspace holds the base branch as it is now."
        }
    }
}

fn failing(thread: &RunThread) -> String {
    let mut text = String::new();
    let results = thread.previous.iter().flat_map(|run| &run.failures);
    let checks = results.flat_map(|result| &result.checks);
    let mut failing = checks.filter(|check| !check.status.passes()).peekable();
    if failing.peek().is_none() {
        return text;
    }
    text.push_str("\nThese checks failed in the last verification of the turn before:\n");
    for Check { name, message, .. } in failing {
        let item = format!("{name}: {}", message.trim_end());
        let item = cut(&item, MAX_CHECK_BYTES).replace('\n', "\n  ");
        if text.len() + item.len() > MAX_CHECKS_BYTES {
            text.push_str("\n- and others\n");
            break;
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {item}\n");
    }
    text
}

/// The newest turns that fit into `room` bytes, oldest first.
fn turns(turns: &[EarlierTurn], room: usize) -> String {
    const LEFT_OUT: &str = "\nEarlier turns are left out here.\n";
    let mut used = LEFT_OUT.len();
    let mut shown: Vec<String> = Vec::new();
    for turn in turns.iter().rev() {
        let text = turn_text(turn);
        used += text.len();
        if used > room {
            break;
        }
        shown.push(text);
    }
    let left_out = if shown.len() < turns.len() {
        LEFT_OUT
    } else {
        ""
    };
    shown.reverse();
    [left_out, &shown.concat()].concat()
}

fn turn_text(turn: &EarlierTurn) -> String {
    let status: &str = turn.status.into();
    let mut text = format!(
        "\nTurn {} ({status}) had this task:\n  {}\n",
        turn.turn,
        turn.task_prompt.trim_end().replace('\n', "\n  ")
    );
    if let Some(summary) = &turn.summary {
        let summary = summary.trim_end().replace('\n', "\n  ");
        // Writing to a string cannot fail.
        let _ = write!(text, "Its agent reported:\n  {summary}\n");
    }
    text
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(turns: usize, prompt: &str) -> RunThread {
        let listed: Vec<_> = (1..=turns)
            .map(|turn| {
                serde_json::json!({
                    "turn": turn,
                    "taskPrompt": format!("task {turn} {prompt}"),
                    "summary": format!("summary {turn}"),
                    "status": "succeeded",
                })
            })
            .collect();
        let thread = serde_json::json!({
            "threadId": "wo_00000000000000000000000001",
            "turn": turns + 1,
            "turns": listed,
            "previous": {
                "runId": "run_00000000000000000000000001",
                "agent": "command",
                "failures": [{
                    "pluginId": "built-in:tests", "status": "failed", "level": "L1", "summary": "", "durationMs": 1,
                    "checks": [
                        {"name": "unit", "status": "failed", "message": "1 failed"},
                        {"name": "lint", "status": "passed", "message": "fine"}
                    ],
                }],
            },
        });
        serde_json::from_value(thread).unwrap()
    }

    #[test]
    fn the_prompt_of_a_resumed_session_has_the_state_and_no_earlier_task() {
        let text = resumed_text(&thread(2, ""), TurnOrigin::Target);
        for part in [
            "turn 3 of a thread",
            "unit: 1 failed",
            "target branch",
            "use no path",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(
            !text.contains("task 1") && !text.contains("summary 2"),
            "{text}"
        );
    }

    #[test]
    fn earlier_tasks_summaries_and_failing_checks_are_shown_oldest_turn_first() {
        let text = text(&thread(2, ""), TurnOrigin::Branch);
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(place("turn 3 of a thread") < place("unit: 1 failed"));
        assert!(place("unit: 1 failed") < place("task 1"));
        assert!(place("task 1") < place("summary 1"));
        assert!(place("summary 1") < place("task 2"));
        assert!(!text.contains("lint"), "{text}");
        assert!(!text.contains("left out"), "{text}");
    }

    #[test]
    fn the_oldest_turns_are_left_out_of_what_is_too_long() {
        let text = text(&thread(99, &"é".repeat(1_500)), TurnOrigin::Base);
        assert!(text.len() <= MAX_BYTES, "{}", text.len());
        assert!(text.contains("summary 99") && text.contains("Earlier turns are left out"));
        assert!(!text.contains("summary 1\n"), "{text}");
    }
}
