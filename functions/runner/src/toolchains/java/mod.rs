//! Java, and what else Maven and Gradle build.

mod gates;
mod runners;

use super::Toolchain;
use super::tree::Folder;
use super::unit::{Cover, Unit};

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Java",
    runners: &runners::ALL,
    manifests: &[
        "pom.xml",
        "settings.gradle",
        "settings.gradle.kts",
        "build.gradle",
        "build.gradle.kts",
    ],
    unit,
    tests_alone: None,
    test_files: &[
        "*Test.java",
        "*Tests.java",
        "*IT.java",
        "*Test.kt",
        "*Tests.kt",
        "*Spec.groovy",
    ],
    gates: &gates::ALL,
    programs: &[
        ("mvn", "install Maven, or commit its wrapper `mvnw`"),
        ("gradle", "install Gradle, or commit its wrapper `gradlew`"),
        (
            "java",
            "install a JDK, and set JAVA_HOME if it is not in PATH",
        ),
    ],
    caches: &[
        ("GRADLE_USER_HOME", ".gradle"),
        ("MAVEN_OPTS=-Dmaven.repo.local=", ".m2/repository"),
    ],
    registry: None,
    example: "mvn -B test",
};

/// Reports of Surefire, and of Gradle's tasks of tests.
const SUREFIRE: &str = "**/target/surefire-reports/TEST-*.xml";
const GRADLE_RESULTS: &str = "**/build/test-results/*/TEST-*.xml";

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    let gradle = [
        "settings.gradle",
        "settings.gradle.kts",
        "build.gradle",
        "build.gradle.kts",
    ];
    let unit = if folder.has("pom.xml") {
        let unit = if folder.has("mvnw") {
            let unit = Unit::new("pom.xml", "maven, by its wrapper mvnw");
            unit.tested_by("mvnw test", "sh ./mvnw -B test")
        } else {
            let unit = Unit::new("pom.xml", "maven").needs("mvn");
            unit.tested_by("mvn test", "mvn -B test")
        };
        Unit {
            report: Some(SUREFIRE),
            ..unit
        }
    } else {
        let by = folder.first(&gradle)?;
        let unit = if folder.has("gradlew") {
            let unit = Unit::new(by, "gradle, by its wrapper gradlew");
            unit.tested_by(
                "gradlew test",
                "sh ./gradlew --no-daemon --console=plain test",
            )
        } else {
            let unit = Unit::new(by, "gradle").needs("gradle");
            unit.tested_by("gradle test", "gradle --no-daemon --console=plain test")
        };
        Unit {
            report: Some(GRADLE_RESULTS),
            ..unit
        }
    };
    // Modules are below their parent, and its build includes them.
    let covers = Cover::Below { except: Vec::new() };
    Some(Unit { covers, ..unit })
}
