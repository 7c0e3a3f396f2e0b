"""Projects in Ruby, PHP and Elixir: rspec, minitest, test-unit, phpunit, ExUnit."""

from standard import Toy

RSPEC = Toy(
    "ruby", "rspec", "rspec --version", {"Gemfile": ""},
    {"spec/sums_spec.rb": "RSpec.describe 'sums' do\n  it('adds') { expect(1 + 2).to eq 3 }\n"
                          "  it('subtracts') { expect(3 - 2).to eq 1 }\nend\n"},
    {"spec/products_spec.rb": "RSpec.describe 'products' do\n  it('multiplies') { expect(2 * 3).to eq 5 }\nend\n"},
    {"spec/quotients_spec.rb": "RSpec.describe 'quotients' do\n  xit('divides') { expect(6 / 3).to eq 2 }\nend\n"},
    {"spec/broken_spec.rb": "require 'a_library_that_nobody_has'\n"})
RSPEC_PENDING = {"spec/pending_spec.rb": "RSpec.describe 'cubes' do\n  it 'are known' do\n    pending 'later'\n"
                                         "    expect(2 ** 3).to eq 9\n  end\n  it 'are fixed' do\n    pending 'later'\n"
                                         "    expect(2 ** 3).to eq 8\n  end\nend\n"}


def of_classes(folder, runner, version, require, parent, skip):
    def text(name, body):
        return f"require '{require}'\n\nclass {name} < {parent}\n{body}end\n"

    def test(name, left, right):
        return f"  def test_{name}\n    assert_equal {right}, {left}\n  end\n"
    return Toy(
        folder, runner, version, {"Rakefile": RAKEFILE},
        {"test/sums_test.rb": text("SumsTest", test("adds", "1 + 2", 3) + test("subtracts", "3 - 2", 1))},
        {"test/products_test.rb": text("ProductsTest", test("multiplies", "2 * 3", 5))},
        {"test/quotients_test.rb": text("QuotientsTest", f"  def test_divides\n    {skip} 'no division yet'\n  end\n")},
        {"test/broken_test.rb": "require 'a_library_that_nobody_has'\n"})


RAKEFILE = """require 'rake/testtask'
Rake::TestTask.new(:test) { |t| t.pattern = 'test/*_test.rb' }
"""
MINITEST = of_classes("ruby", "minitest", "ruby -e 'require \"minitest\"; puts Minitest::VERSION'",
                      "minitest/autorun", "Minitest::Test", "skip")
TEST_UNIT = of_classes("ruby", "test-unit", "dpkg-query -W ruby-test-unit",
                       "test/unit", "Test::Unit::TestCase", "omit")
MINITEST_ERROR = {"test/error_test.rb": "require 'minitest/autorun'\n\nclass ErrorTest < Minitest::Test\n"
                                        "  def test_reads\n    raise 'no database'\n  end\nend\n"}


def phpunit_class(name, body):
    return ("<?php\n\nuse PHPUnit\\Framework\\TestCase;\n\n" f"final class {name} extends TestCase\n{{\n{body}}}\n")


def phpunit_test(name, left, right):
    return (f"    public function test{name}(): void\n    {{\n        $this->assertSame({right}, {left});\n    }}\n")


PHPUNIT_XML = """<?xml version="1.0"?>
<phpunit cacheResult="false"><testsuites><testsuite name="all"><directory>tests</directory></testsuite></testsuites></phpunit>
"""
PHPUNIT = Toy(
    "php", "phpunit", "phpunit --version", {"phpunit.xml": PHPUNIT_XML, "tests/.gitkeep": ""},
    {"tests/SumsTest.php": phpunit_class("SumsTest", phpunit_test("Adds", "1 + 2", 3) + phpunit_test(
        "Subtracts", "3 - 2", 1))},
    {"tests/ProductsTest.php": phpunit_class("ProductsTest", phpunit_test("Multiplies", "2 * 3", 5))},
    {"tests/QuotientsTest.php": phpunit_class(
        "QuotientsTest", "    public function testDivides(): void\n    {\n"
                         "        $this->markTestSkipped('no division yet');\n    }\n")},
    {"tests/BrokenTest.php": "<?php\n\nrequire 'a_file_that_nobody_has.php';\n"})
PHPUNIT_ODD = {"tests/OddTest.php": phpunit_class(
    "OddTest", "    /** @dataProvider numbers */\n    public function testSquares(int $number, int $square): void\n"
               "    {\n        $this->assertSame($square, $number * $number);\n    }\n\n"
               "    public function numbers(): array\n    {\n"
               "        return ['of two' => [2, 4], 'of three' => [3, 8]];\n    }\n\n"
               "    public function testReads(): void\n    {\n"
               "        throw new RuntimeException('no database');\n    }\n\n"
               "    public function testRisky(): void\n    {\n    }\n\n"
               "    public function testLater(): void\n    {\n        $this->markTestIncomplete();\n    }\n")}
