use super::*;

fn faults(of: Error) -> Vec<(String, String)> {
    match of {
        Error::Invalid(faults) => faults.into_iter().map(|f| (f.path, f.message)).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_fault_is_reported_with_its_path() {
    let mut body = Object::parse(
        br#"{"a": 5, "b/c": {"d": "x", "e": 1}, "twice": 1, "twice": 2, "list": [1, "x"]}"#,
    )
    .unwrap();
    let a = body.required("a", |v| v.text(1..=3));
    let b = body.required("b/c", |v| v.object(|o| o.required("d", |v| v.whole(1..=2))));
    let missing = body.required("missing", |v| v.text(1..=3));
    let twice = body.optional("twice", |v| v.whole(0..=9));
    let list = body.optional("list", |v| v.list(0..=9, |v| v.whole(0..=9)));
    assert_eq!((a, b, missing, list), (None, None, None, None));
    let paths: Vec<String> = faults(body.finish(twice).unwrap_err())
        .into_iter()
        .map(|f| f.0)
        .collect();
    assert_eq!(
        paths,
        ["/a", "/b~1c/d", "/b~1c/e", "/list/1", "/missing", "/twice"]
    );
}

#[test]
fn what_a_refusal_says_is_bounded_whatever_was_sent() {
    let name = "k".repeat(1_000);
    let again = r#""a":1,"#.repeat(20_000);
    let unknown: String = (0..20_000).map(|n| format!(r#""{n}":1,"#)).collect();
    let pairs: String = (0..9_000).map(|n| format!(r#""{n}":1,"{n}":1,"#)).collect();
    let deep = format!(r#"{{"{name}":"#).repeat(MAX_DEPTH - 1);
    let bodies = [
        format!(r#"{{"{name}":{{{again}"b":1}}}}"#),
        format!(r#"{{{unknown}"b":1}}"#),
        format!(r#"{{{pairs}"b":1}}"#),
        format!(r#"{deep}{{{again}"b":1}}{}"#, "}".repeat(MAX_DEPTH - 1)),
    ];
    for body in bodies {
        let object = Object::parse(body.as_bytes()).unwrap();
        let found = faults(object.finish(Some(())).unwrap_err());
        assert!((1..=100).contains(&found.len()), "{}", found.len());
        let short = |(path, message): &(String, String)| {
            path.chars().count() <= 256 && message.chars().count() <= 512
        };
        assert!(found.iter().all(short), "{found:?}");
        let says_more = found.iter().any(|(path, _)| path.is_empty());
        assert_eq!(says_more, found.len() == 100, "{found:?}");
    }
    let long = format!(r#"{{"{}":1}}"#, "k".repeat(1_025));
    let found = faults(Object::parse(long.as_bytes()).unwrap_err());
    assert!(found[0].1.contains("1024 bytes"), "{found:?}");
}

#[test]
fn more_values_than_a_body_may_have_are_refused_wherever_they_are() {
    let many = |value: &str, times: usize| vec![value; times].join(",");
    // The object, the list, and what is in it.
    let whole = format!(r#"{{"a":[{}]}}"#, many("0", MAX_VALUES - 2));
    assert!(Object::parse(whole.as_bytes()).is_ok());
    let half = MAX_VALUES / 2;
    for too_many in [
        format!(r#"{{"a":[{}]}}"#, many("0", MAX_VALUES - 1)),
        format!(r#"{{"a":[{}]}}"#, many("[0]", half)),
        format!(r#"{{"a":[{}]}}"#, many(r#"{"":0}"#, half)),
        format!("{{{}}}", many(r#""":0"#, MAX_VALUES)),
    ] {
        let found = faults(Object::parse(too_many.as_bytes()).unwrap_err());
        assert!(found[0].1.contains("32768 values"), "{found:?}");
    }
}

#[test]
fn what_is_no_object_is_refused_whole() {
    let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
    let cases: [&[u8]; 7] = [
        b"",
        b"[]",
        b"null",
        b"{\"a\":1} x",
        b"{\"a\":\xff}",
        b"{a:1}",
        deep.as_bytes(),
    ];
    for bad in cases {
        assert_eq!(
            faults(Object::parse(bad).unwrap_err())[0].0,
            "",
            "{}",
            String::from_utf8_lossy(bad)
        );
    }
    let body = Object::parse(b"{\"a\":{\"a\":{}}}").unwrap();
    assert_eq!(faults(body.finish(Some(())).unwrap_err())[0].0, "/a");
}
