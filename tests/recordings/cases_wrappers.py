"""Runners behind programs that put a prefix before each line, or run several runners one after the other."""

from record import Case

ROOT = '{"name": "root", "version": "1.0.0", "private": true, "workspaces": ["packages/*"], "packageManager": "%s"%s}\n'
HEAD = "const { test } = require('node:test')\nconst assert = require('assert')\n"
PASSING = HEAD + "test('adds', () => assert.strictEqual(1 + 2, 3))\ntest('subtracts', () => assert.strictEqual(3 - 2, 1))\n"
FAILING = HEAD + "test('multiplies', () => assert.strictEqual(2 * 3, 5))\ntest('divides', { skip: true }, () => {})\n"
MOCHA = "const assert = require('assert')\ndescribe('sums', () => {\n  it('adds', () => assert.strictEqual(1 + 2, 3))\n})\n"
JEST = "test('cubes', () => expect(2 * 2 * 2).toBe(8))\n"
FAILED = "multiplies"
BERRY = "node $P/npm/node_modules/@yarnpkg/cli-dist/bin/yarn.js"
YARN = "node $P/npm/node_modules/yarn/bin/yarn.js"
PYTEST = {"test_sums.py": "def test_adds():\n    assert 1 + 2 == 3\n\n\ndef test_subtracts():\n    assert 3 - 2 == 1\n",
          "test_products.py": "def test_multiplies():\n    assert 2 * 3 == 5\n",
          "pytest.ini": "[pytest]\naddopts = -p no:cacheprovider\n"}
UNITTEST = {"test_units.py": "import unittest\n\n\nclass Units(unittest.TestCase):\n    def test_unit(self):\n"
                             "        self.assertEqual(1, 1)\n"}


NX_VERSION = "node -p 'require(\"'$P/npm/node_modules/nx/package.json'\").version'"


def package(name, script):
    scripts = f', "scripts": {{"test": "{script}"}}' if script else ""
    return f'{{"name": "{name}", "version": "1.0.0"{scripts}}}\n'


def workspaces(manager="npm@11.0.0", red=True, extra=None, more=""):
    """Packages a (mocha, passes), b (node:test, may fail), c (jest, passes) and d (no tests)."""
    return {
        "package.json": ROOT % (manager, more), "node_modules": None,
        "packages/a/package.json": package("a", "$N/mocha"), "packages/a/test/sums.js": MOCHA,
        "packages/b/package.json": package("b", "node --test --test-reporter=spec"),
        "packages/b/test/math.test.js": PASSING, **({"packages/b/test/products.test.js": FAILING} if red else {}),
        "packages/c/package.json": package("c", "$N/jest --rootDir ."), "packages/c/cubes.test.js": JEST,
        "packages/d/package.json": package("d", None), **(extra or {})}


def case(name, version, command, files, red=True, counts=None, names=None, text=None, code=None):
    counts = counts or ((4, 1, 1) if red else (4, 0, 0))
    names = names if names is not None else ([FAILED] if counts[1] else [])
    return Case("wrappers", name, version, files, command, counts, names, text=text, code=code)


def of_npm():
    made = []
    for red in (False, True):
        end = "red" if red else "green"
        made += [
            case(f"npm-workspaces-{end}", "npm --version", "npm test --workspaces --if-present", workspaces(red=red), red),
            case(f"lerna-{end}", "$N/lerna --version", "$N/lerna run test --stream --no-bail",
                 workspaces(red=red, extra={"lerna.json": '{"version": "1.0.0"}\n'}), red),
            case(f"nx-{end}", NX_VERSION, "$N/nx run-many -t test --outputStyle=stream --skipNxCache",
                 workspaces(red=red, extra={"nx.json": "{}\n"}), red),
            case(f"turbo-{end}", "$N/turbo --version", "$N/turbo run test --continue --force --no-color",
                 workspaces(red=red, extra={"turbo.json": '{"tasks": {"test": {"passThroughEnv": ["*"]}}}\n'}), red),
            case(f"pnpm-{end}", "$N/pnpm --version", "$N/pnpm -r --no-bail test",
                 workspaces("pnpm@9.15.9", red, {"pnpm-workspace.yaml": "packages: ['packages/*']\n"}), red),
            case(f"yarn-{end}", f"{YARN} --version", f"{YARN} workspaces run test",
                 workspaces("yarn@1.22.22", red, {"packages/d/package.json": package("d", "echo none")}), red,
                 counts=(3, 1, 1) if red else None),
        ]
    made += [
        case("npm-workspaces-missing-script", "npm --version", "npm test --workspaces", workspaces(red=False), False),
        case("npm-single", "npm --version", "npm test", {
            "package.json": package("toy", "node --test --test-reporter=spec"), "test/math.test.js": PASSING},
            counts=(2, 0, 0)),
        case("npm-no-tests", "npm --version", "npm test", {"package.json": package(
            "toy", 'echo \\"Error: no test specified\\" && exit 1')}, counts=(0, 0, 0)),
        case("npm-echo", "npm --version", "npm test", {"package.json": package("toy", "echo no tests yet")},
             counts=(0, 0, 0)),
        case("turbo-colours", "$N/turbo --version", "$N/turbo run test --continue --force --color",
             workspaces(extra={"turbo.json": '{"tasks": {"test": {"passThroughEnv": ["*"]}}}\n'})),
        case("turbo-grouped", "$N/turbo --version", "$N/turbo run test --continue --force --no-color --log-order=grouped",
             workspaces(extra={"turbo.json": '{"tasks": {"test": {"passThroughEnv": ["*"]}}}\n'})),
        case("turbo-none-selected", "$N/turbo --version", "$N/turbo run test --force --no-color --filter=d",
             workspaces(extra={"turbo.json": '{"tasks": {"test": {"passThroughEnv": ["*"]}}}\n'}), counts=(0, 0, 0)),
        case("nx-default", NX_VERSION, "$N/nx run-many -t test --skipNxCache",
             workspaces(extra={"nx.json": "{}\n"})),
    ]
    return made


