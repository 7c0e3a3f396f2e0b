//! Order among commands: a command of `contracts` or `tests` may need commands of `setup` and
//! `contracts.commands` by their names.

use std::collections::{BTreeMap, BTreeSet};

use super::types::{Command, Plan};

/// Checks that every need names a command of `setup` or `contracts.commands`, and that none needs itself.
pub(super) fn check(plan: &Plan) -> Result<(), String> {
    if let Some(at) = plan
        .setup
        .iter()
        .position(|one| one.needs().next().is_some())
    {
        return Err(format!(
            "setup[{at}].needs: commands of setup run in their order and need nothing: remove it"
        ));
    }
    let contracts = &plan.contracts.commands;
    let names: BTreeSet<&str> = plan
        .setup
        .iter()
        .chain(contracts)
        .map(Command::name)
        .collect();
    for (list, commands) in [("contracts.commands", contracts), ("tests", &plan.tests)] {
        for (at, command) in commands.iter().enumerate() {
            if let Some(need) = command.needs().find(|need| !names.contains(need)) {
                return Err(format!(
                    "{list}[{at}].needs: {need:?} is the name of no command of setup or contracts.commands"
                ));
            }
        }
    }
    let order = ordered(contracts);
    match contracts
        .iter()
        .find(|one| !order.iter().any(|other| std::ptr::eq(*one, *other)))
    {
        None => Ok(()),
        Some(command) => Err(format!(
            "contracts.commands: {:?} needs itself, by its own needs or those of others: remove one of \
             them",
            command.name()
        )),
    }
}

/// The commands so that each comes after those that it needs, and else as written. Those that need
/// themselves are left out.
pub(crate) fn ordered(commands: &[Command]) -> Vec<&Command> {
    let mut waiting: BTreeMap<&str, usize> = BTreeMap::new();
    for command in commands {
        *waiting.entry(command.name()).or_default() += 1;
    }
    let mut order = Vec::with_capacity(commands.len());
    let mut left: Vec<&Command> = commands.iter().collect();
    loop {
        let is_ready = |command: &&Command| {
            command
                .needs()
                .all(|need| waiting.get(need).is_none_or(|count| *count == 0))
        };
        let Some(at) = left.iter().position(is_ready) else {
            return order;
        };
        let command = left.remove(at);
        if let Some(count) = waiting.get_mut(command.name()) {
            *count = count.saturating_sub(1);
        }
        order.push(command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Plan, String> {
        Plan::parse(text.as_bytes())
    }

    #[test]
    fn what_is_needed_comes_first_and_the_rest_as_written() {
        let text = "contracts: {commands: [{name: c, run: x, needs: [b]}, {name: a, run: x}, {name: b, run: x}]}";
        let plan = parsed(text).unwrap();
        let names: Vec<&str> = ordered(&plan.contracts.commands)
            .into_iter()
            .map(Command::name)
            .collect();
        assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn a_need_that_is_unknown_or_circular_is_a_fault_with_its_place() {
        for (text, place) in [
            ("tests: [{run: x, needs: [lint]}]", "tests[0].needs"),
            (
                "tests: [{name: a, run: x}, {run: x, needs: [a]}]",
                "tests[1].needs",
            ),
            ("setup: [{name: a, run: x, needs: [b]}]", "setup[0].needs"),
            (
                "contracts: {commands: [{name: a, run: x, needs: [a]}]}",
                "\"a\" needs itself",
            ),
            (
                "contracts: {commands: [{name: a, run: x, needs: [b]}, {name: b, run: x, needs: [a]}]}",
                "\"a\" needs itself",
            ),
        ] {
            let why = parsed(text).unwrap_err();
            assert!(why.contains(place), "{text}: {why}");
        }
        let good = "setup: [{name: deps, run: x}]\ncontracts: {commands: [{name: lint, run: x}]}\n\
                    tests: [{run: x, needs: [deps, lint]}]";
        assert!(parsed(good).is_ok());
    }
}
