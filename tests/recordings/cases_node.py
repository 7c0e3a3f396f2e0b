"""Projects in JavaScript: jest, vitest, mocha, node:test, tape, tap, ava, jasmine."""

from standard import Toy

PACKAGE = '{"name": "toy", "version": "1.0.0", "private": true, "type": "commonjs"}\n'
BASE = {"package.json": PACKAGE, "node_modules": None}
BROKEN = "require('a-module-that-nobody-has')\n"
MODULE = '{"name": "toy", "version": "1.0.0", "private": true, "type": "module"}\n'


def suite(head, ending, suites="describe", test="test", skip="test.skip", equal="expect({}).toBe({})"):
    """The four kinds of files of a runner with suites, in the style that most have."""
    def text(name, tests):
        body = "".join(f"  {word}('{title}', () => {{\n    {equal.format(*values)}\n  }})\n"
                       for word, title, values in tests)
        return f"{head}{suites}('{name}', () => {{\n{body}}})\n"
    passing = text("sums", [(test, "adds", ("1 + 2", 3)), (test, "subtracts", ("3 - 2", 1))])
    failing = text("products", [(test, "multiplies", ("2 * 3", 5))])
    skipping = text("quotients", [(skip, "divides", ("6 / 3", 2))])
    return [{f"test/sums{ending}": passing}, {f"test/products{ending}": failing},
            {f"test/quotients{ending}": skipping}, {f"test/broken{ending}": head + BROKEN}]


ASSERT = "const assert = require('assert')\n"
NODE_TEST = "const { describe, test } = require('node:test')\nconst assert = require('assert')\n"
EQUAL = "assert.strictEqual({}, {})"

JEST = Toy("node", "jest", "$N/jest --version", BASE | {"jest.config.js": "module.exports = {}\n"},
           *suite("", ".test.js"))
VITEST = Toy("node", "vitest", "$N/vitest --version", BASE | {"package.json": MODULE},
             *suite("import { describe, expect, test } from 'vitest'\n", ".test.js")[:3],
             {"test/broken.test.js": "import 'a-module-that-nobody-has'\n"})
MOCHA = Toy("node", "mocha", "$N/mocha --version", BASE,
            *suite(ASSERT, ".js", test="it", skip="it.skip", equal=EQUAL))
NODE = Toy("node", "node", "node --version", BASE, *suite(NODE_TEST, ".test.js", equal=EQUAL))
JASMINE = Toy("node", "jasmine", "$N/jasmine version", BASE | {
    "spec/support/jasmine.json": '{"spec_dir": "test", "spec_files": ["*.js"]}\n'},
    *suite("", ".js", test="it", skip="xit"))
TAPE = Toy(
    "node", "tape", "node -p 'require(\"'$P/npm/node_modules/tape/package.json'\").version'", BASE,
    {"test/sums.js": "const test = require('tape')\n\ntest('adds', t => {\n  t.equal(1 + 2, 3, 'one and two')\n"
                     "  t.end()\n})\ntest('subtracts', t => {\n  t.equal(3 - 2, 1, 'three less two')\n  t.end()\n})\n"},
    {"test/products.js": "const test = require('tape')\n\ntest('multiplies', t => {\n"
                         "  t.equal(2 * 3, 5, 'two by three')\n  t.end()\n})\n"},
    {"test/quotients.js": "const test = require('tape')\n\ntest.skip('divides', t => {\n  t.equal(6 / 3, 2)\n"
                          "  t.end()\n})\n"},
    {"test/broken.js": BROKEN})
TAP = Toy(
    "node", "tap", "node -p 'require(\"'$P/npm/node_modules/tap/package.json'\").version'", BASE | {".taprc": "allow-incomplete-coverage: true\nplugin:\n  - '!@tapjs/typescript'\n"},
    {"test/sums.js": "const t = require('tap')\n\nt.test('adds', t => {\n  t.equal(1 + 2, 3)\n  t.end()\n})\n"
                     "t.test('subtracts', t => {\n  t.equal(3 - 2, 1)\n  t.end()\n})\n"},
    {"test/products.js": "const t = require('tap')\n\nt.test('multiplies', t => {\n  t.equal(2 * 3, 5)\n"
                         "  t.end()\n})\n"},
    {"test/quotients.js": "const t = require('tap')\n\nt.test('divides', { skip: 'no division yet' }, t => {\n"
                          "  t.equal(6 / 3, 2)\n  t.end()\n})\n"},
    {"test/broken.js": BROKEN})
