//! Changes that redirect nothing, for each toolchain.

use super::Files;

/// Toolchain, files of the base, and changes that leave commands as they are.
pub const FREE: &[(&str, Files, Files)] = &[
    (
        "node",
        &[(
            "package.json",
            r#"{"version": "1.0.0", "scripts": {"test": "mocha"}, "dependencies": {"a": "1"}}"#,
        )],
        &[
            (
                "package.json",
                r#"{"version": "1.1.0", "scripts": {"test": "mocha"}, "dependencies": {"a": "2", "b": "1"}, "main": "x.js"}"#,
            ),
            ("packages/new/package.json", r#"{"scripts": {"test": "x"}}"#),
            ("packages/new/tsconfig.json", "{}"),
            ("package-lock.json", "{}"),
        ],
    ),
    (
        "python",
        &[(
            "pyproject.toml",
            "[project]\nname = \"p\"\nversion = \"1\"\n",
        )],
        &[
            (
                "pyproject.toml",
                "[project]\nname = \"p\"\nversion = \"2\"\ndependencies = [\"a\"]\n[dependency-groups]\ndev = [\"pytest\"]",
            ),
            ("p/logging.py", ""),
            ("p/json/__init__.py", ""),
            ("requirements.txt", "a"),
            ("tests/json/data.json", "{}"),
        ],
    ),
    (
        "rust",
        &[(
            "Cargo.toml",
            "[package]\nname = \"p\"\nversion = \"0.1.0\"\n[dependencies]\na = \"1\"\n",
        )],
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"p\"\nversion = \"0.2.0\"\n[dependencies]\na = \"2\"\nb = \"1\"\n[dev-dependencies]\nc = \"1\"",
            ),
            ("crates/new/Cargo.toml", "[package]\nname = \"new\""),
            ("Cargo.lock", "x"),
        ],
    ),
    (
        "go",
        &[(
            "go.mod",
            "module p\n\ngo 1.22\n\nrequire a.example/b v1.0.0\n",
        )],
        &[
            (
                "go.mod",
                "module p\n\ngo 1.22\n\nrequire (\n\ta.example/b v1.1.0\n\tc.example/d v0.1.0 // indirect\n)",
            ),
            ("go.sum", "x"),
        ],
    ),
    (
        "java",
        &[
            (
                "pom.xml",
                "<project><version>1</version><dependencies/></project>",
            ),
            ("build.gradle.kts", "dependencies {\n}\n"),
        ],
        &[
            (
                "pom.xml",
                "<project>\n  <!-- x -->\n  <version>2</version>\n  <dependencies><dependency>a</dependency></dependencies>\n</project>",
            ),
            (
                "build.gradle.kts",
                "dependencies {\n    testImplementation(\"junit:junit:4.13\")\n}",
            ),
            ("new/pom.xml", "<project/>"),
        ],
    ),
    (
        "ruby",
        &[("Gemfile", "source 'x'\ngem 'a'\n")],
        &[
            (
                "Gemfile",
                "source 'x'\ngem 'a', '~> 2'\ngem \"b\", require: false",
            ),
            ("lib/p/json.rb", ""),
        ],
    ),
    (
        "php",
        &[("composer.json", r#"{"require": {"a/a": "1"}}"#)],
        &[(
            "composer.json",
            r#"{"require": {"a/a": "2"}, "require-dev": {"b/b": "1"}}"#,
        )],
    ),
    (
        "dotnet",
        &[("a.csproj", "<Project><ItemGroup/></Project>")],
        &[
            (
                "a.csproj",
                "<Project><ItemGroup><PackageReference Include='x' Version='1'/></ItemGroup></Project>",
            ),
            ("new/b.csproj", "<Project/>"),
        ],
    ),
    (
        "elixir",
        &[(
            "mix.exs",
            "defp deps do\n  [\n    {:a, \"~> 1.0\"}\n  ]\nend\n",
        )],
        &[(
            "mix.exs",
            "defp deps do\n  [\n    {:a, \"~> 2.0\"},\n    {:b, \"~> 1.0\", only: [:dev, :test], runtime: false}\n  ]\nend",
        )],
    ),
    (
        "c",
        &[("Makefile", "test:\n\ttrue\n")],
        &[
            ("new/Makefile", "all:\n\ttrue"),
            ("new/CMakeLists.txt", "x"),
            ("src/a.c", "int main;"),
        ],
    ),
];
