//! Images and services.

use super::*;

fn digest(digit: &str) -> String {
    digit.repeat(64)
}

fn pinned(name: &str) -> String {
    format!("{name}@sha256:{}", digest("a"))
}

fn service(name: &str, image: &str, port: u16) -> EnvironmentService {
    EnvironmentService {
        name: name.to_owned(),
        image: image.to_owned(),
        port,
        variables: BTreeMap::new(),
        ready: None,
    }
}

#[test]
fn an_image_is_pinned_by_its_digest_and_that_of_a_service_need_not_be() {
    let long = "a".repeat(MAX_IMAGE_NAME);
    for good in [
        pinned("ghcr.io/acme/runner"),
        pinned("localhost:5000/a_b/c-d:1.2"),
        pinned(&long),
    ] {
        assert_eq!(check_image(&good), Ok(good.clone()));
        assert_eq!(check_service_image(&good), Ok(good.clone()));
    }
    for good in ["postgres", "postgres:17-alpine", "public.ecr.aws/x/y:1"] {
        assert!(check_image(good).is_err());
        assert_eq!(check_service_image(good).as_deref(), Ok(good));
    }
    for bad in [
        String::new(),
        "/a".to_owned(),
        "a//b".to_owned(),
        "-a".to_owned(),
        "a b".to_owned(),
        "a:1;rm".to_owned(),
        format!("{long}a"),
        pinned(""),
        pinned("a b"),
        pinned(&format!("{long}a")),
        format!("a@sha256:{}", digest("A")),
        format!("a@sha256:{}", &digest("a")[1..]),
        format!("a@sha512:{}", digest("a")),
        format!("{}@sha256:{}", pinned("a"), digest("a")),
    ] {
        assert!(check_image(&bad).is_err(), "{bad}");
        assert!(check_service_image(&bad).is_err(), "{bad}");
    }
}

#[test]
fn a_services_name_is_a_part_of_a_containers_name() {
    let long = "a".repeat(MAX_SERVICE_NAME);
    for good in ["db", "redis-7", &long] {
        assert_eq!(check_service_name(good).as_deref(), Ok(good));
    }
    for bad in ["", "DB", "a_b", "a b", "a/b", "ä", &format!("{long}a")] {
        assert!(check_service_name(bad).is_err(), "{bad}");
    }
}

#[test]
fn what_a_deployment_cannot_give_is_refused_and_not_ignored() {
    let content = EnvironmentContent {
        image: Some(pinned("acme/runner")),
        services: vec![service("db", "postgres:17", 5_432)],
        ..EnvironmentContent::default()
    };
    assert_eq!(paths(&content, &LOCAL), ["/image", "/services"]);
    assert_eq!(paths(&content, &cloud(&["*"])), [""; 0]);
    assert_eq!(paths(&content, &cloud(&[])), ["/image"]);
    let local = content.faults(&LOCAL);
    assert!(local[0].message.contains("container engine"), "{local:?}");
}

#[test]
fn egress_is_limited_where_nothing_reaches_around_the_limit() {
    let content = EnvironmentContent {
        egress: Egress::All(vec!["example.com".to_owned()]),
        ..EnvironmentContent::default()
    };
    assert_eq!(paths(&content, &LOCAL), [""; 0]);
    assert_eq!(paths(&content, &cloud(&[])), [""; 0]);
    let old_kernel = Deployment {
        no_egress: true,
        ..LOCAL
    };
    assert_eq!(paths(&content, &old_kernel), ["/egress"]);
    let with_services = EnvironmentContent {
        services: vec![service("db", "postgres:17", 5_432)],
        ..content
    };
    assert_eq!(paths(&with_services, &cloud(&[])), ["/egress"]);
}

