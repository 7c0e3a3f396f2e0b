"""Projects in Java: Maven Surefire with JUnit 4 and 5, Gradle. Both run offline, with Debian's libraries."""

from standard import Toy

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId><artifactId>toy</artifactId><version>1.0.0</version><packaging>jar</packaging>
  <properties>
    <maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>%s</dependencies>
  <build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><version>2.22.3</version></plugin></plugins></build>
</project>
"""
DEPENDENCY = ("<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>"
              "<scope>test</scope></dependency>")
JUNIT4 = DEPENDENCY % ("junit", "junit", "4.x")
JUNIT5 = DEPENDENCY % ("org.junit.jupiter", "junit-jupiter-engine", "5.9.2")
GRADLE = """apply plugin: 'java'
dependencies { testCompile files('/usr/share/java/junit4.jar', '/usr/share/java/hamcrest-core.jar') }
"""
STYLES = {4: ("org.junit.Test", "org.junit.Ignore", "org.junit.Assert.assertEquals"),
          5: ("org.junit.jupiter.api.Test", "org.junit.jupiter.api.Disabled",
              "org.junit.jupiter.api.Assertions.assertEquals")}


def parts(version):
    test, ignore, equals = STYLES[version]

    def text(name, *methods):
        return {f"src/test/java/com/example/{name}Test.java":
                f"package com.example;\n\nimport static {equals};\n\nimport {test};\n\n"
                f"public class {name}Test {{\n{''.join(methods)}}}\n"}

    def method(name, equal, annotation=""):
        return f"    @Test{annotation}\n    public void {name}() {{\n        assertEquals({equal});\n    }}\n"
    return [text("Sums", method("adds", "3, 1 + 2"), method("subtracts", "1, 3 - 2")),
            text("Products", method("multiplies", "5, 2 * 3")),
            text("Quotients", method("divides", "2, 6 / 3", f" @{ignore}")),
            text("Broken", "    @Test\n    public void never() {\n        aMethodThatNobodyHas();\n    }\n")]


MAIN = {"src/main/java/com/example/Toy.java": "package com.example;\n\npublic class Toy {\n}\n"}
THROWS = {"src/test/java/com/example/ErrorTest.java": """package com.example;

import org.junit.Test;

public class ErrorTest {
    @Test
    public void reads() {
        throw new IllegalStateException("no database");
    }
}
"""}


def of_maven():
    made = []
    mvn = "mvn -o -B -s /etc/maven/settings-debian.xml"
    for version, dependency in ((4, JUNIT4), (5, JUNIT5)):
        toy = Toy("java", f"surefire-junit{version}", "dpkg-query -W libsurefire-java", {"pom.xml": POM % dependency} | MAIN, *parts(version))
        run, failed = f"{mvn} test", "ProductsTest.multiplies"
        made += toy.standard(run, failed, f"{mvn} -Dstyle.color=always test", f"{run} -Dtest=NothingIsSoNamed")
        mixed = toy.passing | toy.failing | toy.skipping
        made.append(toy.case("quiet", f"{mvn} -q test", mixed, (2, 1, 1), [failed]))
        made.append(toy.case("quiet-green", f"{mvn} -q test", toy.passing, (2, 0, 0), hidden=["passed"]))
        made.append(toy.case("none-selected-allowed", f"{run} -Dtest=NothingIsSoNamed -DfailIfNoTests=false", toy.passing))
        made.append(toy.case("skip-tests", f"{run} -DskipTests", toy.passing))
        if version == 4:
            made.append(toy.case("error", run, toy.passing | THROWS, (2, 1, 0), ["ErrorTest.reads"]))
            made.append(toy.case("no-dependency", run, toy.passing | {"pom.xml": POM % (
                DEPENDENCY % ("com.example", "a-library-that-nobody-has", "1.0.0"))}))
    return made


def of_gradle():
    toy = Toy("java", "gradle", "dpkg-query -W gradle", {"build.gradle": GRADLE} | MAIN, *parts(4))
    run, failed = "gradle --offline --no-daemon --console=plain test", "com.example.ProductsTest > multiplies"
    # It counts only where a test failed.
    made = toy.standard(run, failed, None, f"{run} --tests 'NothingIsSoNamed'", hidden={
        name: ["passed", "skipped"] for name in ["green", "skipped"]})
    made.append(toy.case("colours", run.replace("plain", "rich"), toy.failing, (0, 1, 0), [failed]))
    verbose = GRADLE + "test { testLogging { events 'passed', 'failed', 'skipped' } }\n"
    made.append(toy.case("events", run, toy.passing | toy.failing | toy.skipping | {"build.gradle": verbose},
                         (2, 1, 1), [failed]))
    return made


def cases():
    return of_maven() + of_gradle()
