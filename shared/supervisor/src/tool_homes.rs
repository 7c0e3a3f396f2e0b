//! Places in which version managers keep their tool chains. Their programs in the PATH find nothing without
//! them where a command has a home of its own. They name places, never secrets.

use std::ffi::OsString;
use std::path::PathBuf;

/// Variables, each with the usual folder below the user's home.
const TOOL_HOMES: [(&str, Option<&str>); 4] = [
    ("JAVA_HOME", None),
    ("PYENV_ROOT", Some(".pyenv")),
    ("RBENV_ROOT", Some(".rbenv")),
    ("RUSTUP_HOME", Some(".rustup")),
];

/// Variables that lead to the tool chains of this process's user: as they are set, or to the usual
/// folder if that is there.
#[must_use]
pub fn tool_homes() -> Vec<(&'static str, OsString)> {
    tool_homes_of(|name| std::env::var_os(name))
}

fn tool_homes_of(variable: impl Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let home = variable("HOME").map(PathBuf::from);
    let place = |name: &str, usual: Option<&str>| {
        let usual = || Some(home.as_ref()?.join(usual?)).filter(|place| place.is_dir());
        variable(name).or_else(|| usual().map(PathBuf::into_os_string))
    };
    TOOL_HOMES
        .into_iter()
        .filter_map(|(name, usual)| Some((name, place(name, usual)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_chain_in_its_usual_place_is_found_where_no_variable_leads_to_it() {
        let home = std::env::temp_dir().join(format!("awo-tool-homes-{}", std::process::id()));
        std::fs::create_dir_all(home.join(".rustup")).unwrap();
        let set = |name: &str| match name {
            "HOME" => Some(home.clone().into_os_string()),
            "PYENV_ROOT" => Some("/elsewhere".into()),
            "RBENV_ROOT" => Some("".into()),
            _ => None,
        };
        let homes = tool_homes_of(set);
        std::fs::remove_dir_all(&home).unwrap();
        let expected: [(&str, OsString); 2] = [
            ("PYENV_ROOT", "/elsewhere".into()),
            ("RUSTUP_HOME", home.join(".rustup").into()),
        ];
        assert_eq!(homes, expected);
    }
}
