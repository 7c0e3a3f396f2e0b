//! The threat model names existing tests: those of `tests/rules.md`, each of which has to pass.

use regex::Regex;

use crate::template::root;

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn every_test_of_the_threat_model_is_one_of_the_rules() {
    let (model, rules) = (read("docs/security.md"), read("tests/rules.md"));
    let named = Regex::new(r"`([a-z_]+(?:::[a-z_0-9]+)*::)([a-z_0-9]+|…)`").unwrap();
    let mut names = 0;
    for name in named.captures_iter(&model) {
        let (module, test) = (&name[1], &name[2]);
        // A whole module, or one test.
        let wanted = match test {
            "…" => format!("`{module}"),
            test => format!("`{module}{test}`"),
        };
        assert!(rules.contains(&wanted), "tests/rules.md has no {wanted}");
        names += 1;
    }
    assert!(names > 40, "{names}");
}

#[test]
fn the_front_page_of_security_leads_to_the_threat_model() {
    assert!(read("SECURITY.md").contains("(docs/security.md)"));
    assert!(read("README.md").contains("(docs/security.md)"));
}
