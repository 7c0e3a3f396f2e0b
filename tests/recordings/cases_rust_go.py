"""Projects in Rust and Go: cargo test, cargo nextest, go test, gotestsum."""

from standard import Toy

MANIFEST = '[package]\nname = "toy"\nversion = "1.0.0"\nedition = "2021"\n'
LIB = "/// Adds one.\npub fn one_more(number: u32) -> u32 {\n    number + 1\n}\n"
DOC = """/// Adds one.
///
/// ```
/// assert_eq!(toy::one_more(1), 2);
/// ```
///
/// ```
/// assert_eq!(toy::one_more(1), 3);
/// ```
///
/// ```ignore
/// toy::two_more(1);
/// ```
pub fn one_more(number: u32) -> u32 {
    number + 1
}
"""
UNIT = LIB + """
#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(super::one_more(1), 2);
    }

    #[test]
    fn subtracts() {
        assert_eq!(3 - 2, 1);
    }
}
"""
CARGO = Toy(
    "rust", "cargo", "cargo --version", {"Cargo.toml": MANIFEST, "src/lib.rs": LIB}, {"src/lib.rs": UNIT},
    {"tests/products.rs": "#[test]\nfn multiplies() {\n    assert_eq!(2 * 3, 5);\n}\n"},
    {"tests/quotients.rs": '#[test]\n#[ignore = "no division yet"]\nfn divides() {\n    assert_eq!(6 / 3, 2);\n}\n'},
    {"src/lib.rs": UNIT.replace("number + 1", '"a text"')})
PANICS = {"tests/panics.rs": """#[test]
#[should_panic]
fn panics() {
    println!("test result: FAILED. 7 passed; 9 failed; 0 ignored");
}

#[test]
fn aborts() -> Result<(), String> {
    Err("no database".into())
}
"""}
ABORTS = {"tests/aborts.rs": "#[test]\nfn aborts() {\n    std::process::abort();\n}\n"}
GO_SUMS = """package toy

import "testing"

func TestAdds(t *testing.T) {
	if 1+2 != 3 {
		t.Fatal("not equal")
	}
}

func TestSubtracts(t *testing.T) {
	if 3-2 != 1 {
		t.Fatal("not equal")
	}
}
"""
GO = Toy(
    "go", "go", "go version", {"go.mod": "module example.com/toy\n\ngo 1.19\n", "toy.go": "package toy\n"},
    {"sums_test.go": GO_SUMS},
    {"products/products_test.go": "package products\n\nimport \"testing\"\n\nfunc TestMultiplies(t *testing.T) {\n"
                                  "\tif product := 2 * 3; product != 5 {\n\t\tt.Errorf(\"%d is not 5\", product)\n"
                                  "\t}\n}\n"},
    {"quotients/quotients_test.go": "package quotients\n\nimport \"testing\"\n\nfunc TestDivides(t *testing.T) {\n"
                                    "\tt.Skip(\"no division yet\")\n}\n"},
    {"broken/broken_test.go": "package broken\n\nimport \"testing\"\n\nfunc TestNever(t *testing.T) {\n"
                              "\ta.FunctionThatNobodyHas()\n}\n"})
GO_SUBTESTS = {"squares_test.go": """package toy

import "testing"

func TestSquares(t *testing.T) {
	for name, square := range map[string]int{"of two": 4} {
		t.Run(name, func(t *testing.T) {
			if square != 4 {
				t.Fail()
			}
		})
	}
	t.Run("of three", func(t *testing.T) {
		t.Log("PASS: TestInvented")
		t.Fatal("not equal")
	})
}
"""}
GO_PANIC = {"panics/panics_test.go": """package panics

import "testing"

func TestPanics(t *testing.T) {
	var numbers []int
	t.Log(numbers[1])
}

func TestAfter(t *testing.T) {}
"""}
GO_EXAMPLE = {"example_test.go": """package toy

import "fmt"

func ExampleToy() {
	fmt.Println("toys")
	// Output: toy
}
""", "toy.go": "package toy\n\ntype Toy struct{}\n"}