AVA = Toy(
    "node", "ava", "$N/ava --version", BASE,
    {"test/sums.js": "const test = require('ava')\n\ntest('adds', t => t.is(1 + 2, 3))\n"
                     "test('subtracts', t => t.is(3 - 2, 1))\n"},
    {"test/products.js": "const test = require('ava')\n\ntest('multiplies', t => t.is(2 * 3, 5))\n"},
    {"test/quotients.js": "const test = require('ava')\n\ntest.skip('divides', t => t.is(6 / 3, 2))\n"},
    {"test/broken.js": BROKEN})

# A subtest, a todo and an error outside of a test.
NODE_ODD = {"test/odd.test.js": """const { test } = require('node:test')
const assert = require('assert')

test('squares', async t => {
  await t.test('of two', () => assert.strictEqual(2 * 2, 4))
  await t.test('of three', () => assert.strictEqual(3 * 3, 8))
})
test('cubes', { todo: true }, () => assert.strictEqual(2 * 2 * 2, 8))
"""}
JEST_ODD = {"test/odd.test.js": """test.each([[1, 1], [2, 3]])('%i squared', (number, square) => {
  console.log('Tests: 9 failed, 9 passed, 18 total')
  expect(number * number).toBe(square)
})
test.todo('cubes')
"""}
HOOK = {"test/hook.js": """const assert = require('assert')

describe('database', () => {
  before(() => {
    throw new Error('no database')
  })
  it('reads', () => assert.ok(true))
  it('writes', () => assert.ok(true))
})
"""}


def of_jest():
    run, failed = "$N/jest", "products multiplies"
    mixed = JEST.passing | JEST.failing | JEST.skipping
    return JEST.standard(run, failed, f"{run} --colors", f"{run} -t nothing-is-so-named", {
        "none-selected": ((0, 0, 2), []), "crashed": ((0, 0, 0), [])}) + [
        JEST.case("no-file-matches", f"{run} nothing-is-so-named", JEST.passing, (0, 0, 0)),
        JEST.case("pass-with-no-tests", f"{run} --passWithNoTests", {}, (0, 0, 0)),
        JEST.case("verbose", f"{run} --verbose", mixed, (2, 1, 1), [failed]),
        JEST.case("silent-coverage", f"{run} --coverage --silent", mixed, (2, 1, 1), [failed]),
        JEST.case("some-crashed", run, mixed | JEST.broken, (2, 1, 1), [failed]),
        JEST.case("odd", run, JEST_ODD, (1, 1, 1), ["2 squared"]),
        JEST.case("json", f"{run} --json", mixed, (2, 1, 1), [failed]),
    ]


def of_vitest():
    run, failed = "$N/vitest run", "products > multiplies"
    mixed = VITEST.passing | VITEST.failing | VITEST.skipping
    return VITEST.standard(run, failed, f"FORCE_COLOR=1 {run}", f"{run} -t nothing-is-so-named", {
        "none-selected": ((0, 0, 2), [])}) + [
        VITEST.case("no-file-matches", f"{run} nothing-is-so-named", VITEST.passing, (0, 0, 0)),
        VITEST.case("plain", f"NO_COLOR=1 {run}", mixed, (2, 1, 1), [failed]),
        VITEST.case("plain-crashed", f"NO_COLOR=1 {run}", VITEST.broken),
        VITEST.case("verbose", f"{run} --reporter verbose", mixed, (2, 1, 1), [failed]),
        VITEST.case("dot", f"{run} --reporter dot", mixed, (2, 1, 1), [failed]),
        VITEST.case("tap", f"{run} --reporter tap", mixed, (2, 1, 1), [failed]),
        VITEST.case("some-crashed", run, mixed | VITEST.broken, (2, 1, 1), [failed]),
    ]


