//! The encoding of an XML document: its byte order mark, else the form of its first character, else its
//! declaration, else UTF-8.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes in which a declaration stands, if there is one.
const MAX_DECLARATION_BYTES: usize = 200;
/// Longest name of an encoding in a message, in characters.
const MAX_LABEL_CHARS: usize = 40;

/// An encoding that a document declares and nobody knows; the rest of a sentence that begins with its path.
#[derive(Debug, thiserror::Error)]
#[error("has an unknown encoding: {0}")]
pub(in crate::verify) struct UnknownEncoding(String);

/// The document as text; what is no character of its encoding is replaced.
///
/// # Errors
/// When the encoding that it declares is not known.
pub(in crate::verify) fn xml_text(bytes: &[u8]) -> Result<Cow<'_, str>, UnknownEncoding> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return Ok(encoding.decode_without_bom_handling(&bytes[mark..]).0);
    }
    let encoding = match bytes {
        [b'<', 0, ..] => UTF_16LE,
        [0, b'<', ..] => UTF_16BE,
        _ => declared(bytes)?,
    };
    Ok(encoding.decode_without_bom_handling(bytes).0)
}

fn declared(bytes: &[u8]) -> Result<&'static Encoding, UnknownEncoding> {
    let start = &bytes[..bytes.len().min(MAX_DECLARATION_BYTES)];
    let start = String::from_utf8_lossy(start);
    let declaration = start
        .trim_start()
        .strip_prefix("<?xml")
        .and_then(|rest| rest.split_once("?>"));
    let label = declaration.and_then(|(declaration, _)| {
        let (_, value) = declaration.split_once("encoding")?;
        let value = value.trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        value[1..].split(quote).next()
    });
    let Some(label) = label else {
        return Ok(UTF_8);
    };
    let encoding = Encoding::for_label(label.as_bytes());
    let encoding =
        encoding.ok_or_else(|| UnknownEncoding(label.chars().take(MAX_LABEL_CHARS).collect()))?;
    // Its declaration could not be read if it were so.
    let is_wide = encoding == UTF_16LE || encoding == UTF_16BE;
    Ok(if is_wide { UTF_8 } else { encoding })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_in_the_encoding_that_it_has() {
        let document =
            |label: &str| format!("<?xml version='1.0' encoding='{label}'?><a>größe €</a>");
        let wide = |text: &str, is_little: bool| -> Vec<u8> {
            let units = text.encode_utf16();
            let bytes = units.map(|unit| {
                if is_little {
                    unit.to_le_bytes()
                } else {
                    unit.to_be_bytes()
                }
            });
            bytes.flatten().collect()
        };
        let windows = encoding_rs::WINDOWS_1252
            .encode(&document("windows-1252"))
            .0
            .into_owned();
        let latin = document("ISO-8859-15").replace('€', "\u{a4}");
        let latin = latin
            .chars()
            .map(|c| u8::try_from(u32::from(c)).unwrap())
            .collect();
        for bytes in [
            document("UTF-8").into_bytes(),
            format!("\u{feff}{}", document("ISO-8859-1")).into_bytes(),
            windows,
            latin,
            wide(&document("UTF-16"), true),
            wide(&document("utf-16"), false),
            wide(&format!("\u{feff}{}", document("UTF-16")), true),
            wide(&format!("\u{feff}{}", document("UTF-16")), false),
            document("UTF-16").into_bytes(),
            "<a>größe €</a>".as_bytes().to_vec(),
        ] {
            let text = xml_text(&bytes).unwrap();
            assert!(text.ends_with("<a>größe €</a>"), "{text}");
        }
        let latin = b"<?xml version=\"1.0\" encoding = \"ISO-8859-1\"?><a>gr\xf6\xdfe</a>";
        assert!(xml_text(latin).unwrap().ends_with("<a>größe</a>"));
        assert!(xml_text(b"<a>\xf6</a>").unwrap().contains('\u{fffd}'));
    }

    #[test]
    fn an_encoding_that_nobody_knows_is_named() {
        let why = xml_text(b"<?xml version='1.0' encoding='x-none'?><a/>")
            .unwrap_err()
            .to_string();
        assert_eq!(why, "has an unknown encoding: x-none");
    }
}
