//! A detected plan as a `verify.yaml`.

use std::fmt::Write;

use super::FrozenPlan;
use super::types::Command;

impl FrozenPlan {
    /// The plan's commands in the form of `verify.yaml`; installation is its set-up.
    pub(crate) fn to_yaml(&self) -> String {
        let mut text = "version: 1\n".to_owned();
        list(&mut text, "", "setup", &self.installs());
        if !self.plan.contracts.commands.is_empty() {
            text.push_str("contracts:\n");
            list(&mut text, "  ", "commands", &self.plan.contracts.commands);
        }
        list(&mut text, "", "tests", &self.plan.tests);
        text
    }
}

fn list(text: &mut String, indent: &str, key: &str, commands: &[Command]) {
    if commands.is_empty() {
        return;
    }
    let _ = writeln!(text, "{indent}{key}:");
    for command in commands {
        let (name, run) = (command.name(), command.run.as_str());
        let needs: Vec<String> = command.needs().map(yaml).collect();
        let needs = if needs.is_empty() {
            String::new()
        } else {
            format!(", needs: [{}]", needs.join(", "))
        };
        let report = command.report.as_ref().map_or(String::new(), |report| {
            format!(
                ", report: {{format: junit, path: {}}}",
                yaml(report.path.as_str())
            )
        });
        let _ = writeln!(
            text,
            "{indent}  - {{name: {}, run: {}, timeoutMs: {}{needs}{report}}}",
            yaml(name),
            yaml(run),
            command.limit().as_millis()
        );
    }
}

/// A text in double quotes: JSON's are YAML's, too.
fn yaml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::plan::Plan;

    #[test]
    fn a_detected_plan_is_the_same_when_it_is_read_as_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let package = r#"{"scripts": {"test": "node --test", "lint": "eslint ."}, "dependencies": {"a": "1"}}"#;
        fs::create_dir(dir.path().join("we b")).unwrap();
        fs::write(dir.path().join("we b/package.json"), package).unwrap();
        let detected = FrozenPlan::of(dir.path()).unwrap();
        let plan = Plan::parse(detected.to_yaml().as_bytes()).unwrap();
        let named = |commands: &[Command]| -> Vec<(String, String)> {
            let commands = commands.iter();
            commands
                .map(|one| (one.name().to_owned(), one.run.as_str().to_owned()))
                .collect()
        };
        assert_eq!(named(&plan.setup), named(&detected.installs()));
        assert_eq!(
            named(&plan.contracts.commands),
            named(&detected.plan.contracts.commands)
        );
        assert_eq!(named(&plan.tests), named(&detected.plan.tests));
        assert_eq!(plan.tests[0].run.as_str(), "cd 'we b' && npm test");
        assert_eq!(plan.tests[0].limit(), detected.plan.tests[0].limit());
        assert_eq!(plan.tests[0].needs().collect::<Vec<_>>(), ["we b: install"]);
    }
}
