//! The code blocks of the documents.

use std::path::PathBuf;

use regex::Regex;

use crate::template::root;

/// A fenced block, or one that is indented by four spaces.
#[derive(Debug)]
pub struct Block {
    /// Its first line that names no interpreter.
    pub head: String,
    /// All of it, without the page's indentation.
    pub text: String,
}

/// The pages, by their paths in the repository.
pub fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    for dir in ["", "docs/"] {
        for entry in std::fs::read_dir(root().join(dir)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                pages.push(format!("{dir}{name}"));
            }
        }
    }
    assert!(pages.len() > 20, "{pages:?}");
    pages.sort();
    pages
}

pub fn text(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap()
}

/// The blocks of a page.
pub fn blocks(page: &str) -> Vec<Block> {
    let fence = Regex::new(r"^( *)```").unwrap();
    let text = text(page);
    let mut lines = text.lines().peekable();
    let (mut blocks, mut before) = (Vec::new(), "");
    while let Some(line) = lines.next() {
        if let Some(fence) = fence.captures(line) {
            let indent = &fence[1];
            let inside = lines
                .by_ref()
                .take_while(|line| !line.trim().starts_with("```"));
            let inside: Vec<&str> = inside
                .map(|line| line.strip_prefix(indent).unwrap_or(line))
                .collect();
            blocks.push(block(&inside));
        } else if line.starts_with("    ") && before.is_empty() {
            let mut inside = vec![&line[4..]];
            while let Some(line) = lines.next_if(|line| line.starts_with("    ")) {
                inside.push(&line[4..]);
            }
            blocks.push(block(&inside));
        }
        before = line;
    }
    blocks
}

fn block(lines: &[&str]) -> Block {
    let head = lines
        .iter()
        .map(|line| line.trim())
        .find(|line| !line.is_empty() && !line.starts_with("#!"));
    Block {
        head: head.unwrap_or_default().to_owned(),
        text: lines.join("\n") + "\n",
    }
}

/// The one block of a page that begins so.
pub fn block_of(page: &str, head: &str) -> String {
    let found: Vec<Block> = blocks(page)
        .into_iter()
        .filter(|block| block.head.starts_with(head))
        .collect();
    let [block] = found.as_slice() else {
        panic!("{page}: blocks that begin with {head:?}: {found:#?}");
    };
    block.text.clone()
}

/// The text with values for its placeholders, each of which it must have.
pub fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (placeholder, value) in values {
        assert!(text.contains(placeholder), "{placeholder} in\n{text}");
        text = text.replace(placeholder, value);
    }
    text
}

/// The lines of a block that are commands, without their comments.
pub fn commands(block: &str) -> Vec<String> {
    let comment = Regex::new(r"(^|\s+)# .*$").unwrap();
    let lines = block.lines().map(|line| comment.replace(line, ""));
    lines
        .map(|line| line.trim_end().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

/// The commands that a line with `|` between alternatives stands for.
pub fn alternatives(line: &str) -> Vec<String> {
    let mut parts = line.split(" | ");
    let first = parts.next().unwrap_or_default();
    let (base, _) = first.rsplit_once(' ').unwrap();
    let others = parts.map(|part| format!("{base} {part}"));
    [first.to_owned()].into_iter().chain(others).collect()
}

/// What stands in backticks outside of the fenced blocks.
pub fn inline(page: &str) -> Vec<String> {
    let text = text(page);
    let fenced = Regex::new(r"(?ms)^ *```.*?^ *```").unwrap();
    let text = fenced.replace_all(&text, "");
    let code = Regex::new(r"`([^`]+)`").unwrap();
    code.captures_iter(&text)
        .map(|code| code[1].split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// A file of the repository.
pub fn path(of: &str) -> PathBuf {
    root().join(of)
}
