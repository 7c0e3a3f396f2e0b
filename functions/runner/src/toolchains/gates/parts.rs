//! Parts of a file that decide what commands do, where others declare dependencies or describe the product.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use quick_xml::Reader;
use quick_xml::events::Event;
use regex::RegexSet;
use serde_json::{Map, Value};
use toml::Table;

/// Deepest nesting of elements that is compared.
const MAX_DEPTH: usize = 64;

/// The parts of a file that decide, or those that do not.
pub(crate) enum Parts {
    /// Members of a JSON object that decide.
    Json(&'static [&'static str]),
    /// Keys of TOML that do not, with their tables (`a.b`, `*` for any).
    Toml(&'static [&'static str]),
    /// Elements of XML that do not, with those around them (`a/b`), or anywhere (`*/b`); a `*` at the end
    /// of a name stands for its beginning, one at its start for its end.
    Xml(&'static [&'static str]),
    /// Lines that do not.
    Lines(&'static LazyLock<RegexSet>),
}

impl Parts {
    /// True if the parts that decide differ. A file that cannot be read has no other parts.
    pub(crate) fn differ(&self, before: &str, after: &str) -> bool {
        match (self.decisive(before), self.decisive(after)) {
            (Some(before), Some(after)) => before != after,
            _ => before != after,
        }
    }

    /// The text of the commit with the base's decisive parts, where that can be made.
    pub(crate) fn merged(&self, before: &str, after: &str) -> Option<String> {
        let Parts::Json(members) = self else {
            return None;
        };
        let (before, mut after) = (object(before)?, object(after)?);
        for member in *members {
            match before.get(*member) {
                Some(value) => after.insert((*member).to_owned(), value.clone()),
                None => after.remove(*member),
            };
        }
        let text = serde_json::to_string_pretty(&Value::Object(after)).ok()?;
        Some(text + "\n")
    }

    /// Content that decides, in a form that can be compared; `None` if the text is not of its format.
    fn decisive(&self, text: &str) -> Option<String> {
        match self {
            Parts::Json(members) => {
                let whole = if text.trim().is_empty() {
                    Map::new()
                } else {
                    object(text)?
                };
                let decisive = whole.into_iter();
                let decisive = decisive.filter(|(name, _)| members.contains(&name.as_str()));
                // In the order of their names, which means nothing.
                let decisive: BTreeMap<String, Value> = decisive.collect();
                serde_json::to_string(&decisive).ok()
            }
            Parts::Toml(free) => {
                let mut table: Table = text.parse().ok()?;
                for path in *free {
                    let path: Vec<&str> = path.split('.').collect();
                    remove(&mut table, &path);
                }
                Some(format!("{table:?}"))
            }
            Parts::Xml(free) => elements(text, free),
            Parts::Lines(free) => {
                let lines = text.lines().map(str::trim);
                let decisive = lines.filter(|line| !line.is_empty() && !free.is_match(line));
                Some(decisive.collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

fn object(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// Removes a key, and the tables that are empty without it.
fn remove(table: &mut Table, path: &[&str]) {
    let [first, rest @ ..] = path else {
        return;
    };
    let names: Vec<String> = match *first {
        "*" => table.keys().cloned().collect(),
        name => vec![name.to_owned()],
    };
    for name in names {
        if rest.is_empty() {
            table.remove(&name);
        } else if let Some(toml::Value::Table(inner)) = table.get_mut(&name) {
            remove(inner, rest);
            if inner.is_empty() {
                table.remove(&name);
            }
        }
    }
}

/// Elements, attributes and texts but for those of `free`, one a line.
fn elements(text: &str, free: &[&str]) -> Option<String> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().trim_text(true);
    let mut open: Vec<String> = Vec::new();
    // Number of open elements from the one on that is left out.
    let mut left_out: Option<usize> = None;
    let mut decisive = String::new();
    loop {
        let event = reader.read_event().ok()?;
        let (tag, is_empty) = match &event {
            Event::Start(tag) => (tag, false),
            Event::Empty(tag) => (tag, true),
            Event::End(_) => {
                if left_out == Some(open.len()) {
                    left_out = None;
                }
                open.pop()?;
                continue;
            }
            Event::Eof => return open.is_empty().then_some(decisive),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
            other => {
                if left_out.is_none() {
                    decisive.push_str(other);
                    decisive.push('\n');
                }
                continue;
            }
        };
        open.push(tag.local_name().as_ref().to_owned());
        if open.len() > MAX_DEPTH {
            return None;
        }
        let is_free = free.iter().any(|path| is_at(&open, path));
        if left_out.is_none() && is_free {
            left_out = Some(open.len());
        }
        if left_out.is_none() {
            decisive.push_str(&open.join("/"));
            decisive.push_str(tag.attributes_raw());
            decisive.push('\n');
        }
        if is_empty {
            if left_out == Some(open.len()) {
                left_out = None;
            }
            open.pop();
        }
    }
}

/// True if the innermost of the open elements has the place `path`.
fn is_at(open: &[String], path: &str) -> bool {
    let (anywhere, path) = match path.strip_prefix("*/") {
        Some(name) => (true, name),
        None => (false, path),
    };
    let names: Vec<&str> = path.split('/').collect();
    let fits = anywhere || names.len() == open.len();
    fits && names.len() <= open.len()
        && open[open.len() - names.len()..]
            .iter()
            .zip(names)
            .all(|(element, name)| crate::toolchains::names::is_named(element, name))
}
