//! Task prompts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an agent is to do, as the client wrote it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskPrompt(String);

impl TaskPrompt {
    /// The prompt with this text, whose length its reader has checked.
    #[must_use]
    pub fn new(text: impl Into<String>) -> TaskPrompt {
        TaskPrompt(text.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its first line with words, which names commits and pull requests.
    #[must_use]
    pub fn title(&self) -> &str {
        let line = self.0.trim().lines().next();
        line.unwrap_or_default().trim_end()
    }
}

/// Its length alone: a prompt is a client's text, and belongs in no log.
impl fmt::Debug for TaskPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskPrompt({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_with_words() {
        let title = |text: &str| TaskPrompt::new(text).title().to_owned();
        assert_eq!(title("\n  Fix it. \n\nPlease."), "Fix it.");
        assert_eq!(title(" \n "), "");
    }

    #[test]
    fn a_prompt_is_text_as_json_and_a_length_in_a_log() {
        let prompt = TaskPrompt::new("Fix it.");
        assert_eq!(serde_json::to_string(&prompt).unwrap(), "\"Fix it.\"");
        assert_eq!(format!("{prompt:?}"), "TaskPrompt(7 bytes)");
    }
}
