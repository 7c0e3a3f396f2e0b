"""Programs that are not there, behind the programs that start them."""

from record import Case

NAME = "a-missing-linter"
NPM = '{"name": "toy", "version": "1.0.0", "private": true, "scripts": {"lint": "a-missing-linter --all src"}}\n'
PYPROJECT = '[project]\nname = "toy"\nversion = "1.0.0"\nrequires-python = ">=3.9"\n'
POETRY = "POETRY_VIRTUALENVS_CREATE=false $V/poetry"
YARN = "node $P/npm/node_modules/yarn/bin/yarn.js"
BERRY = "node $P/npm/node_modules/@yarnpkg/cli-dist/bin/yarn.js"
TOX = "[tox]\nskipsdist = true\n[testenv]\nlist_dependencies_command = python -c pass\nallowlist_externals = *\n"
CARGO = {"Cargo.toml": '[package]\nname = "toy"\nversion = "1.0.0"\nedition = "2021"\n', "src/main.rs": "fn main() {}\n"}
CMAKE = """cmake_minimum_required(VERSION 3.20)
project(toy LANGUAGES NONE)
enable_testing()
add_test(NAME lints COMMAND a-missing-linter)
"""
NINJA = "rule lint\n  command = a-missing-linter src\nbuild lint: lint\n"
PYTHON_CALL = "import subprocess\nsubprocess.run(['a-missing-linter'], check=True)\n"
NODE_CALL = "require('child_process').spawn('a-missing-linter', [])\n"
# A folder in which no program is.
NO_PATH = "mkdir -p $P/empty; PATH=$P/empty"


def missing(name, version, command, files=None, program=NAME, text=None, code=None):
    return Case("missing", name, version, files or {}, command, missing=program, text=text, code=code)


def of_shells():
    script = {"lint.sh": "echo linting\na-missing-linter --all\n"}
    makefile = {"Makefile": "lint:\n\ta-missing-linter --all\n"}
    through_shell = {"Makefile": "lint:\n\t@a-missing-linter --all && echo done\n"}
    return [
        missing("sh", "dpkg-query -W dash", "sh -c 'a-missing-linter --all'"),
        missing("dash", "dpkg-query -W dash", "dash -c 'a-missing-linter --all'"),
        missing("bash", "bash --version", "bash -c 'a-missing-linter --all'"),
        missing("sh-script", "dpkg-query -W dash", "sh lint.sh", script),
        missing("bash-script", "bash --version", "bash lint.sh", script),
        missing("sh-file", "dpkg-query -W dash", "sh -c ./lint", program="./lint"),
        missing("bash-file", "bash --version", "bash -c ./lint", program="./lint"),
        missing("bash-interpreter", "bash --version", "bash -c ./lint", {"lint": "#!/opt/a-missing-linter\n"},
                "/opt/a-missing-linter"),
        missing("env", "env --version", "env a-missing-linter"),
        missing("env-interpreter", "env --version", "./lint", {"lint": "#!/usr/bin/env a-missing-linter\n"}),
        missing("xargs", "xargs --version", "echo src | xargs a-missing-linter"),
        missing("find", "find --version", "find . -exec a-missing-linter '{}' +"),
        missing("timeout", "timeout --version", "timeout 5 a-missing-linter"),
        missing("nice", "nice --version", "nice a-missing-linter"),
        missing("time", "bash --version", "time a-missing-linter"),
        missing("make", "make --version", "make lint", makefile),
        missing("make-shell", "make --version", "make lint", through_shell),
        missing("make-bash", "make --version", "make lint", {"Makefile": "SHELL := bash\n" + through_shell["Makefile"]}),
        missing("make-nested", "make --version", "make lint", {
            "Makefile": "lint:\n\t$(MAKE) -C src lint\n", "src/Makefile": makefile["Makefile"]}),
        missing("make-ignored", "make --version", "make lint", {"Makefile": "lint:\n\t-a-missing-linter\n"}),
        missing("make-npm", "make --version", "make lint", {
            "Makefile": "lint:\n\tnpm run --silent lint\n", "package.json": NPM}),
        missing("mvn", "bash --version", f"{NO_PATH} /bin/bash -c 'mvn -B test'", program="mvn"),
        missing("gradlew", "dpkg-query -W dash", "sh -c './gradlew test'", program="./gradlew"),
    ]


