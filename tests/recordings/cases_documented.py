"""Runners that no registry of this project's machines has, after their public documentation and examples."""

from record import Case

BUILD = """\
  Determining projects to restore...
  All projects are up-to-date for restore.
  Toy -> /w/src/Toy/bin/Debug/net8.0/Toy.dll
  Toy.Tests -> /w/tests/Toy.Tests/bin/Debug/net8.0/Toy.Tests.dll
"""
HOST = """\
Test run for /w/tests/Toy.Tests/bin/Debug/net8.0/Toy.Tests.dll (.NETCoreApp,Version=v8.0)
VSTest version 17.11.1 (x64)

Starting test execution, please wait...
A total of 1 test files matched the specified pattern.
"""
XUNIT_FAILURE = """\
[xUnit.net 00:00:00.21]     Toy.Tests.Products.Multiplies [FAIL]
  Failed Toy.Tests.Products.Multiplies [5 ms]
  Error Message:
   Assert.Equal() Failure: Values differ
Expected: 5
Actual:   6
  Stack Trace:
     at Toy.Tests.Products.Multiplies() in /w/tests/Toy.Tests/Products.cs:line 9
   at System.RuntimeMethodHandle.InvokeMethod(Object target, Void** arguments, Signature sig, Boolean isConstructor)
"""
XUNIT_SKIP = """\
[xUnit.net 00:00:00.20]     Toy.Tests.Quotients.Divides [SKIP]
  Skipped Toy.Tests.Quotients.Divides [1 ms]
"""


def dotnet_line(word, failed, passed, skipped, dll="Toy.Tests"):
    total = failed + passed + skipped
    return (f"\n{word}!  - Failed: {failed:5}, Passed: {passed:5}, Skipped: {skipped:5}, Total: {total:5}, "
            f"Duration: 12 ms - {dll}.dll (net8.0)\n")


DOTNET_NORMAL = """\
  Passed Toy.Tests.Sums.Adds [2 ms]
  Passed Toy.Tests.Sums.Subtracts [< 1 ms]
"""
DOTNET_TOTALS = """\

Test Run Failed.
Total tests: 4
     Passed: 2
     Failed: 1
    Skipped: 1
 Total time: 1.2345 Seconds
"""
DOTNET_COMPILE = """\
  Determining projects to restore...
  All projects are up-to-date for restore.
/w/tests/Toy.Tests/Broken.cs(9,9): error CS0103: The name 'AMethodThatNobodyHas' does not exist in the current context [/w/tests/Toy.Tests/Toy.Tests.csproj]
"""
DOTNET_NONE_SELECTED = """\
No test matches the given testcase filter `NothingIsSoNamed` in /w/tests/Toy.Tests/bin/Debug/net8.0/Toy.Tests.dll
"""
DOTNET_NONE_FOUND = """\
No test is available in /w/tests/Toy.Tests/bin/Debug/net8.0/Toy.Tests.dll. Make sure that test discoverer & executors are registered and platform & framework version settings are appropriate and try again.

Additionally, path to test adapters can be specified using /TestAdapterPath command. Example  /TestAdapterPath:<pathToCustomAdapters>.
"""
DOTNET_PLATFORM = """\
Running tests from tests/Toy.Tests/bin/Debug/net10.0/Toy.Tests.dll (net10.0|x64)
failed Toy.Tests.Products.Multiplies (5ms)
  Assert.Equal() Failure: Values differ
  Expected: 5
  Actual:   6
    at Toy.Tests.Products.Multiplies() in /w/tests/Toy.Tests/Products.cs:9
tests/Toy.Tests/bin/Debug/net10.0/Toy.Tests.dll (net10.0|x64) failed with 1 error(s) (312ms)

Test run summary: Failed!
  total: 4
  failed: 1
  succeeded: 2
  skipped: 1
  duration: 478ms
"""
DOTNET_FAILED = "Toy.Tests.Products.Multiplies"

PEST = """
   PASS  Tests\\Unit\\SumsTest
  ✓ adds                                                                 0.01s  
  ✓ subtracts

"""
PEST_RED = """\
   FAIL  Tests\\Unit\\ProductsTest
  ⨯ multiplies                                                           0.01s  
"""
PEST_SKIP = """\
   WARN  Tests\\Unit\\QuotientsTest
  - divides → no division yet

"""
PEST_FAILURE = """\
  ────────────────────────────────────────────────────────────────────────────  
   FAILED  Tests\\Unit\\ProductsTest > multiplies                                 
  Failed asserting that 6 is identical to 5.

  at tests/Unit/ProductsTest.php:4
      1▕ <?php
      2▕ 
      3▕ it('multiplies', function () {
  ➜   4▕     expect(2 * 3)->toBe(5);
      5▕ });

"""
PHPUNIT_HEAD = """\
PHPUnit 11.3.1 by Sebastian Bergmann and contributors.

Runtime:       PHP 8.3.10
Configuration: /w/phpunit.xml

"""
PHPUNIT_MIXED = PHPUNIT_HEAD + """\
FS..                                                                4 / 4 (100%)

Time: 00:00.012, Memory: 8.00 MB

There was 1 failure:

1) ProductsTest::testMultiplies
Failed asserting that 6 is identical to 5.

/w/tests/ProductsTest.php:9

FAILURES!
Tests: 4, Assertions: 3, Failures: 1, Skipped: 1.
"""
PHPUNIT_SKIPPED = PHPUNIT_HEAD + """\
S..                                                                 3 / 3 (100%)

Time: 00:00.010, Memory: 8.00 MB

OK, but some tests were skipped!
Tests: 3, Assertions: 2, Skipped: 1.
"""
XCTEST_HEAD = """\
Building for debugging...
[5/5] Linking ToyPackageTests.xctest
Build complete! (2.31s)
"""


