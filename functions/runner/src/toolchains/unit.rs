//! A unit: a part of a repository that has its own manifest, with the commands that a maintainer would run
//! for it.

use serde::{Deserialize, Serialize};

use super::manifest::Manifest;

/// A command of a unit, to be run in its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) run: String,
}

impl Step {
    /// A command whose text is its name.
    pub(crate) fn plain(run: &str) -> Step {
        Step::new(run, run)
    }

    pub(crate) fn new(name: &str, run: &str) -> Step {
        Step {
            name: name.to_owned(),
            run: run.to_owned(),
        }
    }
}

/// The test for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Probe {
    /// In PATH.
    Command,
    /// In PATH, or among the programs that the install brings (`node_modules/.bin`).
    Installed,
    /// A module that `python3` can import.
    PythonModule,
}

/// A program without which a command of a unit cannot run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) probe: Probe,
    /// Folder of its unit.
    pub(crate) folder: String,
    /// Remedy beyond the toolchain's own, with the version that the repository names.
    pub(crate) remedy: Option<String>,
}

impl Program {
    pub(crate) fn command(name: &str) -> Program {
        Program {
            name: name.to_owned(),
            probe: Probe::Command,
            folder: String::new(),
            remedy: None,
        }
    }
}

/// Units below that a unit's own commands include.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cover {
    Nothing,
    /// All of the same language, but for these folders of it.
    Below {
        except: Vec<String>,
    },
    /// The folders that match one of these patterns.
    Members(Vec<String>),
}

/// A part of a repository with its own manifest.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    /// File that revealed it.
    pub(crate) by: String,
    /// Manager, with its version and the file that names it.
    pub(crate) manager: String,
    /// Installs from the lock, and never rewrites it.
    pub(crate) install: Option<String>,
    /// Folder in the checkout that the installation fills, if it does.
    pub(crate) fills: Option<&'static str>,
    pub(crate) lint: Vec<Step>,
    /// Builds without which the tests do not run.
    pub(crate) build: Vec<Step>,
    pub(crate) test: Vec<Step>,
    /// Pattern of the JUnit reports that its tests write.
    pub(crate) report: Option<&'static str>,
    /// True if the tests count only where nothing else in the folder has any.
    pub(crate) is_weak: bool,
    pub(crate) covers: Cover,
    pub(crate) programs: Vec<Program>,
    /// Files whose commands are held against the base.
    pub(crate) manifests: Vec<Manifest>,
}

impl Unit {
    /// A unit without commands.
    pub(crate) fn new(by: &str, manager: &str) -> Unit {
        Unit {
            by: by.to_owned(),
            manager: manager.to_owned(),
            install: None,
            fills: None,
            lint: Vec::new(),
            build: Vec::new(),
            test: Vec::new(),
            report: None,
            is_weak: false,
            covers: Cover::Nothing,
            programs: Vec::new(),
            manifests: Vec::new(),
        }
    }

    /// True if anything is run for it.
    pub(crate) fn has_commands(&self) -> bool {
        !self.test.is_empty() || !self.lint.is_empty() || !self.build.is_empty()
    }

    pub(crate) fn needs(mut self, program: &str) -> Unit {
        self.programs.push(Program::command(program));
        self
    }

    pub(crate) fn tested_by(mut self, name: &str, run: &str) -> Unit {
        self.test.push(Step::new(name, run));
        self
    }
}

/// A word for `sh`.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+/@=:,~".contains(c);
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('~') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// True for a program's bare name.
pub(crate) fn is_bare(name: &str) -> bool {
    let bare = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    !name.is_empty() && name.chars().all(bare) && !name.starts_with(['-', '.'])
}

/// The program that a line runs, where that is plain to see: a bare name, and nothing that the shell
/// would understand as more than words.
pub(crate) fn plain_program(run: &str) -> Option<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._-+/:,@=".contains(c);
    let name = run.trim().split(' ').next()?;
    (run.chars().all(plain) && is_bare(name)).then_some(name)
}