def of_berry():
    made = []
    for red in (False, True):
        files = workspaces("yarn@4.18.1", red, {"yarn.lock": "", ".yarnrc.yml": "nodeLinker: node-modules\n"})
        files = {name: text for name, text in files.items() if text is not None and not name.startswith("packages/c")}
        counts = (3, 1, 1) if red else (3, 0, 0)
        for name, option in (("yarn-berry", "-pt"), ("yarn-berry-verbose", "-vvpt"), ("yarn-berry-parallel", "-pv")):
            made.append(case(f"{name}-{'red' if red else 'green'}", f"{BERRY} --version", [
                f"{BERRY} install", f"{BERRY} workspaces foreach -A {option} run test"], files, counts=counts))
    return made


def of_make():
    pytest = "$V/python -m pytest"
    makefile = {"Makefile": "test: unit units\n\nunit:\n\t@$$V/python -m pytest\n\nunits:\n"
                            "\t$$V/python -m unittest test_units\n"}
    both = PYTEST | UNITTEST | makefile
    name = "test_products.py::test_multiplies"
    return [
        # The first target fails, so the second does not run. Both find test_unit.
        case("make-red", "make --version", "make test", both, counts=(3, 1, 0), names=[name]),
        case("make-keep-going", "make --version", "make -k test", both, counts=(4, 1, 0), names=[name]),
        case("make-parallel", "make --version", "make -k -j2 --output-sync=target test", both, counts=(4, 1, 0), names=[name]),
        case("make-nothing-to-do", "make --version", "make test", {"Makefile": "test:\n"}, counts=(0, 0, 0)),
        case("make-echo", "make --version", "make test", {"Makefile": "test:\n\t@echo no tests yet\n"}, counts=(0, 0, 0)),
        case("concurrently-red", "$N/concurrently --version",
             f"$N/concurrently --no-color '{pytest} test_sums.py' '{pytest} test_products.py'", PYTEST,
             counts=(2, 1, 0), names=[name]),
        case("concurrently-names", "$N/concurrently --version",
             f"$N/concurrently --no-color -n web,api '{pytest} test_sums.py' '$V/python -m unittest -v test_units'",
             PYTEST | UNITTEST, counts=(3, 0, 0)),
        case("concurrently-colours", "$N/concurrently --version",
             f"FORCE_COLOR=1 $N/concurrently -c red,green '{pytest} --color=yes test_sums.py' '{pytest} test_products.py'",
             PYTEST, counts=(2, 1, 0), names=[name]),
        case("poetry", "$V/poetry --version", "POETRY_VIRTUALENVS_CREATE=false $V/poetry run $V/python -m pytest test_sums.py",
             PYTEST | {"pyproject.toml": '[project]\nname = "toy"\nversion = "1.0.0"\n'}, counts=(2, 0, 0)),
        case("docker-compose-red", "2.39", "", {}, counts=(2, 1, 0), names=[name], code=1, text=COMPOSE),
    ]


COMPOSE = """\
 Container toy-web-1  Created
 Container toy-db-1  Created
Attaching to db-1, web-1
db-1   | PostgreSQL init process complete; ready for start up.
web-1  | ============================= test session starts ==============================
web-1  | platform linux -- Python 3.12.5, pytest-8.3.2, pluggy-1.5.0
web-1  | rootdir: /app
web-1  | collected 3 items
web-1  | 
web-1  | test_products.py F                                                       [ 33%]
web-1  | test_sums.py ..                                                          [100%]
web-1  | 
web-1  | =================================== FAILURES ===================================
web-1  | _______________________________ test_multiplies ________________________________
web-1  | 
web-1  |     def test_multiplies():
web-1  | >       assert 2 * 3 == 5
web-1  | E       assert (2 * 3) == 5
web-1  | 
web-1  | test_products.py:2: AssertionError
web-1  | =========================== short test summary info ============================
web-1  | FAILED test_products.py::test_multiplies - assert (2 * 3) == 5
web-1  | ========================= 1 failed, 2 passed in 0.03s ==========================
web-1 exited with code 1
Aborting on container exit...
 Container toy-web-1  Stopped
 Container toy-db-1  Stopped
"""


def cases():
    return of_npm() + of_berry() + of_make()
