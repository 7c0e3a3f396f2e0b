//! Steps of each language, by its files.

use super::{PACKAGE, detected, steps};

#[test]
fn packages_of_node_are_installed_and_tested_by_their_own_manager() {
    for (file, text, wanted) in [
        (
            "package-lock.json",
            "{}",
            ["npm ci --no-audit --no-fund", "npm test"],
        ),
        (
            "npm-shrinkwrap.json",
            "{}",
            ["npm ci --no-audit --no-fund", "npm test"],
        ),
        (
            "pnpm-lock.yaml",
            "",
            ["pnpm install --frozen-lockfile", "pnpm test"],
        ),
        (
            "yarn.lock",
            "# yarn lockfile v1\n",
            ["yarn install --frozen-lockfile", "yarn test"],
        ),
        (
            "yarn.lock",
            "__metadata:\n  version: 8\n",
            ["yarn install --immutable", "yarn test"],
        ),
        (
            "bun.lock",
            "{}",
            ["bun install --frozen-lockfile", "bun run test"],
        ),
        (
            "README.md",
            "",
            [
                "npm install --no-audit --no-fund --no-package-lock",
                "npm test",
            ],
        ),
    ] {
        assert_eq!(
            steps(&[("package.json", PACKAGE), (file, text)]),
            wanted,
            "{file}"
        );
    }
    for (manager, wanted) in [
        ("pnpm@9.15.0", ["pnpm install --no-lockfile", "pnpm test"]),
        ("yarn@1.22.22", ["yarn install --no-lockfile", "yarn test"]),
        (
            "yarn@4.5.0+sha512.abc",
            ["yarn install --no-immutable", "yarn test"],
        ),
        ("bun@1.2.0", ["bun install --no-save", "bun run test"]),
    ] {
        let package = PACKAGE.replacen('{', &format!("{{\"packageManager\": {manager:?}, "), 1);
        assert_eq!(steps(&[("package.json", &package)]), wanted, "{manager}");
    }
    let alone = r#"{"scripts": {"test": "node --test", "lint": "eslint ."}}"#;
    assert_eq!(
        steps(&[("package.json", alone)]),
        ["npm run lint", "npm test"]
    );
    let none = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    assert_eq!(steps(&[("package.json", none)]), [""; 0]);
}

#[test]
fn a_package_whose_entry_is_built_is_built_before_its_tests() {
    let package = r#"{"main": "dist/a.js", "scripts": {"test": "node --test", "build": "tsc"}}"#;
    assert_eq!(
        steps(&[("package.json", package)]),
        ["npm run build", "npm test"]
    );
    let frozen = detected(&[("package.json", package)]);
    assert_eq!(
        frozen.plan.tests[0].needs().collect::<Vec<_>>(),
        ["npm run build"]
    );
    assert_eq!(
        steps(&[("package.json", package), ("dist/a.js", "")])[..],
        ["npm test"]
    );
}

#[test]
fn a_workspace_of_node_covers_its_members() {
    let member = r#"{"name": "@x/a", "scripts": {"test": "node --test"}}"#;
    let root = r#"{"workspaces": ["packages/*"]}"#;
    let files = |package: &'static str, lock: &'static str| {
        steps(&[
            ("package.json", package),
            (lock, ""),
            ("packages/a/package.json", member),
            ("other/package.json", PACKAGE),
        ])
    };
    let other = [
        "cd other && npm install --no-audit --no-fund --no-package-lock",
        "cd other && npm test",
    ];
    let npm = files(root, "package-lock.json");
    assert_eq!(
        npm,
        [
            "npm ci --no-audit --no-fund",
            other[0],
            "npm run test --workspaces --if-present",
            other[1]
        ]
    );
    assert!(files(root, "yarn.lock").contains(&"yarn workspace @x/a test".to_owned()));
    let turbo = r#"{"workspaces": ["packages/*"], "scripts": {"test": "turbo run test"}}"#;
    assert_eq!(
        files(turbo, "package-lock.json")[2..],
        ["npm test", other[1]]
    );
    let pnpm = steps(&[
        ("package.json", "{}"),
        ("pnpm-lock.yaml", ""),
        ("pnpm-workspace.yaml", "packages: ['packages/*']\n"),
        ("packages/a/package.json", member),
    ]);
    assert_eq!(
        pnpm,
        [
            "pnpm install --frozen-lockfile",
            "pnpm --recursive --if-present run test"
        ]
    );
}

/// Files, and the steps for them.
type Row<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

