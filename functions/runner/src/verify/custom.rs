//! Custom plugins: an organization's command, as an argument vector, in the checkout. Exit 0 is
//! passed.

use std::ffi::OsString;
use std::time::Duration;

use awo_domain::plugin::Plugin;
use awo_domain::verification::{Check, CheckTests, Evidence, Status};

use super::{Verification, Words, error};
use crate::stop::StopOutcome;

/// Names a file with the task.
const PROMPT_VARIABLE: &str = "AWO_PROMPT";

impl Verification<'_> {
    pub(super) async fn custom(&mut self, plugin: &Plugin) -> Result<Vec<Check>, StopOutcome> {
        let mut checks = Vec::new();
        if !self.set_up(&mut checks).await? {
            checks.push(error(&plugin.name, "not run: the set-up did not pass"));
            return Ok(checks);
        }
        let command = plugin.command.iter().flatten();
        let argv: Vec<OsString> = command.map(OsString::from).collect();
        let prompt = self.subject.prompt.as_ref();
        let env: Vec<(&str, OsString)> = prompt
            .map(|file| (PROMPT_VARIABLE, file.clone().into_os_string()))
            .into_iter()
            .collect();
        let words = Words {
            name: &plugin.name,
            argv: &argv,
            env: &env,
            limit: Duration::from_millis(plugin.timeout_ms),
            heard: None,
        };
        checks.push(match self.process(&words).await? {
            Ok(finished) => {
                let mut check = self.judged(words.name, words.limit, &finished);
                check.tests = Some(CheckTests::UNCOUNTED);
                if check.status == Status::Passed {
                    self.evidence = self.evidence.max(Evidence::ExitCode);
                }
                check
            }
            Err(check) => check,
        });
        Ok(checks)
    }
}
