//! Text for terminals: colours if enabled, and no terminal control from external text.

use owo_colors::OwoColorize;

/// What takes the place of a character that must not reach a terminal.
const COVER: char = '\u{fffd}';

/// Paints, or not.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// Colours for a terminal whose user has not asked for none (`NO_COLOR`).
    pub fn of_terminal(is_terminal: bool) -> Paint {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_some_and(|term| term == "dumb");
        Paint {
            on: is_terminal && set("NO_COLOR").is_none() && !dumb,
        }
    }

    /// True if it paints.
    pub fn is_on(self) -> bool {
        self.on
    }

    /// Something that went well.
    pub fn good(self, text: &str) -> String {
        if self.on {
            text.green().to_string()
        } else {
            text.to_owned()
        }
    }

    /// Something that went wrong.
    pub fn bad(self, text: &str) -> String {
        if self.on {
            text.red().to_string()
        } else {
            text.to_owned()
        }
    }

    /// Something to be careful with.
    pub fn warn(self, text: &str) -> String {
        if self.on {
            text.yellow().to_string()
        } else {
            text.to_owned()
        }
    }

    /// Something to check.
    pub fn strong(self, text: &str) -> String {
        if self.on {
            text.bold().to_string()
        } else {
            text.to_owned()
        }
    }

    /// Something beside the point.
    pub fn faint(self, text: &str) -> String {
        if self.on {
            text.dimmed().to_string()
        } else {
            text.to_owned()
        }
    }

    /// A status in its colour.
    pub fn status(self, status: &str) -> String {
        let status = clean_line(status);
        match status.as_str() {
            "succeeded" | "passed" | "healthy" | "delivered" | "enabled" => self.good(&status),
            "failed" | "error" | "unhealthy" | "abandoned" | "disabled" => self.bad(&status),
            "canceled" => self.faint(&status),
            _ => self.strong(&status),
        }
    }
}

/// Text of several lines without control characters and without marks that reorder text.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\n' { c } else { shown(c) })
        .collect()
}

/// The same in one line.
pub fn clean_line(text: &str) -> String {
    text.trim_end().chars().map(shown).collect()
}

/// A program's output: its lines, without escape sequences.
pub fn plain(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        // Parameters, then one letter that gives their meaning.
        let parameters = |c: char| matches!(c, ' '..='?');
        let tail = after.trim_start_matches(parameters);
        rest = tail
            .strip_prefix(|c| matches!(c, '@'..='~'))
            .unwrap_or(tail);
    }
    plain.push_str(rest);
    clean(&plain.replace("\r\n", "\n").replace('\r', "\n"))
}

fn shown(c: char) -> char {
    match c {
        '\t' => ' ',
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => COVER,
        c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => COVER,
        c => c,
    }
}

/// The first line, at most so many characters.
pub fn shortened(text: &str, most: usize) -> String {
    let line = clean_line(text.trim_start().lines().next().unwrap_or_default());
    if line.chars().count() <= most {
        return line;
    }
    let shown: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{shown}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_steers_the_terminal() {
        assert_eq!(
            clean("a\u{1b}[2J\nb\r\u{9b}31m\u{202e}x\tz"),
            "a�[2J\nb��31m�x z"
        );
        assert_eq!(clean_line("a\nb\n"), "a�b");
    }

    #[test]
    fn what_a_program_printed_keeps_its_lines_and_loses_its_colours() {
        assert_eq!(
            plain("\u{1b}[1;32mok\u{1b}[0m\r\n10%\r20%\n\u{1b}]0;t\u{7}\u{1b}[2"),
            "ok\n10%\n20%\n�]0;t�"
        );
    }

    #[test]
    fn long_text_is_cut_to_its_first_line() {
        assert_eq!(shortened("  one\ntwo", 10), "one");
        assert_eq!(shortened("0123456789", 5), "0123…");
    }
}
