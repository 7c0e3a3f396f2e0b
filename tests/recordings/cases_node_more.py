"""Projects in JavaScript of other runtimes and styles: bun, deno, karma, playwright, qunit, uvu."""

from cases_node import ASSERT, BASE, BROKEN, EQUAL, MODULE, PACKAGE, suite
from standard import Toy

BUN = Toy("node", "bun", "bun --version", {"package.json": MODULE},
          *suite("import { describe, expect, test } from 'bun:test'\n", ".test.js")[:3],
          {"test/broken.test.js": "import 'a-module-that-nobody-has'\n"})
DENO_EQUAL = "if ({} !== {}) throw new Error('not equal')"


def deno_test(name, values, options=""):
    return f"Deno.test({{ name: '{name}', {options}fn() {{\n  {DENO_EQUAL.format(*values)}\n}} }})\n"


DENO = Toy(
    "deno", "deno", "deno --version", {"deno.json": "{}\n"},
    {"test/sums_test.js": deno_test("adds", ("1 + 2", 3)) + deno_test("subtracts", ("3 - 2", 1))},
    {"test/products_test.js": deno_test("multiplies", ("2 * 3", 5))},
    {"test/quotients_test.js": deno_test("divides", ("6 / 3", 2), "ignore: true, ")},
    {"test/broken_test.js": "import './a_module_that_nobody_has.js'\n"})
DENO_STEPS = {"test/steps_test.js": """Deno.test('squares', async t => {
  await t.step('of two', () => {})
  await t.step('of three', () => {
    throw new Error('not equal')
  })
})
"""}
TYPES = {"test/types_test.ts": "const number: number = 'a text'\nDeno.test('types', () => console.log(number))\n"}
KARMA_CONF = """module.exports = config => config.set({
  frameworks: ['jasmine'], files: ['test/*.js'], browsers: ['jsdom'], singleRun: true,
  plugins: ['karma-jasmine', 'karma-jsdom-launcher'].map(name => require(name)),
  client: { jasmine: { random: false } },
})
"""
KARMA = Toy("node", "karma", "$N/karma --version", BASE | {"karma.conf.js": KARMA_CONF},
            *suite("", ".js", test="it", skip="xit")[:3], {"test/broken.js": "aFunctionThatNobodyHas()\n"})
PLAYWRIGHT = Toy("node", "playwright", "$N/playwright --version",
                 BASE | {"playwright.config.js": "module.exports = { testDir: 'test', workers: 1 }\n"},
                 *suite("const { expect, test } = require('@playwright/test')\n", ".spec.js",
                        suites="test.describe"))
FLAKY = {"playwright.config.js": "module.exports = { testDir: 'test', workers: 1, retries: 1 }\n",
         "test/flaky.spec.js": """const { expect, test } = require('@playwright/test')
test('connects', () => expect(test.info().retry).toBe(1))
"""}
QUNIT = Toy(
    "node", "qunit", "$N/qunit --version", BASE,
    {"test/sums.js": "QUnit.module('sums')\nQUnit.test('adds', a => a.equal(1 + 2, 3))\n"
                     "QUnit.test('subtracts', a => a.equal(3 - 2, 1))\n"},
    {"test/products.js": "QUnit.module('products')\nQUnit.test('multiplies', a => a.equal(2 * 3, 5))\n"},
    {"test/quotients.js": "QUnit.module('quotients')\nQUnit.skip('divides', a => a.equal(6 / 3, 2))\n"},
    {"test/broken.js": BROKEN})
UVU_HEAD = "const { test } = require('uvu')\n" + ASSERT
UVU = Toy(
    "node", "uvu", "node -p 'require(\"'$P/npm/node_modules/uvu/package.json'\").version'", BASE,
    {"test/sums.js": UVU_HEAD + f"test('adds', () => {EQUAL.format('1 + 2', 3)})\n"
                                f"test('subtracts', () => {EQUAL.format('3 - 2', 1)})\ntest.run()\n"},
    {"test/products.js": UVU_HEAD + f"test('multiplies', () => {EQUAL.format('2 * 3', 5)})\ntest.run()\n"},
    {"test/quotients.js": UVU_HEAD + f"test.skip('divides', () => {EQUAL.format('6 / 3', 2)})\ntest.run()\n"},
    {"test/broken.js": BROKEN})


def npm_test(script, files):
    package = PACKAGE.replace('"private"', f'"scripts": {{"test": "{script}"}}, "private"')
    return BASE | files | {"package.json": package}


def of_bun_and_deno():
    run, failed = "bun test", "products > multiplies"
    mixed = BUN.passing | BUN.failing | BUN.skipping
    made = BUN.standard(run, failed, f"FORCE_COLOR=1 {run}", f"{run} -t nothing-is-so-named",
                        {"crashed": ((0, 1, 0), []), "none-selected": ((0, 0, 0), [])})
    made += [BUN.case("no-file-matches", f"{run} nothing-is-so-named", BUN.passing),
             BUN.case("some-crashed", run, mixed | BUN.broken, (2, 2, 1), [failed])]
    run, failed = "deno test", "multiplies"
    mixed = DENO.passing | DENO.failing | DENO.skipping
    made += DENO.standard(f"NO_COLOR=1 {run}", failed, f"FORCE_COLOR=1 {run}",
                          f"NO_COLOR=1 {run} --filter nothing-is-so-named")
    made += [
        DENO.case("default-colours", run, mixed, (2, 1, 1), [failed]),
        DENO.case("steps", f"NO_COLOR=1 {run}", DENO_STEPS, (0, 1, 0), ["squares ... of three"]),
        DENO.case("types", f"NO_COLOR=1 {run}", TYPES),
        DENO.case("tap", f"NO_COLOR=1 {run} --reporter tap", mixed, (2, 1, 1), [failed]),
        DENO.case("dot", f"NO_COLOR=1 {run} --reporter dot", mixed, (2, 1, 1), [failed]),
    ]
    return made


def of_browsers():
    run, failed = "$N/karma start --no-colors", "products multiplies"
    mixed = KARMA.passing | KARMA.failing | KARMA.skipping
    made = KARMA.standard(run, failed, "$N/karma start --colors")
    made.append(KARMA.case("dots", f"{run} --reporters dots", mixed, (2, 1, 1), [failed]))
    run, failed = "$N/playwright test", "test/products.spec.js:3:3 › products › multiplies"
    mixed = PLAYWRIGHT.passing | PLAYWRIGHT.failing | PLAYWRIGHT.skipping
    made += PLAYWRIGHT.standard(run, failed, f"FORCE_COLOR=1 {run}", f"{run} --grep nothing-is-so-named")
    made += [PLAYWRIGHT.case(reporter, f"{run} --reporter {reporter}", mixed, (2, 1, 1), [failed])
             for reporter in ["list", "line"]]
    made.append(PLAYWRIGHT.case("flaky", run, PLAYWRIGHT.passing | FLAKY, (3, 0, 0)))
    return made


def of_others():
    run = "$N/qunit"
    made = QUNIT.standard(f"NO_COLOR=1 {run}", "products > multiplies", f"FORCE_COLOR=1 {run}",
                          f"{run} --filter nothing-is-so-named",
                          {"none-selected": ((0, 1, 0), ["global failure"]),
                           "crashed": ((0, 2, 0), ["global failure", "global failure"])})
    run = "node node_modules/uvu/bin.js test"
    made += UVU.standard(run, "multiplies", f"{run} --color", f"{run} nothing-is-so-named")
    return made


def cases():
    return of_bun_and_deno() + of_browsers() + of_others()
