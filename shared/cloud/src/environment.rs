//! Settings, each read where it is used, so that a function's environment shows what it needs.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where settings come from: the process's environment, or a map in tests.
#[derive(Clone)]
pub struct Environment(Arc<Lookup>);

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment")
    }
}

/// A setting that is missing or wrong: the function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// It must be set.
    #[error("the environment variable {0} is not set")]
    Missing(String),
    /// It does not read.
    #[error("the environment variable {name} is not valid: {why}")]
    Invalid {
        /// Its name.
        name: String,
        /// What is wrong with it; never its value, which may be a secret.
        why: String,
    },
}

impl Environment {
    /// The process's own.
    #[must_use]
    pub fn of_process() -> Environment {
        Environment::new(|name| std::env::var(name).ok())
    }

    /// Any other.
    #[must_use]
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Environment {
        Environment(Arc::new(lookup))
    }

    /// The value of a variable; an empty one counts as unset.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// The value of a variable that must be set.
    ///
    /// # Errors
    /// [`SetupError::Missing`].
    pub fn required(&self, name: &str) -> Result<String, SetupError> {
        self.get(name)
            .ok_or_else(|| SetupError::Missing(name.to_owned()))
    }

    /// A value of a type, or a default where it is unset.
    ///
    /// # Errors
    /// [`SetupError::Invalid`] if it does not read.
    pub fn parsed<T>(&self, name: &str, default: T) -> Result<T, SetupError>
    where
        T: FromStr,
        T::Err: Display,
    {
        let Some(text) = self.get(name) else {
            return Ok(default);
        };
        text.parse().map_err(|e: T::Err| SetupError::Invalid {
            name: name.to_owned(),
            why: e.to_string(),
        })
    }

    /// True for `1` and `true`.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name).as_deref(), Some("1" | "true"))
    }

    /// The parts of a comma-separated list.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<String> {
        let text = self.get(name).unwrap_or_default();
        text.split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    }
}