def of_rust():
    # As a plan runs it; the build's own lines come first.
    run, failed = "cargo test --no-fail-fast", "multiplies"
    names = {"crashed": ((0, 0, 0), [])}
    env = {"CARGO_TARGET_DIR": "/tmp/awo-recordings/target"}
    mixed = CARGO.passing | CARGO.failing | CARGO.skipping
    made = CARGO.standard(run, failed, f"{run} --color always -- --color always",
                          f"{run} nothing_is_so_named", names, env=env)
    fast = "cargo test"
    made += [
        CARGO.case("first-failure-only", fast, mixed | {"tests/sums.rs": "#[test]\nfn also() {}\n"}, (2, 1, 0),
                   [failed], env),
        CARGO.case("quiet", f"{run} --quiet", mixed, (2, 1, 1), [failed], env),
        CARGO.case("quiet-green", f"{run} --quiet", CARGO.passing, (2, 0, 0), env=env),
        CARGO.case("doc-tests", run, {"src/lib.rs": DOC}, (1, 1, 1), ["src/lib.rs - one_more (line 7)"], env),
        CARGO.case("panics", run, PANICS, (0, 2, 0), ["aborts", "panics"], env),
        CARGO.case("aborts", run, CARGO.passing | ABORTS, (2, 1, 0), [], env, ["failed"]),
        CARGO.case("ignored-only", f"{run} -- --ignored", mixed, (1, 0, 0), env=env),
        CARGO.case("no-manifest", f"rm Cargo.toml; {run}", {}, env=env),
    ]
    nextest = Toy("rust", "nextest", "cargo nextest --version", CARGO.base, CARGO.passing, CARGO.failing,
                  CARGO.skipping, CARGO.broken)
    run, failed = "cargo nextest run --no-fail-fast", "toy::products multiplies"
    made += nextest.standard(run, failed, f"{run} --color always", f"{run} nothing_is_so_named",
                             names | {"none-selected": ((0, 0, 2), [])}, env=env)
    made += [
        nextest.case("first-failure-only", "cargo nextest run -j 1", mixed | {
            "tests/sums.rs": "#[test]\nfn also() {}\n"}, (2, 1, 1), [failed], env),
        nextest.case("aborts", run, CARGO.passing | ABORTS, (2, 1, 0), ["toy::aborts aborts"], env),
        nextest.case("retries", f"{run} --retries 1", mixed, (2, 1, 1), [failed], env),
    ]
    return made


def of_go():
    run, failed = "go test ./...", "TestMultiplies"
    made = GO.standard(run, failed, None, f"{run} -run NothingIsSoNamed", hidden={
        name: ["passed", "skipped"] for name in ["green", "red", "skipped", "mixed"]})
    mixed = GO.passing | GO.failing | GO.skipping
    verbose, as_json = "go test -v ./...", "go test -json ./..."
    for name, run in (("verbose", verbose), ("json", as_json)):
        made += [
            GO.case(name, run, mixed, (2, 1, 1), [failed]),
            GO.case(f"{name}-green", run, GO.passing, (2, 0, 0)),
            GO.case(f"{name}-none-selected", f"{run} -run NothingIsSoNamed", GO.passing),
            GO.case(f"{name}-none-found", run, {}),
            GO.case(f"{name}-some-crashed", run, mixed | GO.broken, (2, 1, 1), [failed]),
            # The test of subtests is itself a test.
            GO.case(f"{name}-subtests", run, GO_SUBTESTS, (1, 2, 0), [
                "TestSquares", "TestSquares/of_three"]),
            GO.case(f"{name}-panic", run, GO.passing | GO_PANIC, (2, 1, 0), ["TestPanics"]),
            GO.case(f"{name}-example", run, GO.passing | GO_EXAMPLE, (2, 1, 0), ["ExampleToy"]),
        ]
    made += [
        GO.case("some-crashed", "go test ./...", mixed | GO.broken, (2, 1, 1), [failed],
                hidden=["passed", "skipped"]),
        GO.case("cached", ["go test ./...", "go test ./..."], GO.passing, (2, 0, 0), hidden=["passed"]),
        GO.case("cover", "go test -cover ./...", mixed, (2, 1, 1), [failed], hidden=["passed", "skipped"]),
        GO.case("no-module", "rm go.mod; go test ./...", {}),
    ]
    toy = Toy("go", "gotestsum", "dpkg-query -W gotestsum", GO.base, GO.passing, GO.failing, GO.skipping, GO.broken)
    run, failed = "gotestsum --no-color", "TestMultiplies"
    made += toy.standard(run, failed, "gotestsum --no-color=false", f"{run} -- -run NothingIsSoNamed ./...")
    made.append(toy.case("testname", f"{run} --format testname", mixed, (2, 1, 1), [failed]))
    return made


def cases():
    return of_rust() + of_go()
