//! Checks that read hostile data: each runs in a separate process.

use awo_domain::verification::Check;

use super::Verification;
use crate::inspection::{self, Answer, Fault, Files, Inspector, Paths, Task};
use crate::stop::StopOutcome;

impl<'a> Verification<'a> {
    /// Inspects something hostile, in the remaining time.
    pub(super) async fn inspect(&self, task: Task) -> Result<Result<Answer, Fault>, StopOutcome> {
        self.inspector()
            .one(Files::default(), task, self.deadline)
            .await
    }

    /// Checks that inspect something hostile, each by its name.
    pub(super) async fn inspected(
        &self,
        named: Vec<(String, Task)>,
    ) -> Result<Vec<Check>, StopOutcome> {
        let (names, tasks): (Vec<String>, Vec<Task>) = named.into_iter().unzip();
        let only = self.subject.only.as_ref();
        let files = Files {
            changed: self.subject.changed.clone().map(Paths),
            only: only.map(|only| Paths(only.iter().cloned().collect())),
        };
        let answers = self
            .inspector()
            .inspect(files, tasks, self.deadline)
            .await?;
        let named = names.iter().zip(answers);
        Ok(named
            .map(|(name, answer)| match answer {
                Ok(Answer::Check(check)) => check,
                Ok(_) => no_answer().check(name),
                Err(fault) => fault.check(name),
            })
            .collect())
    }

    fn inspector(&self) -> Inspector<'a> {
        let granted = self.limits.memory_mb.unwrap_or(inspection::MEMORY_MB);
        Inspector {
            processes: self.processes,
            dir: &self.subject.dir,
            home: &self.subject.home,
            tmp: &self.subject.tmp,
            request: self.subject.request.clone(),
            memory_mb: granted.min(inspection::MEMORY_MB),
        }
    }
}

/// An answer to another question.
pub(super) fn no_answer() -> Fault {
    Fault::Broken("the inspection answered something else".to_owned())
}
