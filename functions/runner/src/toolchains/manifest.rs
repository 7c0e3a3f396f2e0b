//! Files whose commands are those of the base, whatever an agent makes of them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::c::makefile;
use super::node::SCRIPTS;

/// A manifest of the base, as far as it must not change.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Manifest {
    /// Scripts of a `package.json` at the base.
    PackageJson {
        path: String,
        scripts: Vec<(String, Option<Value>)>,
    },
    /// A makefile at the base, and the targets that the plan runs.
    Makefile {
        path: String,
        text: String,
        targets: Vec<String>,
    },
}

impl Manifest {
    /// A package's scripts that decide what its commands do.
    pub(crate) fn package_json(path: &str, package: &Value) -> Manifest {
        let scripts = SCRIPTS.map(|name| {
            let script = package.pointer("/scripts").and_then(|all| all.get(name));
            (name.to_owned(), script.cloned())
        });
        Manifest::PackageJson {
            path: path.to_owned(),
            scripts: scripts.to_vec(),
        }
    }

    /// Path of the file in the checkout.
    pub(crate) fn path(&self) -> &str {
        match self {
            Manifest::PackageJson { path, .. } | Manifest::Makefile { path, .. } => path,
        }
    }

    /// The same file in a folder of the checkout.
    pub(crate) fn within(mut self, folder: &str) -> Manifest {
        let (Manifest::PackageJson { path, .. } | Manifest::Makefile { path, .. }) = &mut self;
        *path = super::units::in_folder(folder, path);
        self
    }

    /// True if the base's text names `word`.
    pub(crate) fn names(&self, word: &str) -> bool {
        match self {
            Manifest::PackageJson { scripts, .. } => scripts.iter().any(|(_, script)| {
                let text = script.as_ref().and_then(Value::as_str);
                text.is_some_and(|text| has_word(text, word))
            }),
            Manifest::Makefile { text, .. } => has_word(text, word),
        }
    }

    /// The text that `now`, the commit's, must be replaced by; none if its commands are those of
    /// the base. Without the file there is nothing to run, and that fails by itself.
    pub(crate) fn put_back(&self, now: &str) -> Option<String> {
        match self {
            Manifest::PackageJson { scripts, .. } => put_scripts_back(scripts, now),
            Manifest::Makefile { text, targets, .. } => targets
                .iter()
                .any(|target| makefile::rules(text, target) != makefile::rules(now, target))
                .then(|| text.clone()),
        }
    }
}

/// True if `word` stands in `text`, and is no part of a longer name.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(at) = rest.find(word).filter(|_| !word.is_empty()) {
        let start = rest[..at]
            .chars()
            .next_back()
            .or(before.filter(|_| at == 0));
        let end = rest[at + word.len()..].chars().next();
        if !start.is_some_and(is_part) && !end.is_some_and(is_part) {
            return true;
        }
        before = word.chars().next_back();
        rest = &rest[at + word.len()..];
    }
    false
}

/// The texts of a list in TOML.
pub(crate) fn strings(list: Option<&toml::Value>) -> Vec<String> {
    let list = list.and_then(toml::Value::as_array);
    let texts = list.into_iter().flatten().filter_map(toml::Value::as_str);
    texts.map(str::to_owned).collect()
}

fn put_scripts_back(base: &[(String, Option<Value>)], now: &str) -> Option<String> {
    let mut package: Value = serde_json::from_str(now).ok()?;
    let object = package.as_object_mut()?;
    let scripts = object
        .entry("scripts")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    if !scripts.is_object() {
        *scripts = Value::Object(serde_json::Map::new());
    }
    let scripts = scripts.as_object_mut()?;
    let mut changed = false;
    for (name, script) in base {
        if scripts.get(name) != script.as_ref() {
            changed = true;
            match script {
                Some(script) => scripts.insert(name.clone(), script.clone()),
                None => scripts.remove(name),
            };
        }
    }
    changed.then(|| package.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_the_base_are_put_back_and_the_rest_is_the_agents() {
        let base = Manifest::PackageJson {
            path: "package.json".to_owned(),
            scripts: vec![
                ("pretest".to_owned(), None),
                ("test".to_owned(), Some(Value::from("node --test"))),
            ],
        };
        let now = r#"{"name":"x","scripts":{"test":"true","pretest":"x","build":"y"}}"#;
        let back: Value = serde_json::from_str(&base.put_back(now).unwrap()).unwrap();
        assert_eq!(
            back,
            serde_json::json!({"name": "x", "scripts": {"test": "node --test", "build": "y"}})
        );
        let same = r#"{"name":"other","scripts":{"test":"node --test"}}"#;
        assert_eq!(base.put_back(same), None);
        assert!(base.put_back(r#"{"scripts":5}"#).is_some());
    }

    #[test]
    fn a_makefile_whose_targets_are_the_same_is_left_alone() {
        let base = Manifest::Makefile {
            path: "Makefile".to_owned(),
            text: "test:\n\ta\n".to_owned(),
            targets: vec!["test".to_owned(), "lint".to_owned()],
        };
        assert_eq!(base.put_back("X = 1\ntest:\n\ta\n"), None);
        assert!(base.put_back("test:\n\ttrue\n").is_some());
        assert!(base.put_back("test:\n\ta\n\ntest:\n\ttrue\n").is_some());
    }

    #[test]
    fn a_word_is_found_only_as_a_whole() {
        assert!(has_word("ruff check . && mypy", "mypy"));
        assert!(has_word("./node_modules/.bin/jest x jest", "jest"));
        for text in ["mypyc", "xmypy", "my-mypy.x", ""] {
            assert!(!has_word(text, "mypy"), "{text}");
        }
    }
}
