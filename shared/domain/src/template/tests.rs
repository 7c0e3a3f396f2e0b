use std::collections::BTreeMap;
use std::process::Command;

use proptest::prelude::*;

use super::*;

fn variable(name: &str) -> Variable {
    Variable {
        name: name.to_owned(),
        description: String::new(),
        required: None,
        default: None,
    }
}

fn content(
    repository: &str,
    branch: Option<&str>,
    hooks: &[&str],
    names: &[&str],
) -> TemplateContent {
    TemplateContent {
        name: "n".to_owned(),
        description: String::new(),
        source: TemplateSource {
            kind: SourceKind::Git,
            repository: repository.to_owned(),
            branch: branch.map(str::to_owned),
        },
        variables: names.iter().map(|name| variable(name)).collect(),
        hooks: Hooks {
            post_create: hooks.iter().map(|hook| (*hook).to_owned()).collect(),
        },
        tags: Vec::new(),
        environment: None,
    }
}

fn given(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

fn paths(faults: &[Fault]) -> Vec<&str> {
    faults.iter().map(|fault| fault.path.as_str()).collect()
}

const REPOSITORY: &str = "https://git.example/{{owner}}/a.git";

#[test]
fn an_id_is_a_slug() {
    for good in ["a", "0", "node-npm", "a-", &"x".repeat(63)] {
        assert!(TemplateId::parse(good).is_ok(), "{good}");
    }
    for bad in [
        "",
        "-a",
        "A",
        "a_b",
        "a b",
        "ü",
        "a\n",
        "a/b",
        &"x".repeat(64),
    ] {
        assert!(TemplateId::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn values_and_defaults_fill_the_source_and_the_hooks() {
    let mut template = content(
        REPOSITORY,
        Some("{{branch}}"),
        &["echo {{branch}} {{owner}}"],
        &["owner", "branch"],
    );
    template.variables[0].required = Some(true);
    template.variables[1].default = Some("main".to_owned());
    assert_eq!(template.faults(false), []);
    let resolved = template.resolve(&given(&[("owner", "me")]), false).unwrap();
    let source = resolved.source;
    assert_eq!(source.repository.as_str(), "https://git.example/me/a.git");
    assert_eq!(source.branch.unwrap().as_str(), "main");
    assert_eq!(
        resolved.hooks.post_create,
        ["awo_1='me'\nawo_2='main'\necho \"${awo_2}\" \"${awo_1}\""]
    );
    let named = given(&[("owner", "me"), ("branch", "")]);
    let resolved = template.resolve(&named, false).unwrap();
    assert_eq!(resolved.source.branch, None, "an empty branch is no branch");
}

#[test]
fn what_is_missing_and_what_is_unknown_are_named() {
    let mut template = content(REPOSITORY, None, &[], &["owner"]);
    template.variables[0].required = Some(true);
    let faults = template
        .resolve(&given(&[("a/b", "x")]), false)
        .unwrap_err();
    assert_eq!(paths(&faults), ["/variables/a~1b", "/variables/owner"]);
    assert!(faults[0].message.contains("owner"), "{faults:?}");
    let empty = template
        .resolve(&given(&[("owner", "")]), false)
        .unwrap_err();
    assert_eq!(paths(&empty), ["/variables/owner"]);
    template.variables[0].default = Some("me".to_owned());
    assert!(template.resolve(&given(&[]), false).is_ok());
    let long = "x".repeat(MAX_VALUE + 1);
    assert!(
        template
            .resolve(&given(&[("owner", &long)]), false)
            .is_err()
    );
    assert!(
        template
            .resolve(&given(&[("owner", "a\0b")]), false)
            .is_err()
    );
    let hostile = given(&[("owner", "me@evil.example?x#")]);
    let faults = template.resolve(&hostile, false).unwrap_err();
    assert_eq!(paths(&faults), ["/variables"]);
}

#[test]
fn bad_templates_are_refused_with_the_place() {
    let good = |hook: &str| content(REPOSITORY, None, &[hook], &["owner"]);
    let of = |template: TemplateContent| template.faults(false);
    let cases = [
        (of(good("echo {{nobody}}")), "/hooks/postCreate/0"),
        (of(good("echo {{ owner }}")), "/hooks/postCreate/0"),
        (of(good("echo \\{{owner}}")), "/hooks/postCreate/0"),
        (of(good("echo ${{owner}}")), "/hooks/postCreate/0"),
        (of(good("cat <<E\n{{owner}}\nE")), "/hooks/postCreate/0"),
        (
            of(good("echo \"$(id \"{{owner}}\")\"")),
            "/hooks/postCreate/0",
        ),
        (
            of(content("https://e/{{x}}", None, &[], &[])),
            "/source/repository",
        ),
        (
            of(content("https://e/{{x", None, &[], &[])),
            "/source/repository",
        ),
        (
            of(content("http://e/{{x}}", None, &[], &["x"])),
            "/source/repository",
        ),
        (
            of(content("file:///{{x}}", None, &[], &["x"])),
            "/source/repository",
        ),
        (
            of(content("https://u@e/{{x}}", None, &[], &["x"])),
            "/source/repository",
        ),
        (
            of(content("https://e/a", Some("-{{x}}"), &[], &["x"])),
            "/source/branch",
        ),
        (
            of(content("https://e/a", Some("{{y}}"), &[], &["x"])),
            "/source/branch",
        ),
        (
            of(content("https://e/a", None, &[], &["x", "y", "x"])),
            "/variables/2/name",
        ),
        (of(good(&"x".repeat(MAX_TEMPLATE_BYTES))), ""),
    ];
    for (i, (faults, path)) in cases.iter().enumerate() {
        assert_eq!(paths(faults), [*path], "{i} {faults:?}");
    }
    for fine in [
        "docker inspect -f '{{.State.Status}}' {{owner}}",
        "echo \"${HOME}/{{owner}}\" # it's {{owner}}'s",
        "echo $(id {{owner}}) {{{owner}}} \\${{owner}}",
    ] {
        assert_eq!(of(good(fine)), [], "{fine}");
    }
    for fine in [
        "{{x}}",
        "https://{{x}}/a",
        "https://e:{{x}}/a",
        "https://e/{{x}}{{x}}",
    ] {
        assert_eq!(
            content(fine, Some("{{x}}"), &[], &["x"]).faults(false),
            [],
            "{fine}"
        );
    }
}

#[test]
fn the_built_in_templates_are_good() {
    let all = built_in();
    assert_eq!(all.len(), built_in::COUNT);
    for template in all {
        let content = &template.content;
        assert_eq!(content.faults(false), [], "{}", template.id.as_str());
        let values = content
            .variables
            .iter()
            .filter(|v| v.required == Some(true));
        let values = values.map(|v| match v.name.as_str() {
            "repository" if content.source.repository == "{{repository}}" => {
                (v.name.clone(), "https://git.example/a.git".to_owned())
            }
            _ => (v.name.clone(), "some".to_owned()),
        });
        let resolved = content.resolve(&values.collect(), false).unwrap();
        assert_eq!(resolved.source.branch, None);
        for hook in resolved.hooks.post_create {
            let parsed = Command::new("sh")
                .args(["-n", "-c", &hook])
                .output()
                .unwrap();
            assert!(parsed.status.success(), "{hook}: {parsed:?}");
        }
    }
}

/// What a shell makes of hooks with this value: each word ends with a byte that no value has.
fn words(hook: &str, value: &str) -> Vec<u8> {
    let template = content("https://git.example/a", None, &[hook], &["first", "v-1"]);
    assert_eq!(template.faults(false), [], "{hook}");
    let resolved = template.resolve(&given(&[("v-1", value)]), false).unwrap();
    let dir = std::env::temp_dir();
    let output = Command::new("sh")
        .args(["-c", &resolved.hooks.post_create[0]])
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "{hook} {value:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{hook} {value:?}: {output:?}");
    output.stdout
}

fn one_word_everywhere(value: &str) {
    let hook = "printf '%s\\0' {{v-1}} a{{v-1}}b \"{{v-1}}\" \"it's {{v-1}}\" '{{v-1}}' \
                'a\"{{v-1}}\"' {{v-1}}{{v-1}} \"${HOME+x}{{v-1}}\" \"\\\"{{v-1}}\" \
                \"$#\" # {{v-1}}\ntrue $(true {{v-1}} '{{v-1}}') `true {{v-1}}` # it's";
    let wanted = [
        format!("{value}\0"),
        format!("a{value}b\0"),
        format!("{value}\0"),
        format!("it's {value}\0"),
        format!("{value}\0"),
        format!("a\"{value}\"\0"),
        format!("{value}{value}\0"),
        format!("x{value}\0"),
        format!("\"{value}\0"),
        "0\0".to_owned(),
    ];
    assert_eq!(
        String::from_utf8(words(hook, value)).unwrap(),
        wanted.concat()
    );
}

#[test]
fn a_hook_sees_hostile_values_as_one_word() {
    let hostile = [
        "",
        "'",
        "\\",
        "\"",
        "\n",
        " ",
        "*",
        "~",
        "-n",
        "$(touch pwned); 'x",
        "`id`",
        "'; exit 3; '",
        "\"; exit 3; \"",
        "\n exit 3 \n",
        "{{v-1}}",
        "{{first}}",
        "a  b\tc\n\n",
        "ü\u{1b}[31m",
        "${awo_2}",
        "\\'",
        "'\\''",
        "#",
    ];
    hostile.into_iter().for_each(one_word_everywhere);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_hook_sees_exactly_the_value_as_one_word(value in "[^\0]{0,40}") {
        one_word_everywhere(&value);
    }
}

proptest! {
    #[test]
    fn a_resolved_repository_is_one_that_may_be_cloned(
        value in "[^\0]{0,20}|[a-z./:@?#%{}\\\\-]{0,20}",
        shape in 0usize..5,
        allow_file: bool,
    ) {
        let shapes = ["{{x}}", "https://e/{{x}}", "https://{{x}}/a", "https://{{x}}", "{{x}}://e/{{x}}"];
        let template = content(shapes[shape], Some("{{x}}"), &[], &["x"]);
        if let Ok(resolved) = template.resolve(&given(&[("x", &value)]), allow_file) {
            let url = resolved.source.repository.as_str();
            prop_assert!(Repository::parse(url, allow_file).is_ok(), "{url}");
            let branch = resolved.source.branch.map(|b| Branch::parse(b.as_str()));
            prop_assert!(branch.is_none_or(|branch| branch.is_ok()));
        }
    }

    #[test]
    fn no_command_is_too_strange_to_be_read(command in "[{}a-c '\"\\\\$#(`<\n]{0,30}") {
        let template = content("https://git.example/a", None, &[&command], &["a", "b"]);
        drop(template.resolve(&given(&[("a", "x")]), false));
        let joined: String = gaps::parts(&command).into_iter().map(|part| match part {
            gaps::Part::Text(text) => text.to_owned(),
            gaps::Part::Gap(name) => format!("{{{{{name}}}}}"),
        }).collect();
        prop_assert_eq!(joined, command);
    }
}
