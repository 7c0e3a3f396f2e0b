//! Redirections of real programs.

use super::{FAKE_TESTS, Files};

const FAILING_UNITTEST: &str =
    "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 2)\n";
const MAKEFILE: &str =
    "PY = python3\n-include local.conf\n-include *.mk\ntest:\n\t$(PY) check.py\n";
const CHECK: &str = "print('1 failed in 0.1s')\nraise SystemExit(1)\n";
const NODE_TEST: &str = "require('node:test')('a', () => { throw new Error('x') })\n";

/// Program, files of the base, whose tests fail, and a change that makes the real command pass.
pub const REAL: &[(&str, Files, Files)] = &[
    (
        "make",
        &[("Makefile", MAKEFILE), ("check.py", CHECK)],
        &[("Makefile", "PY = true\ntest:\n\t$(PY) check.py")],
    ),
    (
        "make",
        &[("Makefile", MAKEFILE), ("check.py", CHECK)],
        &[(
            "Makefile",
            "MAKEFLAGS += -n\nPY = python3\ntest:\n\t$(PY) check.py",
        )],
    ),
    (
        "make",
        &[("Makefile", MAKEFILE), ("check.py", CHECK)],
        &[(
            "Makefile",
            "SHELL = /bin/true\nPY = python3\ntest:\n\t$(PY) check.py",
        )],
    ),
    (
        "make",
        &[("Makefile", MAKEFILE), ("check.py", CHECK)],
        &[("x.mk", "PY = true")],
    ),
    (
        "make",
        &[("Makefile", MAKEFILE), ("check.py", CHECK)],
        &[("local.conf", "PY = true")],
    ),
    (
        "node",
        &[
            ("package.json", r#"{"scripts": {"test": "node --test"}}"#),
            ("a.test.js", NODE_TEST),
            (".gitignore", "!node_modules/\n"),
        ],
        &[(
            "node_modules/.bin/node",
            "#!/bin/sh\nprintf '# tests 3\\n# pass 3\\n# fail 0\\n'",
        )],
    ),
    (
        "npm",
        &[
            ("package.json", r#"{"scripts": {"test": "node --test"}}"#),
            ("a.test.js", NODE_TEST),
        ],
        &[(".npmrc", "script-shell=/bin/true")],
    ),
    (
        "python3",
        &[
            ("pyproject.toml", "[project]\nname = \"p\"\n"),
            ("test_a.py", FAILING_UNITTEST),
        ],
        &[("argparse.py", FAKE_TESTS)],
    ),
    (
        "python3",
        &[
            ("pyproject.toml", "[project]\nname = \"p\"\n"),
            ("test_a.py", FAILING_UNITTEST),
        ],
        &[("unittest/__init__.py", FAKE_TESTS)],
    ),
    (
        "cargo",
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            ("src/lib.rs", "#[test]\nfn a() { panic!() }\n"),
        ],
        &[(
            ".cargo/config.toml",
            "[target.'cfg(all())']\nrunner = '/bin/true'",
        )],
    ),
    (
        "cargo",
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            ("src/lib.rs", "#[test]\nfn a() { panic!() }\n"),
        ],
        &[(
            "Cargo.toml",
            "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\ntest = false",
        )],
    ),
    (
        "rspec",
        &[
            ("Rakefile", ""),
            (
                "spec/a_spec.rb",
                "RSpec.describe('a') { it('b') { raise } }\n",
            ),
        ],
        &[(".rspec", "--dry-run")],
    ),
    (
        "rake",
        &[
            ("Rakefile", "task :test do\n  sh 'ruby t.rb'\nend\n"),
            ("t.rb", "exit 1\n"),
        ],
        &[(
            "Rakefile",
            "task :test do\n  puts '1 runs, 1 assertions, 0 failures, 0 errors, 0 skips'\nend",
        )],
    ),
    (
        "composer",
        &[
            ("composer.json", r#"{"scripts": {"test": "php t.php"}}"#),
            ("t.php", "<?php exit(1);\n"),
        ],
        &[("composer.json", r#"{"scripts": {"test": "true"}}"#)],
    ),
    (
        "ctest",
        &[(
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.10)\nproject(p NONE)\nenable_testing()\nadd_test(NAME a COMMAND false)\n",
        )],
        &[(
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.10)\nproject(p NONE)\nenable_testing()\nadd_test(NAME a COMMAND false)\nset_tests_properties(a PROPERTIES WILL_FAIL TRUE)",
        )],
    ),
    (
        "meson",
        &[(
            "meson.build",
            "project('p')\ntest('a', find_program('false'))\n",
        )],
        &[(
            "meson.build",
            "project('p')\ntest('a', find_program('false'), should_fail: true)",
        )],
    ),
    (
        "mix",
        &[
            (
                "mix.exs",
                "defmodule P.MixProject do\n  use Mix.Project\n  def project, do: [app: :p, version: \"0.1.0\"]\nend\n",
            ),
            ("test/test_helper.exs", "ExUnit.start()\n"),
            (
                "test/a_test.exs",
                "defmodule ATest do\n  use ExUnit.Case\n  test \"a\", do: assert(1 == 2)\nend\n",
            ),
        ],
        &[(
            "mix.exs",
            "defmodule P.MixProject do\n  use Mix.Project\n  def project, do: [app: :p, version: \"0.1.0\", aliases: [test: fn _ -> IO.puts(\"1 test, 0 failures\") end]]\nend",
        )],
    ),
    (
        "prove",
        &[
            ("Makefile.PL", "1;\n"),
            ("t/a.t", "print \"1..1\\nnot ok 1 - a\\n\";\n"),
        ],
        &[(".proverc", "--dry")],
    ),
];