MIX = """defmodule Toy.MixProject do
  use Mix.Project

  def project, do: [app: :toy, version: "1.0.0"]
end
"""


def exunit(name, tests):
    return {f"test/{name.lower()}_test.exs": f"defmodule {name}Test do\n  use ExUnit.Case\n\n{tests}end\n"}


EXUNIT = Toy(
    "elixir", "exunit", "mix --version | tail -1", {"mix.exs": MIX, "test/test_helper.exs": "ExUnit.start(seed: 0)\n",
                                                    "lib/toy.ex": "defmodule Toy do\nend\n"},
    exunit("Sums", '  test "adds" do\n    assert 1 + 2 == 3\n  end\n\n  test "subtracts" do\n'
                   '    assert 3 - 2 == 1\n  end\n'),
    exunit("Products", '  test "multiplies" do\n    assert 2 * 3 == 5\n  end\n'),
    exunit("Quotients", '  @tag skip: "no division yet"\n  test "divides" do\n    assert 6 / 3 == 2\n  end\n'),
    {"test/broken_test.exs": "defmodule BrokenTest do\n  use AModuleThatNobodyHas\nend\n"})
DOCTEST = {"lib/toy.ex": 'defmodule Toy do\n  @doc """\n      iex> Toy.one_more(1)\n      3\n  """\n'
                         '  def one_more(number), do: number + 1\nend\n',
           "test/toy_test.exs": "defmodule ToyTest do\n  use ExUnit.Case\n  doctest Toy\nend\n"}


def of_ruby():
    run, failed = "rspec", "products multiplies"
    mixed = RSPEC.passing | RSPEC.failing | RSPEC.skipping
    made = RSPEC.standard(run, failed, f"{run} --force-color", f"{run} -e nothing-is-so-named")
    made += [
        RSPEC.case("documentation", f"{run} --format documentation", mixed, (2, 1, 1), [failed]),
        RSPEC.case("some-crashed", run, mixed | RSPEC.broken),
        # A pending example that passes is a failure.
        RSPEC.case("pending", run, RSPEC.passing | RSPEC_PENDING, (2, 1, 1), ["cubes are fixed"]),
    ]
    run = "rake test TESTOPTS='--seed=1{}'"
    mixed = MINITEST.passing | MINITEST.failing | MINITEST.skipping
    made += MINITEST.standard(run.format(""), "ProductsTest#test_multiplies", None,
                              run.format(" --name=/nothing_is_so_named/"))
    made += [
        MINITEST.case("verbose", run.format(" --verbose"), mixed, (2, 1, 1), ["ProductsTest#test_multiplies"]),
        MINITEST.case("colours", run.format(" --pride"), mixed, (2, 1, 1), ["ProductsTest#test_multiplies"]),
        MINITEST.case("error", run.format(""), MINITEST.passing | MINITEST_ERROR, (2, 1, 0), ["ErrorTest#test_reads"]),
    ]
    run = "rake test TESTOPTS='{}'"
    made += TEST_UNIT.standard(run.format(""), "test_multiplies(ProductsTest)", run.format("--use-color=yes"),
                               run.format("--name=nothing_is_so_named"))
    made.append(TEST_UNIT.case("verbose", run.format("--verbose"), TEST_UNIT.passing | TEST_UNIT.failing, (2, 1, 0),
                               ["test_multiplies(ProductsTest)"]))
    return made


def cases():
    made = of_ruby()
    run, failed = "phpunit", "ProductsTest::testMultiplies"
    mixed = PHPUNIT.passing | PHPUNIT.failing | PHPUNIT.skipping
    made += PHPUNIT.standard(run, failed, f"{run} --colors=always", f"{run} --filter NothingIsSoNamed")
    made += [
        PHPUNIT.case("testdox", f"{run} --testdox", mixed, (2, 1, 1)),
        # Risky and incomplete tests are counted apart.
        PHPUNIT.case("odd", run, PHPUNIT_ODD, (2, 2, 1), [
            'OddTest::testSquares with data set "of three" (3, 8)', "OddTest::testReads"]),
    ]
    run, failed = "mix test", "ProductsTest: test multiplies"
    mixed = EXUNIT.passing | EXUNIT.failing | EXUNIT.skipping
    failed = "test multiplies (ProductsTest)"
    made += EXUNIT.standard(run, failed, f"{run} --color", f"{run} --only nothing_is_so_named")
    made += [
        EXUNIT.case("trace", f"{run} --trace", mixed, (2, 1, 1), [failed]),
        EXUNIT.case("some-crashed", run, mixed | EXUNIT.broken),
        EXUNIT.case("doctest", run, DOCTEST | EXUNIT.passing, (2, 1, 0), ["doctest Toy.one_more/1 (1) (ToyTest)"]),
        EXUNIT.case("compile-error", run, EXUNIT.passing | {"lib/toy.ex": "defmodule Toy do\n  a_function()\nend\n"}),
    ]
    return made
