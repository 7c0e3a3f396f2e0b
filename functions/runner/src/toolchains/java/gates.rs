//! Files that decide what commands of Maven and Gradle do.

use std::sync::LazyLock;

use regex::RegexSet;

use crate::toolchains::gates::{Gate, Parts};

pub(super) static ALL: [Gate; 4] = [
    Gate::Anywhere(&[
        ".mvn/",
        "mvnw",
        "gradlew",
        "gradle-wrapper.properties",
        "gradle-wrapper.jar",
        "maven-wrapper.properties",
        "maven-wrapper.jar",
        "gradle.properties",
        "local.properties",
        "buildSrc/",
        "build-logic/",
        "junit-platform.properties",
        // Listeners and extensions that a launcher finds by themselves.
        "META-INF/services/org.junit*",
        "META-INF/services/org.testng*",
        "META-INF/services/org.spockframework*",
        "SpockConfig.groovy",
        ".java-version",
        ".sdkmanrc",
        ".jvmopts",
    ]),
    Gate::Named(&["testng.xml", "surefire.properties", "*.gradle.lockfile"]),
    Gate::Partly(&["pom.xml"], Parts::Xml(&FREE)),
    Gate::Partly(&["*.gradle", "*.gradle.kts"], Parts::Lines(&DEPENDENCIES)),
];

/// Elements of a `pom.xml` for dependencies and for people.
static FREE: [&str; 14] = [
    "project/dependencies",
    "project/dependencyManagement",
    "project/version",
    "project/name",
    "project/description",
    "project/url",
    "project/inceptionYear",
    "project/licenses",
    "project/developers",
    "project/contributors",
    "project/scm",
    "project/issueManagement",
    "project/organization",
    "project/properties/*.version",
];

/// Dependencies by their coordinates, the project's own version, and comments.
static DEPENDENCIES: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        r#"^\w*(?:[iI]mplementation|[aA]pi|[cC]ompileOnly|[rR]untimeOnly|[aA]nnotationProcessor|kapt|ksp)[ (]+(?:platform\()?["'][\w.:$@-]+["']\)*$"#,
        r#"^version *=? *["'][\w.+-]+["']$"#,
        r"^//",
    ])
    .unwrap_or_default()
});
