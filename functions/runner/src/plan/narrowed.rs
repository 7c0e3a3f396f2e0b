//! The part of a plan that judges certain checks: of the base only what fails is of interest.

use std::collections::BTreeSet;

use super::types::{Command, Plan};

/// Beginning of the names of checks of the set-up.
pub(crate) const SET_UP: &str = "setup: ";
/// Check of a coverage report, which test commands write.
const COVERAGE: &str = "coverage";

impl Plan {
    /// The same plan with the commands of these checks alone, those that they need, and the set-up.
    /// `is_of` tells whether a check is a command's own, or a finding of it.
    pub(crate) fn narrowed(&self, checks: &[&str], is_of: impl Fn(&str, &str) -> bool) -> Plan {
        let is_judged = |name: &str| checks.iter().any(|check| is_of(check, name));
        let mut plan = self.clone();
        // It runs before the first command, whichever that is.
        if checks.iter().any(|check| check.starts_with(SET_UP)) {
            return plan;
        }
        // A coverage report is of all tests.
        if !checks.contains(&COVERAGE) {
            plan.tests.retain(|command| is_judged(command.name()));
        }
        plan.blackbox
            .retain(|entry| is_judged(entry.command().name()));
        let mut needed: BTreeSet<String> = needs(&plan.tests);
        let contracts = &self.contracts.commands;
        let judged = contracts.iter().filter(|one| is_judged(one.name()));
        needed.extend(judged.map(|command| command.name().to_owned()));
        // Each round adds what those of the round before need: there are no more rounds than commands.
        for _ in 0..contracts.len() {
            let needed_contracts = contracts.iter().filter(|one| needed.contains(one.name()));
            let more = needs(needed_contracts);
            needed.extend(more);
        }
        (plan.contracts.commands).retain(|command| needed.contains(command.name()));
        plan
    }
}

fn needs<'a>(commands: impl IntoIterator<Item = &'a Command>) -> BTreeSet<String> {
    let names = commands.into_iter().flat_map(Command::needs);
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::types::Blackbox;
    use super::*;

    #[test]
    fn a_plan_is_narrowed_to_failing_commands_and_what_they_need() {
        let text = "setup: [{name: deps, run: x}]\n\
                    contracts: {commands: [{name: a, run: x}, {name: b, run: x, needs: [a]}, {name: c, run: x}]}\n\
                    tests: [{name: unit, run: x, needs: [b]}, {name: slow, run: x}]\n\
                    blackbox: [{name: help, run: x}]\n\
                    sanity: {coverage: {format: lcov, path: l, minimum: 0.5}}\n";
        let plan = Plan::parse(text.as_bytes()).unwrap();
        let narrowed = |checks: &[&str]| {
            let plan = plan.narrowed(checks, |check, command| check == command);
            let names = |commands: &[Command]| {
                let names = commands.iter().map(|one| one.name().to_owned());
                names.collect::<Vec<_>>().join(" ")
            };
            let blackbox: Vec<Command> = plan.blackbox.iter().map(Blackbox::command).collect();
            [
                names(&plan.setup),
                names(&plan.contracts.commands),
                names(&plan.tests),
                names(&blackbox),
            ]
        };
        assert_eq!(narrowed(&["unit"]), ["deps", "a b", "unit", ""]);
        assert_eq!(narrowed(&["c", "help"]), ["deps", "c", "", "help"]);
        assert_eq!(narrowed(&["coverage"]), ["deps", "a b", "unit slow", ""]);
    }
}