def xctest(failed, skipped):
    count = 2 + failed + skipped
    lines = [XCTEST_HEAD, "Test Suite 'All tests' started at 2024-08-28 10:00:00.000\n",
             "Test Suite 'debug.xctest' started at 2024-08-28 10:00:00.001\n"]
    if failed:
        lines += ["Test Suite 'ProductsTests' started at 2024-08-28 10:00:00.002\n",
                  "Test Case 'ProductsTests.testMultiplies' started at 2024-08-28 10:00:00.002\n",
                  '/w/Tests/ToyTests/ProductsTests.swift:5: error: ProductsTests.testMultiplies : XCTAssertEqual failed: ("6") is not equal to ("5") - \n',
                  "Test Case 'ProductsTests.testMultiplies' failed (0.001 seconds)\n",
                  "Test Suite 'ProductsTests' failed at 2024-08-28 10:00:00.003\n",
                  "\t Executed 1 test, with 1 failure (0 unexpected) in 0.001 (0.001) seconds\n"]
    if skipped:
        lines += ["Test Suite 'QuotientsTests' started at 2024-08-28 10:00:00.003\n",
                  "Test Case 'QuotientsTests.testDivides' started at 2024-08-28 10:00:00.003\n",
                  "/w/Tests/ToyTests/QuotientsTests.swift:5: QuotientsTests.testDivides : Test skipped - no division yet\n",
                  "Test Case 'QuotientsTests.testDivides' skipped (0.001 seconds)\n",
                  "Test Suite 'QuotientsTests' passed at 2024-08-28 10:00:00.004\n",
                  "\t Executed 1 test, with 1 test skipped and 0 failures (0 unexpected) in 0.001 (0.001) seconds\n"]
    lines += ["Test Suite 'SumsTests' started at 2024-08-28 10:00:00.004\n",
              "Test Case 'SumsTests.testAdds' started at 2024-08-28 10:00:00.004\n",
              "Test Case 'SumsTests.testAdds' passed (0.0 seconds)\n",
              "Test Case 'SumsTests.testSubtracts' started at 2024-08-28 10:00:00.004\n",
              "Test Case 'SumsTests.testSubtracts' passed (0.0 seconds)\n",
              "Test Suite 'SumsTests' passed at 2024-08-28 10:00:00.005\n",
              "\t Executed 2 tests, with 0 failures (0 unexpected) in 0.0 (0.0) seconds\n"]
    skip = "with 1 test skipped and " if skipped else "with "
    failures = "1 failure" if failed else "0 failures"
    total = f"\t Executed {count} tests, {skip}{failures} (0 unexpected) in 0.002 (0.002) seconds\n"
    word = "failed" if failed else "passed"
    lines += [f"Test Suite 'debug.xctest' {word} at 2024-08-28 10:00:00.005\n", total,
              f"Test Suite 'All tests' {word} at 2024-08-28 10:00:00.005\n", total]
    return "".join(lines)


XCTEST_NONE = XCTEST_HEAD + """\
Test Suite 'All tests' started at 2024-08-28 10:00:00.000
Test Suite 'debug.xctest' started at 2024-08-28 10:00:00.001
Test Suite 'debug.xctest' passed at 2024-08-28 10:00:00.001
\t Executed 0 tests, with 0 failures (0 unexpected) in 0.0 (0.0) seconds
Test Suite 'All tests' passed at 2024-08-28 10:00:00.001
\t Executed 0 tests, with 0 failures (0 unexpected) in 0.0 (0.0) seconds
"""
SWIFT_TESTING = XCTEST_HEAD + """\
◇ Test run started.
↳ Testing Library Version: 6.0
◇ Suite Sums started.
◇ Test adds() started.
◇ Test subtracts() started.
◇ Test multiplies() started.
➜ Test divides() skipped: "no division yet"
✔ Test adds() passed after 0.001 seconds.
✔ Test subtracts() passed after 0.001 seconds.
✘ Test multiplies() recorded an issue at ProductsTests.swift:5:5: Expectation failed: (2 * 3 → 6) == 5
✘ Test multiplies() failed after 0.001 seconds with 1 issue.
✔ Suite Sums passed after 0.001 seconds.
✘ Test run with 4 tests failed after 0.002 seconds with 1 issue.
"""
SWIFT_TESTING_GREEN = XCTEST_HEAD + """\
◇ Test run started.
↳ Testing Library Version: 6.0
◇ Test adds() started.
◇ Test subtracts() started.
✔ Test adds() passed after 0.001 seconds.
✔ Test subtracts() passed after 0.001 seconds.
✔ Test run with 2 tests passed after 0.001 seconds.
"""
SWIFT_COMPILE = """\
Building for debugging...
/w/Tests/ToyTests/BrokenTests.swift:5:9: error: cannot find 'aFunctionThatNobodyHas' in scope
 5 |         aFunctionThatNobodyHas()
   |         `- error: cannot find 'aFunctionThatNobodyHas' in scope
error: fatalError
"""

