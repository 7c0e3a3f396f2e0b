//! From a command with gaps to one for `sh -c`.
//!
//! Values never become part of the command: each is assigned, single-quoted, to a shell variable in
//! a line before it, and a gap becomes an expansion with the quoting of its context. So the shell
//! parses only the template's text as code, even if this reader of shell quotes is wrong; reading
//! them makes the expansion one word.

use super::Variable;
use super::gaps::{Part, check_names, parts};

/// A command whose gaps are expansions.
#[derive(Debug)]
pub(super) struct Script {
    text: String,
    /// The variables in it, by their place among the template's.
    uses: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// How far a shell's reader has come.
struct Reader {
    quotes: Quotes,
    in_comment: bool,
    is_escaped: bool,
    /// Behind a `$` that counts.
    is_dollar: bool,
    /// Where the quotes that count are no longer known: a command in double quotes.
    is_lost: bool,
    begins_word: bool,
}

impl Reader {
    fn read(&mut self, c: char) {
        let was_escaped = std::mem::take(&mut self.is_escaped);
        let was_dollar = std::mem::take(&mut self.is_dollar);
        let begins_word = std::mem::replace(
            &mut self.begins_word,
            c.is_whitespace() || ";|&()".contains(c),
        );
        if self.in_comment {
            self.in_comment = c != '\n';
            return;
        }
        if was_escaped {
            return;
        }
        match (self.quotes, c) {
            (Quotes::None | Quotes::Double, '\\') => self.is_escaped = true,
            (Quotes::None | Quotes::Double, '$') => self.is_dollar = true,
            (Quotes::None, '\'') => self.quotes = Quotes::Single,
            (Quotes::None, '"') => self.quotes = Quotes::Double,
            (Quotes::Single, '\'') | (Quotes::Double, '"') => self.quotes = Quotes::None,
            (Quotes::Double, '`') => self.is_lost = true,
            (Quotes::Double, '(') => self.is_lost |= was_dollar,
            (Quotes::None, '#') => self.in_comment = begins_word,
            _ => {}
        }
    }

    /// The expansion of a variable at this place.
    fn expansion(&mut self, of: &str) -> Result<String, &'static str> {
        if self.is_lost {
            return Err("follows a command in double quotes: assign that to a variable first");
        }
        if self.is_escaped {
            return Err("follows a backslash");
        }
        if self.is_dollar {
            return Err("follows a $");
        }
        self.begins_word = false;
        Ok(match self.quotes {
            Quotes::None => format!("\"${{{of}}}\""),
            Quotes::Double => format!("${{{of}}}"),
            Quotes::Single => format!("'\"${{{of}}}\"'"),
        })
    }
}

/// Reads a command; the error is a sentence that names the fault of its gaps.
pub(super) fn script(command: &str, variables: &[Variable]) -> Result<Script, String> {
    check_names(command, variables)?;
    let mut reader = Reader {
        quotes: Quotes::None,
        in_comment: false,
        is_escaped: false,
        is_dollar: false,
        is_lost: false,
        begins_word: true,
    };
    let (mut text, mut uses) = (String::new(), Vec::new());
    for part in parts(command) {
        match part {
            Part::Text(plain) => {
                plain.chars().for_each(|c| reader.read(c));
                text.push_str(plain);
            }
            Part::Gap(name) => {
                let known = variables.iter().position(|v| v.name == name);
                let at = known.ok_or_else(|| {
                    format!(
                        "contains {{{{{name}}}}}, which is not a declared \
                     variable"
                    )
                })?;
                let expansion = reader.expansion(&shell_name(at));
                text.push_str(&expansion.map_err(|why| format!("has {{{{{name}}}}} that {why}"))?);
                uses.push(at);
            }
        }
    }
    // A here-document takes quotes for text.
    if !uses.is_empty() && command.contains("<<") {
        return Err("must not have both {{…}} and <<: use printf instead".to_owned());
    }
    uses.sort_unstable();
    uses.dedup();
    Ok(Script { text, uses })
}

impl Script {
    /// The command for `sh -c`, with the value of each of the template's variables.
    pub(super) fn with(&self, values: &[String]) -> String {
        let value = |at: usize| values.get(at).map_or("", String::as_str);
        let assigned =
            (self.uses.iter()).map(|at| format!("{}={}\n", shell_name(*at), quoted(value(*at))));
        assigned.chain([self.text.clone()]).collect()
    }
}

fn shell_name(at: usize) -> String {
    format!("awo_{}", at + 1)
}

/// One word for a POSIX shell, whatever is in it.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}
