//! Cells of CSV (RFC 4180), as spreadsheets read them.

/// First characters by which a spreadsheet takes a cell for a formula: OWASP's list, and the forms of the same
/// signs that it reads alike.
const FORMULA: [char; 14] = [
    '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}', '\u{fe66}', '\u{fe62}',
    '\u{fe63}', '\u{fe6b}', '\u{2212}', '|',
];
/// First characters that a spreadsheet skips or cuts at.
const SKIPPED: [char; 4] = ['\t', '\r', '\n', '\0'];

/// A cell that a spreadsheet takes for text: where it could be a formula, an apostrophe goes first.
#[must_use]
pub fn cell(text: &str) -> String {
    let first = text.trim_start().chars().next();
    let is_formula = first.is_some_and(|first| FORMULA.contains(&first));
    let escape = is_formula || text.starts_with(SKIPPED);
    let text = format!("{}{text}", if escape { "'" } else { "" });
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_one_cell_and_never_a_formula() {
        for (given, written) in [
            ("claude-sonnet-4", "claude-sonnet-4"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("=1+1", "'=1+1"),
            ("@SUM(A1,A2)", "\"'@SUM(A1,A2)\""),
            ("+x", "'+x"),
            ("-x", "'-x"),
            ("\u{ff1d}1+1", "'\u{ff1d}1+1"),
            ("\u{ff0b}x", "'\u{ff0b}x"),
            ("\u{ff0d}x", "'\u{ff0d}x"),
            ("\u{ff20}x", "'\u{ff20}x"),
            ("\n=1+1", "\"'\n=1+1\""),
            ("\nx", "\"'\nx\""),
            ("\tx", "'\tx"),
            (" =1+1", "' =1+1"),
            ("", ""),
        ] {
            assert_eq!(cell(given), written, "{given:?}");
        }
    }
}
