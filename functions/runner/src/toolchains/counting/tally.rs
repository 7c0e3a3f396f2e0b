//! The tests of one runner in one part of an output.

use super::pattern::{Match, Role};
use super::values::Values;
use super::{Counts, MAX_NAMES};

/// Longest name of a test that is stored, in bytes.
const MAX_NAME_BYTES: usize = 1_024;
/// Words in the place of a name that are none.
const NO_NAMES: [&str; 3] = ["Test suite failed to run", "Console", "Deprecation Warning"];

/// A summary of several lines.
#[derive(Debug, Default)]
struct Block {
    values: Values,
    is_certain: bool,
}

/// Everything that one runner has printed so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The sum of all summaries.
    summaries: Option<Counts>,
    block: Option<Block>,
    /// Single tests.
    single: Counts,
    is_anchored: bool,
    in_session: bool,
    /// The last summary of the session.
    last: Option<Counts>,
    names: Vec<String>,
    /// The names before the session.
    earlier_names: usize,
    /// The line of the name that may go on in the next.
    name_line: u64,
    in_list: bool,
    /// True if the runner has no doubt that there was no test to run.
    says_none: bool,
}

/// The tests of one runner.
pub(super) struct Sum {
    pub(super) counts: Counts,
    pub(super) names: Vec<String>,
    /// True if it has no doubt that there was no test to run.
    pub(super) says_none: bool,
}

impl Tally {
    /// Takes a line; false if it means nothing where it stands.
    pub(super) fn apply(&mut self, found: &Match<'_>, number: u64) -> bool {
        let values = found.values;
        match found.role {
            Role::Whole => self.add(values.counts()),
            Role::None => {
                self.add(Counts::default());
                self.says_none = true;
            }
            Role::Latest => {
                let last = self.last.filter(|_| self.in_session);
                self.replace(last, values.counts());
            }
            Role::Progress => {
                let counts = values.counts();
                let extent = |counts: Counts| (counts.passed + counts.failed, counts.skipped);
                // Several browsers report theirs in turn.
                if self.last.is_none_or(|last| extent(last) <= extent(counts)) {
                    self.replace(self.last, counts);
                }
            }
            Role::Session => self.start_session(),
            Role::First | Role::Open | Role::Sure | Role::Part | Role::Last => {
                return self.block_line(found.role, values);
            }
            Role::Discard => return self.block.take().is_some(),
            Role::PackagePassed => self.add(Counts {
                passed: 1,
                packages: true,
                ..Counts::default()
            }),
            Role::PackageFailed => self.add(Counts {
                failed: 1,
                packages: true,
                ..Counts::default()
            }),
            Role::WasSkipped => {
                let Some(summaries) = self.summaries.as_mut().filter(|all| all.passed > 0) else {
                    return false;
                };
                summaries.passed -= 1;
                summaries.skipped += 1;
            }
            Role::Passed => self.single.passed += 1,
            Role::Failed => {
                self.single.failed += 1;
                self.name(found.name);
            }
            Role::Skipped => self.single.skipped += 1,
            Role::Dots => {
                self.single.add(values.counts());
                self.is_anchored = true;
            }
            Role::Anchor => self.is_anchored = true,
            Role::Name => self.name(found.name),
            Role::NameFirst => {
                self.name(found.name);
                self.name_line = number;
            }
            Role::NameMore => return self.name_goes_on(found.name, number),
            Role::Names => self.names.truncate(self.earlier_names),
            Role::ListStart => self.in_list = true,
            Role::ListEnd => self.in_list = false,
            Role::Listed if self.in_list => self.name(found.name),
            Role::Listed => return false,
        }
        true
    }

    fn add(&mut self, counts: Counts) {
        self.close();
        self.summaries.get_or_insert_default().add(counts);
    }

    /// Adds a summary in place of an earlier one.
    fn replace(&mut self, earlier: Option<Counts>, counts: Counts) {
        let all = self.summaries.get_or_insert_default();
        if let Some(earlier) = earlier {
            all.passed = all.passed.saturating_sub(earlier.passed);
            all.failed = all.failed.saturating_sub(earlier.failed);
            all.skipped = all.skipped.saturating_sub(earlier.skipped);
        }
        all.add(counts);
        self.last = Some(counts);
    }

    fn start_session(&mut self) {
        self.in_session = true;
        self.last = None;
        self.earlier_names = self.names.len();
    }

    fn block_line(&mut self, role: Role, values: Values) -> bool {
        if role == Role::First {
            self.close();
        }
        let opens = matches!(role, Role::First | Role::Open | Role::Sure);
        if opens && self.block.is_none() {
            self.block = Some(Block::default());
        }
        let Some(block) = &mut self.block else {
            return false;
        };
        block.values.merge(values);
        block.is_certain |= matches!(role, Role::First | Role::Sure | Role::Last);
        if role == Role::Last {
            self.close();
        }
        true
    }

    fn close(&mut self) {
        if let Some(block) = self.block.take().filter(|block| block.is_certain) {
            let counts = block.values.counts();
            self.summaries.get_or_insert_default().add(counts);
        }
    }

    fn name(&mut self, name: Option<&str>) {
        let Some(name) = name.filter(|name| !NO_NAMES.contains(name)) else {
            return;
        };
        // Names of a session may be replaced by those of its end.
        if self.names.len() < 2 * MAX_NAMES && name.len() <= MAX_NAME_BYTES {
            self.names.push(name.to_owned());
        }
    }

    fn name_goes_on(&mut self, more: Option<&str>, number: u64) -> bool {
        let follows = self.name_line > 0 && self.name_line + 1 == number;
        let (Some(name), Some(more)) = (self.names.last_mut().filter(|_| follows), more) else {
            return false;
        };
        if name.len() + more.len() <= MAX_NAME_BYTES {
            name.push(' ');
            name.push_str(more);
        }
        self.name_line = number;
        true
    }

    /// The tests, if the runner has closed. Single tests have names and are preferred, where there are as
    /// many of them.
    pub(super) fn finish(mut self) -> Option<Sum> {
        self.close();
        let single = Some(self.single).filter(|_| self.is_anchored || self.summaries.is_some());
        let single = single.filter(|single| single.total() > 0);
        let counts = match (self.summaries, single) {
            (Some(all), Some(single)) if single.total() >= all.total() => single,
            (all, single) => all.or(single)?,
        };
        Some(Sum {
            counts,
            names: self.names,
            says_none: self.says_none,
        })
    }
}