def of_node():
    node = {"package.json": NPM}
    berry = {"package.json": NPM, "yarn.lock": "", ".yarnrc.yml": "enableGlobalCache: false\n"}
    return [
        missing("npm", "npm --version", "npm run lint", node),
        missing("npm-workspaces", "npm --version", "npm run lint --workspaces", {
            "package.json": '{"name": "root", "private": true, "workspaces": ["packages/*"]}\n',
            "packages/a/package.json": NPM}),
        missing("npx", "npm --version", "npx --no-install a-missing-linter", node),
        missing("npm-exec", "npm --version", "npm exec --offline --yes a-missing-linter", node),
        missing("pnpm", "$N/pnpm --version", "$N/pnpm run lint", node),
        missing("pnpm-exec", "$N/pnpm --version", "$N/pnpm exec a-missing-linter", node),
        missing("yarn", f"{YARN} --version", f"{YARN} run lint", node),
        missing("yarn-exec", f"{YARN} --version", f"{YARN} run a-missing-linter", node),
        missing("yarn-berry", f"{BERRY} --version", [f"{BERRY} install", f"{BERRY} run lint"], berry),
        missing("yarn-berry-exec", f"{BERRY} --version", [f"{BERRY} install", f"{BERRY} run a-missing-linter"], berry),
        missing("bun", "bun --version", "bun run lint", node),
        missing("deno-task", "deno --version", "NO_COLOR=1 deno task lint", {
            "deno.json": '{"tasks": {"lint": "a-missing-linter --all"}}\n'}),
        missing("concurrently", "$N/concurrently --version", "$N/concurrently --no-color 'a-missing-linter' 'echo linted'"),
        missing("node", "node --version", "node lint.js", {"lint.js": NODE_CALL}),
        missing("turbo", "$N/turbo --version", "$N/turbo run lint --no-color", {
            "package.json": '{"name": "root", "private": true, "workspaces": ["packages/*"], "packageManager": "npm@10.0.0"}\n',
            "turbo.json": '{"tasks": {"lint": {}}}\n', "packages/a/package.json": NPM}),
    ]


def of_python():
    return [
        missing("python-module", "/usr/bin/python3 --version", "/usr/bin/python3 -m a_missing_linter",
                program="a_missing_linter"),
        missing("python-pytest", "/usr/bin/python3 --version", "/usr/bin/python3 -I -m pytest -q", program="pytest"),
        missing("python-call", "/usr/bin/python3 --version", "/usr/bin/python3 lint.py", {"lint.py": PYTHON_CALL}),
        missing("poetry", "$V/poetry --version", f"{POETRY} run a-missing-linter", {"pyproject.toml": PYPROJECT}),
        missing("uv", "$V/uv --version", "$V/uv run --offline --no-project a-missing-linter"),
        missing("uv-tool", "$V/uv --version", "$V/uv tool run --offline a-missing-linter"),
        missing("pdm", "$V/pdm --version", "$V/pdm use -q -f $V/python >/dev/null 2>&1; $V/pdm run a-missing-linter", {"pyproject.toml": PYPROJECT}),
        missing("tox", "$V/tox --version", "$V/tox -q -e py", {"tox.ini": TOX + "commands = a-missing-linter src\n"}),
        missing("nox", "$V/nox --version", "$V/nox", {
            "noxfile.py": "import nox\n\n\n@nox.session(venv_backend='none')\ndef lint(session):\n"
                          "    session.run('a-missing-linter', 'src')\n"}),
    ]


def of_compiled():
    target = "CARGO_TARGET_DIR=/tmp/awo-recordings/target"
    return [
        missing("cargo", "cargo --version", "cargo a-missing-linter", CARGO),
        missing("cargo-linker", "cargo --version", f"{target} RUSTFLAGS='-C linker=a-missing-linter' cargo build", CARGO),
        missing("go-vettool", "go version", "go vet -vettool=$(command -v a-missing-linter || echo a-missing-linter) ./...",
                {"go.mod": "module example.com/toy\n", "toy.go": "package toy\n"}, "/w/a-missing-linter"),
        missing("go-tool", "go version", "go tool a-missing-linter"),
        missing("go-generate", "go version", "go generate ./...", {
            "go.mod": "module example.com/toy\n", "toy.go": "package toy\n\n//go:generate a-missing-linter -all\n"}),
        missing("ninja", "$V/ninja --version", "$V/ninja lint", {"build.ninja": NINJA}),
        missing("ctest", "$V/ctest --version", ["$V/cmake -S . -B build", "$V/ctest --test-dir build"],
                {"CMakeLists.txt": CMAKE}),
        missing("cmake-compiler", "$V/cmake --version", "$V/cmake -S . -B build -DCMAKE_C_COMPILER=a-missing-linter",
                {"CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(toy C)\n"}),
        missing("bundle", "bundle --version", "bundle exec a-missing-linter", {"Gemfile": ""}),
        missing("rake", "rake --version", "rake lint", {"Rakefile": "task :lint do\n  sh 'a-missing-linter --all'\nend\n"}),
        missing("composer", "php --version", "php a-missing-linter.phar", program="a-missing-linter.phar"),
        missing("mix", "mix --version | tail -1", "mix a_missing_linter", program="a_missing_linter"),
    ]


def of_decoys():
    """Programs that are there, whose output speaks of others."""
    return [
        missing("decoy-printed", "make --version", "make test", {
            "Makefile": "test:\n\t@echo 'sh: 1: a-missing-linter: not found'; false\n"}, ""),
        missing("decoy-exit-code", "make --version", "make test", {"Makefile": "test:\n\t@exit 127\n"}, ""),
        missing("decoy-no-file", "dpkg-query -W dash", "cat a-missing-file", program=""),
        missing("decoy-no-rule", "make --version", "make lint", {"Makefile": "test:\n"}, ""),
        missing("decoy-no-script", "npm --version", "npm run lint", {
            "package.json": '{"name": "toy", "version": "1.0.0", "private": true}\n'}, ""),
        missing("decoy-not-executable", "bash --version", "bash -c ./lint", {"lint": "exit 0\n"}, ""),
    ]


def cases():
    return of_shells() + of_node() + of_python() + of_compiled() + of_decoys()
