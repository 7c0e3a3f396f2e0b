"""Projects in C and Perl: ctest, meson test, make check of automake, prove."""

from standard import Toy


def program(code, text=""):
    return f'#include <stdio.h>\n\nint main(void)\n{{\n    puts("{text}");\n    return {code};\n}}\n'


CMAKE_HEAD = """cmake_minimum_required(VERSION 3.20)
project(toy C)
enable_testing()
file(GLOB sources CONFIGURE_DEPENDS *_test.c)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
"""
SOURCES = [
    {"adds_test.c": program(0, "added"), "subtracts_test.c": program(0, "subtracted")},
    {"multiplies_test.c": program(1, "6 is not 5")},
    {"divides_test.c": program(77, "no division yet")},
    {"broken_test.c": '#include "a_header_that_nobody_has.h"\n'}]
CTEST = Toy("c", "ctest", "$V/ctest --version", {"CMakeLists.txt": CMAKE_HEAD}, *SOURCES)
CRASH = {"crash_test.c": "#include <stdlib.h>\n\nint main(void)\n{\n    abort();\n}\n"}
MESON_BUILD = """project('toy', 'c')
foreach name : run_command('sh', '-c', 'ls *_test.c 2>/dev/null || true', check: true).stdout().split()
  test(name.replace('_test.c', ''), executable(name.underscorify(), name))
endforeach
"""
MESON = Toy("c", "meson", "$V/meson --version", {"meson.build": MESON_BUILD}, *SOURCES)
# As automake's parallel harness and its TAP driver want them.
CONFIGURE = """AC_INIT([toy], [1.0])
AM_INIT_AUTOMAKE([foreign])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
"""


def automake(tests):
    return {"configure.ac": CONFIGURE, "Makefile.am": f"TESTS = {' '.join(tests)}\nTEST_EXTENSIONS = .sh\n"
                                                      "SH_LOG_COMPILER = sh\n"}


AUTOMAKE = Toy(
    "c", "automake", "automake --version", {},
    automake(["adds.sh", "subtracts.sh"]) | {"adds.sh": "exit 0\n", "subtracts.sh": "exit 0\n"},
    {"multiplies.sh": "echo 6 is not 5\nexit 1\n"}, {"divides.sh": "exit 77\n"}, {"broken.sh": "exit 99\n"})
TAP_HEAD = "use strict;\nuse warnings;\nuse Test::More"
PROVE = Toy(
    "c", "prove", "prove --version", {"t/.gitkeep": ""},
    {"t/sums.t": f"{TAP_HEAD} tests => 2;\nis 1 + 2, 3, 'adds';\nis 3 - 2, 1, 'subtracts';\n"},
    {"t/products.t": f"{TAP_HEAD};\nis 2 * 3, 5, 'multiplies';\ndone_testing;\n"},
    {"t/quotients.t": f"{TAP_HEAD};\nSKIP: {{\n    skip 'no division yet', 1;\n}}\ndone_testing;\n"},
    {"t/broken.t": "use AModuleThatNobodyHas;\n"})


def of_cmake_and_meson():
    prepare = ["PATH=$V:$PATH $V/cmake -S . -B build -G Ninja && $V/cmake --build build"]
    run = "$V/ctest --test-dir build"
    mixed = CTEST.passing | CTEST.failing | CTEST.skipping
    made = CTEST.standard(run, "multiplies_test", None, f"{run} -R nothing_is_so_named",
                          {"crashed": None}, prepare)
    made += [
        CTEST.case("output-on-failure", [*prepare, f"{run} --output-on-failure"], mixed, (2, 1, 1), ["multiplies_test"]),
        CTEST.case("colours", [*prepare, f"CLICOLOR_FORCE=1 {run}"], mixed, (2, 1, 1), ["multiplies_test"]),
        CTEST.case("verbose", [*prepare, f"{run} -V"], CTEST.passing | CTEST.failing, (2, 1, 0), ["multiplies_test"]),
        CTEST.case("aborts", [*prepare, run], CTEST.passing | CRASH, (2, 1, 0), ["crash_test"]),
        CTEST.case("crashed", f"{prepare[0]}", CTEST.broken),
        CTEST.case("not-built", ["PATH=$V:$PATH $V/cmake -S . -B build -G Ninja", run], CTEST.passing, (0, 2, 0),
                   ["adds_test", "subtracts_test"]),
    ]
    prepare, run = ["PATH=$V:$PATH $V/meson setup build"], "PATH=$V:$PATH $V/meson test -C build"
    made += MESON.standard(run, "toy:multiplies", f"{run} --print-errorlogs", f"{run} nothing_is_so_named",
                           {"colours": None}, prepare)
    made += [
        MESON.case("error-logs", [*prepare, f"{run} --print-errorlogs"], mixed, (2, 1, 1), ["toy:multiplies"]),
        MESON.case("verbose", [*prepare, f"{run} -v"], mixed, (2, 1, 1), ["toy:multiplies"]),
        MESON.case("aborts", [*prepare, run], MESON.passing | CRASH, (2, 1, 0), ["toy:crash"]),
    ]
    return made


def of_automake_and_prove():
    prepare, run = ["autoreconf -i && ./configure"], "make check"
    every = ["adds.sh", "subtracts.sh", "multiplies.sh", "divides.sh"]
    mixed = AUTOMAKE.passing | AUTOMAKE.failing | AUTOMAKE.skipping
    failed = "multiplies.sh"
    made = [
        AUTOMAKE.case("green", [*prepare, run], AUTOMAKE.passing, (2, 0, 0)),
        AUTOMAKE.case("red", [*prepare, run], AUTOMAKE.passing | AUTOMAKE.failing | automake(every[:3]), (2, 1, 0), [failed]),
        AUTOMAKE.case("mixed", [*prepare, run], mixed | automake(every), (2, 1, 1), [failed]),
        AUTOMAKE.case("verbose", [*prepare, f"VERBOSE=1 {run}"], mixed | automake(every), (2, 1, 1), [failed]),
        AUTOMAKE.case("colours", [*prepare, f"AM_COLOR_TESTS=always {run}"], mixed | automake(every), (2, 1, 1), [failed]),
        AUTOMAKE.case("skipped", [*prepare, run], AUTOMAKE.passing | AUTOMAKE.skipping | automake(
            ["adds.sh", "subtracts.sh", "divides.sh"]), (2, 0, 1)),
        AUTOMAKE.case("none-selected", [*prepare, f"{run} TESTS="], AUTOMAKE.passing),
        AUTOMAKE.case("none-found", [*prepare, run], automake([])),
        AUTOMAKE.case("crashed", [*prepare, run], AUTOMAKE.broken | automake(["broken.sh"]), (0, 1, 0), ["broken.sh"]),
    ]
    run, failed = "prove -r t", "multiplies"
    # It names files, and counts a skipped test as one that passed.
    unseen = ["passed", "skipped"]
    made += PROVE.standard(run, "t/products.t", f"{run} --color", "prove t/nothing-is-so-named.t",
                           {"crashed": ((0, 1, 0), ["t/broken.t"])},
                           hidden={"mixed": unseen, "colours": unseen, "skipped": unseen, "crashed": ["failed"]})
    mixed = PROVE.passing | PROVE.failing | PROVE.skipping
    made += [
        PROVE.case("verbose", "prove -rv t", mixed, (2, 1, 1), [failed]),
        PROVE.case("no-files", "prove t", PROVE.passing, (2, 0, 0)),
    ]
    return made


def cases():
    return of_cmake_and_meson() + of_automake_and_prove()
