//! XML from hostile sources, element by element: only XML's five entities and single characters are
//! resolved, declarations of others are skipped, and depth is limited. A truncated document is an
//! error.

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Most elements that are open at once.
const MAX_DEPTH: usize = 64;
/// Most attributes of an element that are read.
const MAX_ATTRIBUTES: usize = 64;

/// What comes next.
pub(in crate::verify) enum Node<'a> {
    /// An element begins; its end comes, too, if it is empty.
    Start(Element<'a>),
    /// The innermost open element ends.
    End,
    Text(String),
    /// The end of a whole document.
    Eof,
}

/// The beginning of an element.
pub(in crate::verify) struct Element<'a>(BytesStart<'a>);

/// A document that is read.
pub(in crate::verify) struct Xml<'a> {
    reader: Reader<&'a [u8]>,
    depth: usize,
    seen_root: bool,
}

impl<'a> Xml<'a> {
    pub(in crate::verify) fn new(text: &'a str) -> Xml<'a> {
        let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
        reader.config_mut().expand_empty_elements = true;
        Xml {
            reader,
            depth: 0,
            seen_root: false,
        }
    }

    /// How many elements are open.
    pub(in crate::verify) fn depth(&self) -> usize {
        self.depth
    }

    /// # Errors
    /// What is wrong with the document, as the rest of a sentence.
    pub(in crate::verify) fn next(&mut self) -> Result<Node<'a>, String> {
        // Every turn takes something off the text, which is bounded.
        loop {
            let event = self.reader.read_event();
            let event = event.map_err(|why| format!("is not well-formed XML: {why}"))?;
            return Ok(match event {
                Event::Start(start) => {
                    self.depth += 1;
                    self.seen_root = true;
                    if self.depth > MAX_DEPTH {
                        return Err(format!("has elements more than {MAX_DEPTH} deep"));
                    }
                    Node::Start(Element(start))
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    Node::End
                }
                Event::Text(text) => Node::Text(text.into_inner().into_owned()),
                Event::CData(text) => Node::Text(text.into_inner().into_owned()),
                Event::GeneralRef(name) => {
                    let character = name.resolve_char_ref().ok().flatten();
                    let known = character.map(String::from);
                    let known =
                        known.or_else(|| resolve_predefined_entity(&name).map(str::to_owned));
                    Node::Text(known.unwrap_or_else(|| format!("&{};", &*name)))
                }
                Event::Eof if self.depth > 0 => return Err("ends in the middle".to_owned()),
                Event::Eof if !self.seen_root => return Err("is not XML".to_owned()),
                Event::Eof => Node::Eof,
                // An empty element comes as its beginning and its end.
                Event::Empty(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::DocType(_) => continue,
            });
        }
    }
}

impl Element<'_> {
    /// Its name without a prefix.
    pub(in crate::verify) fn is(&self, name: &str) -> bool {
        self.0.local_name().as_ref() == name
    }
}

/// An attribute of an element; empty if it has none of that name.
pub(in crate::verify) fn attribute(element: &Element<'_>, name: &str) -> String {
    let mut attributes = element.0.attributes();
    // The search for doubles takes time by the square of their number.
    let attributes = attributes.with_checks(false).take(MAX_ATTRIBUTES).flatten();
    let found = { attributes }.find(|attribute| attribute.key.as_ref() == name);
    found.map_or(String::new(), |found| {
        let value = found.normalized_value(XmlVersion::Implicit1_0);
        // What refers to other entities stays as it was written.
        value.map_or_else(|_| found.value.to_string(), |value| value.into_owned())
    })
}
