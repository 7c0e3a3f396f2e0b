//! Mentions and commands in a text of Markdown, outside code and quotes.

/// True if the text mentions a name: `@name`, as a word, in any case.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    let mention = format!("@{}", name.to_lowercase());
    own_lines(text).iter().any(|line| {
        let line = without_code(line).to_lowercase();
        let mut places = line.match_indices(&mention);
        places.any(|(start, _)| {
            let before = line[..start].chars().next_back();
            let after = line[start + mention.len()..].chars().next();
            !before.is_some_and(|c| is_of_name(c) || c == '@' || c == '/' || c == '.')
                && !after.is_some_and(is_of_name)
        })
    })
}

/// True if a line of the text begins with a command: `/word`.
pub(crate) fn commands(text: &str, word: &str) -> bool {
    own_lines(text).iter().any(|line| {
        let rest = line
            .strip_prefix('/')
            .and_then(|line| line.strip_prefix(word));
        rest.is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
    })
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

/// Lines of the text that are its author's own: neither quoted, nor in a block of code, nor in a comment of HTML.
fn own_lines(text: &str) -> Vec<String> {
    let mut fence: Option<(char, usize)> = None;
    let mut own = Vec::new();
    for line in without_comments(text).lines() {
        let begins = line.trim_start_matches(' ');
        let indent = line.len() - begins.len();
        let sign = begins.chars().next().filter(|c| matches!(c, '`' | '~'));
        let run = sign.map_or(0, |sign| begins.chars().take_while(|c| *c == sign).count());
        match (fence, sign) {
            (None, Some(sign)) if run >= 3 && indent < 4 => fence = Some((sign, run)),
            (Some((opened, length)), Some(sign)) if sign == opened && run >= length => {
                if begins.trim_start_matches(sign).trim().is_empty() {
                    fence = None;
                }
            }
            (Some(_), _) => {}
            (None, _) => {
                let is_indented = indent >= 4 || line.starts_with('\t');
                if !is_indented && !begins.starts_with('>') {
                    own.push(begins.to_owned());
                }
            }
        }
    }
    own
}

/// The text without comments of HTML, which nobody sees. One that is not closed has the rest.
fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut shown = String::new();
    while let Some((before, after)) = rest.split_once("<!--") {
        shown.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    shown
}

/// The line without what stands between equal runs of backticks.
fn without_code(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let run = rest[start..].chars().take_while(|c| *c == '`').count();
        let (before, opened) = rest.split_at(start);
        shown.push_str(before);
        let inner = &opened[run..];
        match closing(inner, run) {
            Some(end) => {
                shown.push(' ');
                rest = &inner[end..];
            }
            None => {
                shown.push_str(&opened[..run]);
                rest = inner;
            }
        }
    }
    shown.push_str(rest);
    shown
}

/// The place behind a run of so many backticks, and no more.
fn closing(text: &str, run: usize) -> Option<usize> {
    let mut place = 0;
    while let Some(start) = text[place..].find('`') {
        let start = place + start;
        let length = text[start..].chars().take_while(|c| *c == '`').count();
        if length == run {
            return Some(start + length);
        }
        place = start + length;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_a_word_outside_code_and_quotes() {
        for (text, is_mention) in [
            ("@awo fix this", true),
            ("please, @AWO!", true),
            ("(@awo)", true),
            ("@awo-bot fix", false),
            ("mail@awo", false),
            ("https://example.com/@awo", false),
            ("@@awo", false),
            ("> @awo fix", false),
            ("  > @awo fix", false),
            ("`@awo`", false),
            ("``a ` @awo``", false),
            ("a ` b @awo", true),
            ("```\n@awo\n```", false),
            ("```\n@awo\n~~~\n@awo", false),
            ("```\nx\n```\n@awo", true),
            ("    @awo", false),
            ("<!-- @awo -->", false),
            ("<!-- x\n@awo", false),
            ("", false),
        ] {
            assert_eq!(mentions(text, "awo"), is_mention, "{text:?}");
        }
    }

    #[test]
    fn a_command_begins_a_line() {
        for (text, is_command) in [
            ("/fix", true),
            ("/fix the tests", true),
            ("hello\n/fix\n", true),
            ("/fixed", false),
            ("please /fix", false),
            ("> /fix", false),
            ("```\n/fix\n```", false),
            ("//fix", false),
        ] {
            assert_eq!(commands(text, "fix"), is_command, "{text:?}");
        }
    }
}
