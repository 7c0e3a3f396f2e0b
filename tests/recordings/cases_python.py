"""Projects in Python: pytest, unittest, tox, nox."""

from standard import Toy

PYTEST = Toy(
    "python", "pytest", "$V/pytest --version", {"pytest.ini": "[pytest]\naddopts = -p no:cacheprovider\n"},
    {"test_sums.py": "def test_adds():\n    assert 1 + 2 == 3\n\n\ndef test_subtracts():\n    assert 3 - 2 == 1\n"},
    {"test_products.py": "def test_multiplies():\n    assert 2 * 3 == 5\n"},
    {"test_quotients.py": "import pytest\n\n\n@pytest.mark.skip(reason='no division yet')\n"
                          "def test_divides():\n    assert 6 / 3 == 2\n"},
    {"test_broken.py": "import a_module_that_nobody_has\n\n\ndef test_never():\n    assert True\n"})
FAILED = "test_products.py::test_multiplies"
XFAIL = {"test_expected.py": """import pytest


@pytest.mark.xfail(reason='known')
def test_known():
    assert 2 + 2 == 5


@pytest.mark.xfail(reason='fixed meanwhile')
def test_fixed():
    assert 2 + 2 == 4
"""}
FIXTURE = {"test_fixture.py": """import pytest


@pytest.fixture
def database():
    raise RuntimeError('no database')


def test_reads(database):
    assert database
"""}
PARAMETERS = {"tests/test_parameters.py": """import pytest


class TestSquares:
    @pytest.mark.parametrize('number, square', [(1, 1), (2, 4), (3, 8), (4, 'a b')])
    def test_squares(self, number, square):
        assert number * number == square
"""}
SUBTESTS = {"test_subtests.py": """def test_all(subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert number != 1
"""}
PRINTS = {"test_prints.py": """def test_prints():
    print('==== 7 failed, 9 passed in 0.1s ====')
    print('FAILED test_other.py::test_invented')
    assert False
"""}

UNITTEST = Toy(
    "python", "unittest", "$V/python --version", {},
    {"test_sums.py": "import unittest\n\n\nclass Sums(unittest.TestCase):\n"
                     "    def test_adds(self):\n        self.assertEqual(1 + 2, 3)\n\n"
                     "    def test_subtracts(self):\n        self.assertEqual(3 - 2, 1)\n"},
    {"test_products.py": "import unittest\n\n\nclass Products(unittest.TestCase):\n"
                         "    def test_multiplies(self):\n        self.assertEqual(2 * 3, 5)\n"},
    {"test_quotients.py": "import unittest\n\n\nclass Quotients(unittest.TestCase):\n"
                          "    @unittest.skip('no division yet')\n"
                          "    def test_divides(self):\n        self.assertEqual(6 / 3, 2)\n"},
    {"test_broken.py": "import a_module_that_nobody_has\n"})
UNITTEST_FAILED = "test_products.Products.test_multiplies"
ODD = {"test_odd.py": """import unittest


class Odd(unittest.TestCase):
    @unittest.expectedFailure
    def test_known(self):
        self.assertEqual(2 + 2, 5)

    @unittest.expectedFailure
    def test_fixed(self):
        self.assertEqual(2 + 2, 4)

    def test_raises(self):
        raise RuntimeError('no database')

    def test_subtests(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)
"""}

TOX_INI = """[tox]
envlist = {envs}
skipsdist = true

[testenv]
set_env = PYTHONPATH = {{env:P}}/venv/lib/python3.11/site-packages
pass_env = P
list_dependencies_command = python -c pass
commands = python -m {run} {{posargs}}
"""
NOXFILE = """import nox


@nox.session(venv_backend='none')
def tests(session):
    session.run('python', '-m', 'pytest', *session.posargs)


@nox.session(venv_backend='none')
def units(session):
    session.run('python', '-m', 'unittest', *session.posargs)
"""
# Of a run without a line of counts.
ALL = ["passed", "failed", "skipped"]


def of_toy(toy, runner, base):
    version = f"$V/{runner} --version"
    return Toy("python", runner, version, toy.base | base, toy.passing, toy.failing, toy.skipping, toy.broken)


