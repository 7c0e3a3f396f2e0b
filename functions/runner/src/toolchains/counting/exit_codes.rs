//! Exit codes that an output mentions: behind a wrapper a runner's own code is known from its words alone.

use std::sync::LazyLock;

use regex::Regex;

/// Most codes that are noted.
const MAX_CODES: usize = 64;

/// `make: *** [Makefile:2: test] Error 5`, `failed with exit code 5`, `py: exit 5 (0.2 seconds)`,
/// `exited (5)`, `npm error code 5`.
#[expect(
    clippy::expect_used,
    reason = "the expression is a constant, and tests use it"
)]
static MENTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?:\bError|\b[Ee]xit(?:ed)?|\b[Cc]ode|\b[Ss]tatus)(?: with)?(?: code)?:? \(?(\d{1,3})\b",
    )
    .expect("an expression")
});

/// The codes that were mentioned.
#[derive(Debug, Default)]
pub(super) struct ExitCodes(Vec<i32>);

impl ExitCodes {
    pub(super) fn line(&mut self, text: &str) {
        // The search for a digit is quick, and most lines of words have none.
        if !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return;
        }
        for captures in MENTION.captures_iter(text) {
            let code = captures[1].parse().ok();
            if let Some(code) = code.filter(|code| !self.0.contains(code))
                && self.0.len() < MAX_CODES
            {
                self.0.push(code);
            }
        }
    }

    /// These codes, and those of wrappers where the output mentions one of these. A wrapper's own code is
    /// 1 or 2, or what it was given.
    pub(super) fn with_wrappers(&self, codes: Vec<i32>) -> Vec<i32> {
        let is_mentioned = codes.iter().any(|code| self.0.contains(code));
        let wrappers: &[i32] = if is_mentioned { &[1, 2] } else { &[] };
        codes.into_iter().chain(wrappers.iter().copied()).collect()
    }
}