def documented(folder, name, version, text, code, counts=(0, 0, 0), names=()):
    return Case(folder, name, version, {}, "", counts, names, text=text, code=code)


def of_dotnet():
    def dotnet(name, text, code, counts=(0, 0, 0), names=(), version="8.0"):
        return documented("dotnet", f"dotnet-{name}", version, text, code, counts, names)
    head, failed = BUILD + HOST, [DOTNET_FAILED]
    mixed = head + XUNIT_SKIP + XUNIT_FAILURE
    colours = mixed.replace("  Failed Toy", "\x1b[31m  Failed\x1b[39m Toy").replace("  Skipped", "\x1b[33m  Skipped\x1b[39m")
    return [
        dotnet("green", head + dotnet_line("Passed", 0, 2, 0), 0, (2, 0, 0)),
        dotnet("red", head + XUNIT_FAILURE + dotnet_line("Failed", 1, 2, 0), 1, (2, 1, 0), failed),
        dotnet("skipped", head + XUNIT_SKIP + dotnet_line("Passed", 0, 2, 1), 0, (2, 0, 1)),
        dotnet("mixed", mixed + dotnet_line("Failed", 1, 2, 1), 1, (2, 1, 1), failed),
        dotnet("colours", colours + "\x1b[31m" + dotnet_line("Failed", 1, 2, 1).strip() + "\x1b[39m\n", 1, (2, 1, 1), failed),
        dotnet("normal", mixed + DOTNET_NORMAL + DOTNET_TOTALS, 1, (2, 1, 1), failed),
        dotnet("two-projects", head + dotnet_line("Passed", 0, 2, 0) + HOST.replace("Toy.Tests", "Toy.More")
               + XUNIT_FAILURE + dotnet_line("Failed", 1, 3, 0, "Toy.More"), 1, (5, 1, 0), failed),
        dotnet("none-found", head + DOTNET_NONE_FOUND, 0),
        dotnet("none-selected", head + DOTNET_NONE_SELECTED, 0),
        dotnet("crashed", DOTNET_COMPILE, 1),
        dotnet("testing-platform", DOTNET_PLATFORM, 2, (2, 1, 1), failed, "10.0"),
    ]


def of_swift():
    def swift(name, text, code, counts=(0, 0, 0), names=()):
        return documented("swift", name, "6.0", text, code, counts, names)
    failed = ["ProductsTests.testMultiplies"]
    return [
        swift("xctest-green", xctest(0, 0), 0, (2, 0, 0)), swift("xctest-red", xctest(1, 0), 1, (2, 1, 0), failed),
        swift("xctest-skipped", xctest(0, 1), 0, (2, 0, 1)), swift("xctest-mixed", xctest(1, 1), 1, (2, 1, 1), failed),
        swift("xctest-none-selected", XCTEST_NONE, 0), swift("xctest-crashed", SWIFT_COMPILE, 1),
        swift("swift-testing-green", SWIFT_TESTING_GREEN, 0, (2, 0, 0)),
        swift("swift-testing-mixed", SWIFT_TESTING, 1, (2, 1, 1), ["multiplies()"]),
    ]


def cases():
    summary = "\n  Tests:    {} ({} assertions)\n  Duration: 0.12s\n\n"
    failed = ["Tests\\Unit\\ProductsTest > multiplies"]
    return of_dotnet() + of_swift() + [
        documented("php", "pest-green", "3.0", PEST + summary.format("2 passed", 2), 0, (2, 0, 0)),
        documented("php", "pest-red", "3.0", PEST + PEST_RED + PEST_FAILURE + summary.format("1 failed, 2 passed", 3), 1,
                   (2, 1, 0), failed),
        documented("php", "pest-skipped", "3.0", PEST + PEST_SKIP + summary.format("1 skipped, 2 passed", 2), 0, (2, 0, 1)),
        documented("php", "pest-mixed", "3.0", PEST + PEST_SKIP + PEST_RED + PEST_FAILURE
                   + summary.format("1 failed, 1 skipped, 2 passed", 3), 1, (2, 1, 1), failed),
        documented("php", "pest-none-found", "3.0", "\n   INFO  No tests found.\n\n", 1),
        documented("php", "phpunit-11-mixed", "11.3", PHPUNIT_MIXED, 1, (2, 1, 1), ["ProductsTest::testMultiplies"]),
        documented("php", "phpunit-11-skipped", "11.3", PHPUNIT_SKIPPED, 0, (2, 0, 1)),
    ]