def of_mocha():
    run, failed = "$N/mocha", "products multiplies"
    mixed = MOCHA.passing | MOCHA.failing | MOCHA.skipping
    reporters = [MOCHA.case(reporter, f"{run} --reporter {reporter}", mixed, (2, 1, 1), [failed])
                 for reporter in ["dot", "min", "tap", "list", "landing", "xunit"]]
    return MOCHA.standard(run, failed, f"{run} --color", f"{run} --grep nothing-is-so-named") + reporters + [
        MOCHA.case("no-file-matches", f"{run} nothing-is-so-named.js", MOCHA.passing),
        MOCHA.case("hook", run, MOCHA.passing | HOOK, (2, 1, 0), ['database "before all" hook for "reads"']),
    ]


def of_node():
    run, failed, made = "node --test test", "multiplies", []
    mixed = NODE.passing | NODE.failing | NODE.skipping
    for reporter in ["spec", "tap", "dot", "junit"]:
        toy = Toy(NODE.folder, f"node-{reporter}", NODE.version, NODE.base, NODE.passing, NODE.failing,
                  NODE.skipping, NODE.broken)
        run = f"node --test --test-reporter {reporter}"
        # It counts a file that cannot be loaded as a test.
        # Its dots are those of suites, too.
        hidden = ["passed", "failed", "skipped"] if reporter == "dot" else []
        names = ["green", "red", "skipped", "mixed", "colours", "crashed", "none-selected"]
        made += toy.standard(f"{run} test", failed, f"FORCE_COLOR=1 {run} test",
                             f"{run} --test-name-pattern nothing-is-so-named test",
                             {"crashed": ((0, 1, 0), ["/w/test/broken.test.js"]), "none-selected": ((0, 0, 2), [])},
                             hidden={name: hidden for name in names})
        made.append(toy.case("odd", f"{run} test", NODE_ODD, (1, 2, 1), ["of three", "squares"], hidden=hidden))
    made.append(NODE.case("default", "node --test", mixed, (2, 1, 1), [failed]))
    made.append(NODE.case("default-none-found", "node --test", {}))
    made.append(NODE.case("single-file", "node test/products.test.js", NODE.failing, (0, 1, 0), [failed]))
    return made


def of_tap_and_tape():
    run, failed = "node node_modules/tape/bin/tape 'test/*.js'", "multiplies"
    # It counts assertions.
    made = TAPE.standard(run, "two by three", hidden={"skipped": ["skipped"], "mixed": ["skipped"]})
    run = "$N/tap test"
    mixed = TAP.passing | TAP.failing | TAP.skipping
    made += TAP.standard(f"{run} --disable-coverage", failed, f"{run} --disable-coverage --color", None,
                         {"crashed": ((0, 1, 0), ["test/broken.js"])})
    made.append(TAP.case("tap", f"{run} --disable-coverage --reporter=tap", mixed, (2, 1, 1), [failed]))
    made.append(TAP.case("coverage", run, TAP.passing, (2, 0, 0)))
    return made


def of_ava_and_jasmine():
    run, failed = "$N/ava", "products › multiplies"
    mixed = AVA.passing | AVA.failing | AVA.skipping
    made = AVA.standard(run, failed, f"{run} --color", f"{run} --match nothing-is-so-named")
    made.append(AVA.case("tap", f"{run} --tap", mixed, (2, 1, 1), [failed]))
    made.append(AVA.case("some-crashed", run, mixed | AVA.broken, (2, 1, 1), [failed]))
    run = "$N/jasmine --random=false"
    made += JASMINE.standard(run, "products multiplies", f"{run} --color",
                             f"{run} --filter=nothing-is-so-named", {"none-selected": ((0, 0, 0), [])})
    return made


def cases():
    return of_jest() + of_vitest() + of_mocha() + of_node() + of_tap_and_tape() + of_ava_and_jasmine()
