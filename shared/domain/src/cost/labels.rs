//! Cost labels: keys of `metadata` whose values divide an organization's costs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::work_order::MAX_METADATA_KEY;

/// Most cost labels of an organization.
pub const MAX_LABELS: usize = 5;

/// A cost label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostLabel {
    /// The key of `metadata`.
    pub name: String,
    /// True if a work order must have it.
    pub required: bool,
}

/// The cost labels of an organization, in the order of their declaration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CostLabels(Vec<CostLabel>);

impl CostLabels {
    /// A declaration.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn declare(names: &[String], required: &[String]) -> Result<CostLabels, String> {
        if names.len() > MAX_LABELS {
            return Err(format!("there can be at most {MAX_LABELS} cost labels"));
        }
        for (at, name) in names.iter().enumerate() {
            let length = name.chars().count();
            let fits = (1..=MAX_METADATA_KEY).contains(&length);
            if !fits || name.chars().any(char::is_control) {
                return Err(format!(
                    "a cost label must have 1 to {MAX_METADATA_KEY} printable characters"
                ));
            }
            if names[..at].contains(name) {
                return Err(format!("the cost label {name:?} is given twice"));
            }
        }
        if let Some(name) = required.iter().find(|name| !names.contains(name)) {
            return Err(format!("{name:?} is required but is not a cost label"));
        }
        let label = |name: &String| CostLabel {
            name: name.clone(),
            required: required.contains(name),
        };
        Ok(CostLabels(names.iter().map(label).collect()))
    }

    /// The labels.
    #[must_use]
    pub fn all(&self) -> &[CostLabel] {
        &self.0
    }

    /// A fault for each label among the metadata of a follow-up, whose labels are those of its thread.
    pub fn faults_of_fixed<'a>(&self, metadata: impl Iterator<Item = &'a str>) -> Vec<Fault> {
        let named = metadata.filter(|name| self.0.iter().any(|label| label.name == *name));
        let faults = named.map(|name| Fault {
            path: format!("/metadata/{}", pointer(name)),
            message: "is a cost label, and those are the thread's: omit it".to_owned(),
        });
        faults.collect()
    }

    /// The values of a work order: those of its metadata, else those of its parent. An empty value
    /// counts as none.
    ///
    /// # Errors
    /// A fault for each label that is required and has no value.
    pub fn values(
        &self,
        metadata: &BTreeMap<String, String>,
        parent: Option<&BTreeMap<String, String>>,
    ) -> Result<BTreeMap<String, String>, Vec<Fault>> {
        let (mut values, mut faults) = (BTreeMap::new(), Vec::new());
        for label in &self.0 {
            let inherited = || parent.and_then(|values| values.get(&label.name));
            let own = metadata.get(&label.name).filter(|value| !value.is_empty());
            match own.or_else(inherited) {
                Some(value) => {
                    values.insert(label.name.clone(), value.clone());
                }
                None if label.required => faults.push(Fault {
                    path: format!("/metadata/{}", pointer(&label.name)),
                    message: "is missing: the organization requires this cost label".to_owned(),
                }),
                None => {}
            }
        }
        if faults.is_empty() {
            Ok(values)
        } else {
            Err(faults)
        }
    }
}

/// A name as a part of a JSON pointer.
fn pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(|name| (*name).to_owned()).collect()
    }

    fn map(of: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        of.iter().map(owned).collect()
    }

    #[test]
    fn a_declaration_has_up_to_five_labels_each_once_and_requires_only_its_own() {
        assert!(CostLabels::declare(&[], &[]).is_ok());
        let five = names(&["a", "b", "c", "d", "e"]);
        assert_eq!(CostLabels::declare(&five, &five).unwrap().all().len(), 5);
        for (labels, required) in [
            (names(&["a", "b", "c", "d", "e", "f"]), vec![]),
            (names(&["a", "a"]), vec![]),
            (names(&["a"]), names(&["b"])),
            (names(&[""]), vec![]),
            (names(&["a\n"]), vec![]),
            (vec!["x".repeat(MAX_METADATA_KEY + 1)], vec![]),
        ] {
            assert!(
                CostLabels::declare(&labels, &required).is_err(),
                "{labels:?}"
            );
        }
    }

    #[test]
    fn a_value_is_the_work_orders_own_or_its_parents_and_only_of_what_is_declared() {
        let labels = CostLabels::declare(&names(&["team", "a/b~c"]), &names(&["team"])).unwrap();
        let own = map(&[("team", "red"), ("other", "x")]);
        assert_eq!(labels.values(&own, None).unwrap(), map(&[("team", "red")]));
        let parent = map(&[("team", "blue"), ("a/b~c", "1"), ("old", "y")]);
        let both = map(&[("team", "red"), ("a/b~c", "1")]);
        assert_eq!(labels.values(&own, Some(&parent)).unwrap(), both);
        let empty = map(&[("team", "")]);
        let faults = labels.values(&empty, None).unwrap_err();
        assert_eq!(faults[0].path, "/metadata/team");
        let odd = CostLabels::declare(&names(&["a/b~c"]), &names(&["a/b~c"])).unwrap();
        let faults = odd.values(&empty, None).unwrap_err();
        assert_eq!(faults[0].path, "/metadata/a~1b~0c");
    }
}
