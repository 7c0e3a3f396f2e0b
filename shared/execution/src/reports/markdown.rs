//! Texts of agents and people in Markdown: they stand in blocks of code, in which no mention, command, link or closing
//! keyword has an effect.

/// A block of code with the first characters of a text. The fence is longer than any that the text has.
pub(super) fn block(text: &str, most: usize) -> String {
    let text = first(text, most);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}text\n{text}{end}{fence}\n")
}

/// Code within a line, without what would end the cell of a table.
pub(super) fn code(text: &str, most: usize) -> String {
    let plain: String = text
        .chars()
        .map(|c| match c {
            '`' => '\'',
            '|' => '/',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect();
    format!("`{}`", first(plain.trim(), most))
}

fn first(text: &str, most: usize) -> String {
    let mut characters = text.chars();
    let first: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        format!("{first}…")
    } else {
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text of up to so many of these characters.
    fn texts(length: usize) -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut last = texts.clone();
        for _ in 0..length {
            let longer = |text: &String| ["`", "a", "\n", " "].map(|next| format!("{text}{next}"));
            last = last.iter().flat_map(longer).collect();
            texts.extend(last.clone());
        }
        texts
    }

    #[test]
    fn no_text_ends_the_block_that_it_stands_in() {
        for text in texts(6) {
            let block = block(&text, 1_000);
            let fence = block.chars().take_while(|c| *c == '`').count();
            let mut lines = block.lines().skip(1);
            let is_closing = |line: &str| {
                let line = line.trim();
                line.len() >= fence && line.chars().all(|c| c == '`')
            };
            let closing = lines.position(is_closing);
            assert_eq!(closing, Some(block.lines().count() - 2), "{text:?}");
        }
    }

    #[test]
    fn code_within_a_line_stays_there() {
        assert_eq!(code("a`b|c\nd", 100), "`a'b/c d`");
        assert_eq!(code("abcdef", 3), "`abc…`");
    }
}