#[test]
fn an_operator_says_whose_images_run_the_runner_and_what_is_fetched_with_its_permissions() {
    let own = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/awo-environments/";
    let private = format!("{own}db:1");
    let content = |image: &str, service_image: &str| EnvironmentContent {
        image: Some(pinned(image)),
        services: vec![service("db", service_image, 5_432)],
        ..EnvironmentContent::default()
    };
    let allowed = cloud(&[own, "ghcr.io/acme/"]);
    for (image, service_image, wanted) in [
        ("ghcr.io/acme/node", "postgres:17", &[][..]),
        (&*format!("{own}node"), &*private, &[]),
        ("ghcr.io/acme-evil/node", "postgres:17", &["/image"]),
        ("evil/ghcr.io/acme/node", "postgres:17", &["/image"]),
        (
            "ghcr.io/acme/node",
            "123456789012.dkr.ecr.eu-central-1.amazonaws.com/other:1",
            &["/services/0/image"],
        ),
        (
            "ghcr.io/acme/node",
            "123456789012.DKR.ECR-fips.us-east-1.amazonaws.com/other:1",
            &["/services/0/image"],
        ),
        (
            "ghcr.io/acme/node",
            "123456789012.dkr-ecr.us-east-1.on.aws/other:1",
            &["/services/0/image"],
        ),
    ] {
        let content = content(image, service_image);
        assert_eq!(paths(&content, &allowed), wanted, "{image} {service_image}");
    }
    let refused = content("elsewhere/x", "postgres").faults(&allowed);
    assert!(refused[0].message.contains("ghcr.io/acme/"), "{refused:?}");
}

#[test]
fn services_share_a_loopback_and_no_caches() {
    let content = EnvironmentContent {
        services: vec![
            service("db", "postgres:17", 5_432),
            service("cache", "redis:7", 6_379),
            service("db", "redis:7", 5_432),
        ],
        caches: vec!["node_modules".to_owned()],
        ..EnvironmentContent::default()
    };
    let wanted = ["/caches", "/services/2/name", "/services/2/port"];
    assert_eq!(paths(&content, &cloud(&[])), wanted);
}

#[test]
fn an_image_of_its_own_has_no_caches_since_its_task_mounts_nothing() {
    let digest = "a".repeat(64);
    let mut content = EnvironmentContent {
        image: Some(format!("ghcr.io/acme/x@sha256:{digest}")),
        caches: vec!["node_modules".to_owned()],
        ..EnvironmentContent::default()
    };
    assert_eq!(paths(&content, &cloud(&["ghcr.io/acme/"])), ["/caches"]);
    content.caches.clear();
    assert!(paths(&content, &cloud(&["ghcr.io/acme/"])).is_empty());
}

#[test]
fn containers_are_known_by_what_they_are_and_not_by_the_environment_that_has_them() {
    let plain = EnvironmentContent {
        variables: BTreeMap::from([("A".to_owned(), "1".to_owned())]),
        size: Some(Size::Large),
        ..EnvironmentContent::default()
    };
    assert_eq!(Containers::of(&plain), None);
    let id = |content: &EnvironmentContent| Containers::of(content).unwrap().id();
    let with = |service: EnvironmentService| EnvironmentContent {
        services: vec![service],
        ..plain.clone()
    };
    let first = with(service("db", "postgres:17", 5_432));
    let described = EnvironmentContent {
        description: "x".to_owned(),
        variables: BTreeMap::new(),
        ..first.clone()
    };
    assert_eq!(id(&first), id(&described));
    let mut others = vec![
        with(service("db", "postgres:16", 5_432)),
        with(service("db", "postgres:17", 5_433)),
        with(service("database", "postgres:17", 5_432)),
    ];
    let of_another_size = EnvironmentContent {
        size: None,
        ..first.clone()
    };
    let with_an_image = EnvironmentContent {
        image: Some(pinned("a")),
        ..first.clone()
    };
    others.extend([of_another_size, with_an_image]);
    for other in &others {
        assert_ne!(id(&first), id(other), "{other:?}");
    }
    let text = id(&first).to_string();
    let digits = text.strip_prefix("env_").unwrap();
    assert!(digits.len() == 26 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
}