def cases():
    run = "$V/python -m pytest"
    everything = PYTEST.passing | PYTEST.failing | PYTEST.skipping
    made = PYTEST.standard(run, FAILED, f"{run} --color=yes", f"{run} -k nothing_is_so_named",
                           {"crashed": ((0, 1, 0), ["test_broken.py"])})
    made += [
        PYTEST.case("quiet", f"{run} -q", everything, (2, 1, 1), [FAILED]),
        PYTEST.case("quiet-green", f"{run} -q", PYTEST.passing, (2, 0, 0)),
        PYTEST.case("quieter", f"{run} -qq", everything, (2, 1, 1), [FAILED], hidden=ALL),
        PYTEST.case("quieter-green", f"{run} -qq", PYTEST.passing, (2, 0, 0), hidden=ALL),
        PYTEST.case("verbose", f"{run} -v", everything, (2, 1, 1), [FAILED]),
        PYTEST.case("no-summary", f"{run} --no-summary --tb=no", everything, (2, 1, 1), [FAILED]),
        PYTEST.case("reasons-of-all", f"{run} -rA", everything, (2, 1, 1), [FAILED]),
        PYTEST.case("xdist", f"{run} -n 2", everything, (2, 1, 1), [FAILED]),
        PYTEST.case("xdist-verbose-colours", f"{run} -n 2 -v --color=yes", everything, (2, 1, 1), [FAILED]),
        # As its JUnit report counts them: an expected failure is skipped, an unexpected pass passed.
        PYTEST.case("expected-failures", run, XFAIL, (1, 0, 1)),
        PYTEST.case("fixture-error", run, PYTEST.passing | FIXTURE, (2, 1, 0), ["test_fixture.py::test_reads"]),
        PYTEST.case("parameters", run, PARAMETERS, (2, 2, 0), [
            "tests/test_parameters.py::TestSquares::test_squares[3-8]",
            "tests/test_parameters.py::TestSquares::test_squares[4-a b]"]),
        PYTEST.case("subtests", run, SUBTESTS, (0, 1, 0), ["test_subtests.py::test_all"]),
        PYTEST.case("first-failure-only", f"{run} -x", everything, (0, 1, 0), [FAILED]),
        PYTEST.case("prints-a-summary", run, PYTEST.passing | PRINTS, (2, 1, 0), ["test_prints.py::test_prints"]),
        PYTEST.case("deselected", f"{run} -k adds", PYTEST.passing, (1, 0, 0)),
        PYTEST.case("collect-only", f"{run} --collect-only -q", PYTEST.passing, (0, 0, 0)),
        PYTEST.case("some-crashed", run, everything | PYTEST.broken, (0, 1, 0), ["test_broken.py"]),
        PYTEST.case("bad-option", f"{run} --no-such-option", PYTEST.passing, (0, 0, 0)),
    ]
    run = "$V/python -m unittest"
    made += UNITTEST.standard(run, UNITTEST_FAILED, None, f"{run} -k nothing_is_so_named", {
        "crashed": ((0, 1, 0), ["unittest.loader._FailedTest.test_broken"])})
    everything = UNITTEST.passing | UNITTEST.failing | UNITTEST.skipping
    made += [
        UNITTEST.case("verbose", f"{run} -v", everything, (2, 1, 1), [UNITTEST_FAILED]),
        UNITTEST.case("odd", run, ODD, (0, 3, 1), [
            "test_odd.Odd.test_fixed", "test_odd.Odd.test_raises", "test_odd.Odd.test_subtests"]),
        UNITTEST.case("no-such-module", f"{run} tests.test_gone", {}, (0, 1, 0), [
            "unittest.loader._FailedTest.test_gone"]),
    ]
    tox = of_toy(PYTEST, "tox", {"tox.ini": TOX_INI.format(envs="py", run="pytest")})
    run = "$V/tox"
    made += tox.standard(run, FAILED, f"{run} --colored yes -- --color=yes", f"{run} -- -k nothing_is_so_named",
                         {"crashed": ((0, 1, 0), ["test_broken.py"])})
    two = {"tox.ini": TOX_INI.format(envs="a,b", run="pytest")}
    made.append(tox.case("two-environments", run, two | PYTEST.passing | PYTEST.failing, (4, 2, 0),
                         [FAILED, FAILED]))
    made.append(tox.case("unittest", run, UNITTEST.passing | UNITTEST.failing | {
        "tox.ini": TOX_INI.format(envs="py", run="unittest")}, (2, 1, 0), [UNITTEST_FAILED]))
    nox = of_toy(PYTEST, "nox", {"noxfile.py": NOXFILE})
    run = 'PATH="$V:$PATH" nox'
    made += nox.standard(f"{run} -s tests", FAILED, f"{run} --forcecolor -s tests -- --color=yes",
                         f"{run} -s tests -- -k nothing_is_so_named",
                         {"crashed": ((0, 1, 0), ["test_broken.py"])})
    made.append(nox.case("two-sessions", run, UNITTEST.passing | UNITTEST.failing, (4, 2, 0),
                         ["test_products.py::Products::test_multiplies", UNITTEST_FAILED]))
    return made