fn check(table: &[Row<'_>]) {
    for (files, wanted) in table {
        assert_eq!(steps(files), *wanted, "{files:?}");
    }
}

#[test]
fn compiled_languages_have_the_commands_of_their_maintainers() {
    check(&[
        (
            &[("Cargo.toml", "[package]\n")],
            &["cargo test --quiet --workspace"],
        ),
        (
            &[("go.mod", "module a\n"), ("b/a.go", "")],
            &["go test ./..."],
        ),
        (&[("go.mod", "module a\n")], &[]),
        (
            &[
                ("go.work", "go 1.24\nuse (\n\t./a\n\t./b // x\n)\n"),
                ("a/a.go", ""),
                ("c/go.mod", ""),
            ],
            &["go test ./a/... ./b/..."],
        ),
        (&[("pom.xml", ""), ("core/pom.xml", "")], &["mvn -B test"]),
        (&[("pom.xml", ""), ("mvnw", "")], &["sh ./mvnw -B test"]),
        (
            &[("build.gradle.kts", "")],
            &["gradle --no-daemon --console=plain test"],
        ),
        (
            &[
                ("settings.gradle", ""),
                ("gradlew", ""),
                ("app/build.gradle", ""),
            ],
            &["sh ./gradlew --no-daemon --console=plain test"],
        ),
        (
            &[
                ("A.sln", ""),
                ("t/T.csproj", ""),
                ("t/packages.lock.json", ""),
            ],
            &[
                "dotnet restore A.sln --locked-mode",
                "dotnet test A.sln --no-restore",
            ],
        ),
        // A solution of C++ is none of .NET.
        (
            &[
                ("vs/A.sln", "Project(\"{8BC9}\") = \"A\", \"a.vcxproj\"\n"),
                ("Makefile", "test:\n\tx\n"),
            ],
            &["make -f Makefile test"],
        ),
    ]);
}

#[test]
fn scripting_languages_have_the_commands_of_their_maintainers() {
    let gems = "BUNDLE_PATH=~/gems";
    let hex = "mix local.hex --force --if-missing && mix local.rebar --force --if-missing";
    let rspec = format!("{gems} bundle exec rspec");
    let locked_gems = format!("{gems} BUNDLE_FROZEN=true bundle install");
    let mix = format!("{hex} && mix deps.get --check-locked");
    check(&[
        (
            &[
                ("Gemfile", ""),
                ("Gemfile.lock", ""),
                ("spec/a_spec.rb", ""),
            ],
            &[&locked_gems, &rspec],
        ),
        (&[("Rakefile", "Rake::TestTask.new\n")], &["rake test"]),
        (
            &[(
                "composer.json",
                r#"{"require-dev": {"phpunit/phpunit": "*"}}"#,
            )],
            &[
                "composer install --no-interaction --no-progress",
                "vendor/bin/phpunit",
            ],
        ),
        (
            &[(
                "composer.json",
                r#"{"scripts": {"test": "pest", "lint": "x"}}"#,
            )],
            &[
                "composer run-script --timeout=0 lint",
                "composer run-script --timeout=0 test",
            ],
        ),
        (&[("mix.exs", ""), ("mix.lock", "")], &[&mix, "mix test"]),
        (
            &[("Makefile.PL", ""), ("lib/A.pm", ""), ("t/a.t", "")],
            &["prove -l -r t"],
        ),
        (
            &[
                ("cpanfile", ""),
                ("Makefile.PL", ""),
                ("A.xs", ""),
                ("t/a.t", ""),
            ],
            &[
                "cpanm --quiet --notest --local-lib-contained ~/perl5 --installdeps .",
                "PERL5LIB=~/perl5/lib/perl5 perl Makefile.PL && make",
                "PERL5LIB=~/perl5/lib/perl5 prove -b -r t",
            ],
        ),
        (&[("dist.ini", "")], &[]),
        (
            &[("deno.json", r#"{"tasks": {"test": "deno test -A"}}"#)],
            &["deno task test"],
        ),
        (
            &[("deno.json", "{}"), ("a_test.ts", "")],
            &["deno test --allow-all"],
        ),
    ]);
}

#[test]
fn builds_of_c_and_makefiles_have_the_commands_of_their_maintainers() {
    check(&[
        (
            &[("Makefile", "check:\n\tx\nlint:\n\ty\n")],
            &["make -f Makefile lint", "make -f Makefile check"],
        ),
        (
            &[("CMakeLists.txt", "enable_testing()\n")],
            &[
                "cmake -S . -B ~/build && cmake --build ~/build",
                "cd ~/build && ctest --output-on-failure",
            ],
        ),
        (
            &[(
                "CMakeLists.txt",
                "ADD_CUSTOM_TARGET(tests-all x)\nADD_CUSTOM_TARGET( Check\n  ./run)\n",
            )],
            &[
                "cmake -S . -B ~/build && cmake --build ~/build",
                "cmake --build ~/build --target check",
            ],
        ),
        (
            &[("meson.build", "test('a', a)\n")],
            &[
                "meson setup ~/build && meson compile -C ~/build",
                "meson test -C ~/build --print-errorlogs",
            ],
        ),
        (
            &[("configure.ac", "")],
            &["autoreconf -fi && sh ./configure && make", "make check"],
        ),
        (
            &[("configure", ""), ("configure.ac", "")],
            &["sh ./configure && make", "make check"],
        ),
        (
            &[("configure", ""), ("configure.ac", ""), ("Makefile.am", "")],
            &["autoreconf -fi && sh ./configure && make", "make check"],
        ),
        // A makefile's tests are usually those of the other manifests.
        (
            &[("Cargo.toml", "[package]\n"), ("Makefile", "test:\n\tx\n")],
            &["cargo test --quiet --workspace"],
        ),
        (
            &[
                ("requirements.txt", "sphinx\n"),
                ("Makefile", "test:\n\tx\n"),
            ],
            &["make -f Makefile test"],
        ),
    ]);
}
