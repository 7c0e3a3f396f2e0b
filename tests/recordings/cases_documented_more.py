"""Other versions of runners that are recorded, after their public documentation and examples."""

from cases_documented import documented

UNITTEST_NONE = "\n----------------------------------------------------------------------\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n"
SUREFIRE3 = """\
[INFO] Scanning for projects...
[INFO] 
[INFO] --------------------------< com.example:toy >---------------------------
[INFO] Building toy 1.0.0
[INFO]   from pom.xml
[INFO] --------------------------------[ jar ]---------------------------------
[INFO] 
[INFO] --- surefire:3.2.5:test (default-test) @ toy ---
[INFO] Using auto detected provider org.apache.maven.surefire.junitplatform.JUnitPlatformProvider
[INFO] 
[INFO] -------------------------------------------------------
[INFO]  T E S T S
[INFO] -------------------------------------------------------
[INFO] Running com.example.SumsTest
[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.051 s -- in com.example.SumsTest
[INFO] Running com.example.ProductsTest
[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.012 s <<< FAILURE! -- in com.example.ProductsTest
[ERROR] com.example.ProductsTest.multiplies -- Time elapsed: 0.005 s <<< FAILURE!
org.opentest4j.AssertionFailedError: expected: <5> but was: <6>
\tat com.example.ProductsTest.multiplies(ProductsTest.java:10)

[INFO] Running com.example.QuotientsTest
[WARNING] Tests run: 1, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0 s -- in com.example.QuotientsTest
[INFO] 
[INFO] Results:
[INFO] 
[ERROR] Failures: 
[ERROR]   ProductsTest.multiplies:10 expected: <5> but was: <6>
[INFO] 
[ERROR] Tests run: 4, Failures: 1, Errors: 0, Skipped: 1
[INFO] 
[INFO] ------------------------------------------------------------------------
[INFO] BUILD FAILURE
[INFO] ------------------------------------------------------------------------
"""
GRADLE8 = """\
> Task :compileJava
> Task :processResources NO-SOURCE
> Task :classes
> Task :compileTestJava
> Task :testClasses

> Task :test

ProductsTest > multiplies() FAILED
    org.opentest4j.AssertionFailedError at ProductsTest.java:10

4 tests completed, 1 failed, 1 skipped

> Task :test FAILED

FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':test'.
> There were failing tests. See the report at: file:///w/build/reports/tests/test/index.html

* Try:
> Run with --scan to get full insights.

BUILD FAILED in 2s
3 actionable tasks: 3 executed
"""
GRADLE_NO_SOURCE = """\
> Task :compileJava
> Task :processResources NO-SOURCE
> Task :classes
> Task :compileTestJava NO-SOURCE
> Task :processTestResources NO-SOURCE
> Task :testClasses UP-TO-DATE
> Task :test NO-SOURCE

BUILD SUCCESSFUL in 800ms
1 actionable task: 1 executed
"""
CYPRESS = """\
====================================================================================================

  (Run Starting)

  ┌────────────────────────────────────────────────────────────────────────────────────────────────┐
  │ Cypress:        13.13.2                                                                        │
  │ Browser:        Electron 118 (headless)                                                        │
  │ Specs:          1 found (products.cy.js)                                                       │
  └────────────────────────────────────────────────────────────────────────────────────────────────┘


────────────────────────────────────────────────────────────────────────────────────────────────────

  Running:  products.cy.js                                                                  (1 of 1)


  products
    ✓ adds (312ms)
    1) multiplies
    - divides


  1 passing (1s)
  1 pending
  1 failing

  1) products
       multiplies:

      AssertionError: expected 6 to equal 5
      + expected - actual

      -6
      +5
      
      at Context.eval (webpack:///./cypress/e2e/products.cy.js:8:18)


  (Results)

  ┌────────────────────────────────────────────────────────────────────────────────────────────────┐
  │ Tests:        3                                                                                │
  │ Passing:      1                                                                                │
  │ Failing:      1                                                                                │
  │ Pending:      1                                                                                │
  │ Skipped:      0                                                                                │
  └────────────────────────────────────────────────────────────────────────────────────────────────┘


====================================================================================================

  (Run Finished)


       Spec                                              Tests  Passing  Failing  Pending  Skipped  
  ┌────────────────────────────────────────────────────────────────────────────────────────────────┐
  │ ✖  products.cy.js                           00:01        3        1        1        1        - │
  └────────────────────────────────────────────────────────────────────────────────────────────────┘
    ✖  1 of 1 failed (100%)                     00:01        3        1        1        1        -  
"""
RAILS = """\
Running 4 tests in a single process (parallelization threshold is 50)
Run options: --seed 1

# Running:

..S.F

Failure:
ProductsTest#test_multiplies [test/models/products_test.rb:5]:
Expected: 5
  Actual: 6

bin/rails test test/models/products_test.rb:4



Finished in 0.123456s, 32.4000 runs/s, 24.3000 assertions/s.
4 runs, 3 assertions, 1 failures, 0 errors, 1 skips
"""


def cases():
    return [
        documented("python", "unittest-312-none-found", "3.12", UNITTEST_NONE, 5),
        documented("java", "surefire-3-mixed", "3.2.5", SUREFIRE3, 1, (2, 1, 1), ["ProductsTest.multiplies"]),
        documented("java", "gradle-8-mixed", "8.10", GRADLE8, 1, (2, 1, 1), ["ProductsTest > multiplies()"]),
        documented("java", "gradle-8-none-found", "8.10", GRADLE_NO_SOURCE, 0),
        documented("node", "cypress-mixed", "13.13", CYPRESS, 1, (1, 1, 1), ["products multiplies"]),
        documented("ruby", "rails-mixed", "7.2", RAILS, 1, (2, 1, 1), ["ProductsTest#test_multiplies"]),
    ]
