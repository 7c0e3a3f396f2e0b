#!/usr/bin/env python3
"""Builds the clients of a release (infra/clients/build.py: Python, TypeScript, Go), installs each, runs one whole
scenario with it against the service on this machine, and fuzzes the service by its document.

    tests/clients/run.py BIN_DIR TOOLS_DIR    # where `awo-local` and `runner` are; where tools are kept

What a machine has no tool chain for is skipped, with the reason. A failure of what ran fails the whole.
`follow` and `wait` reach the service by a way that breaks off and refuses (flaky.py). The examples of docs/clients.md are run as they stand there, with the service's address, key and repository.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from pathlib import Path

from service import Service

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "clients.md"
PAGES_REPOSITORY = "https://git.example.com/service.git"
# The same inputs each time; the time bounds what a slow machine does of them.
FUZZ_SEED = 20261123
FUZZ_SECONDS = 45
FUZZ_EXAMPLES = 6
# What the document can say of the service. Whether each valid body is accepted depends on state (a parent
# that is there, a profile that exists), which no schema can say; so that is not checked here.
FUZZ_CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_headers_conformance", "response_schema_conformance", "unsupported_method", "ignored_auth",
]
GO_MODULE, GO_MODULE_PACKAGE = "gopkg.in/validator.v2", "golang-gopkg-validator.v2-dev"
FUZZER = "schemathesis==4.32.5"


def load_build():
    spec = importlib.util.spec_from_file_location("build", ROOT / "infra" / "clients" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = load_build()
run, Skipped = build.run, build.Skipped


def dist_of(work):
    """The folder for the package of a language, beside the one that it is built in."""
    (work / "build").mkdir()
    (work / "dist").mkdir()
    return work / "dist"


def example(language, repository):
    """The example of a language as the page has it, about a repository that is there."""
    block = PAGE.read_text().split(f"```{language}\n")[1].split("```")[0]
    if PAGES_REPOSITORY not in block:
        raise RuntimeError(f"the {language} example of {PAGE.name} names no {PAGES_REPOSITORY}")
    return block.replace(PAGES_REPOSITORY, repository)


# What comes before an example, and what its effect is: the agent of the default profile makes no test pass here.
PYTHON_PAGE = """import os
URL, KEY = os.environ["AWO_URL"], os.environ["AWO_API_KEY"]
{example}
assert event["type"] == "run." + run.status.replace("succeeded", "completed"), (event, run)
print("python: the page's example ended as", run.status)
"""
TYPESCRIPT_PAGE = """{imports}
const [URL, KEY] = [process.env.AWO_URL!, process.env.AWO_API_KEY!];
async function main() {{
{example}
if (!["failed", "succeeded"].includes(run.status)) throw new Error(JSON.stringify(run));
console.log("typescript: the page's example ended as", run.status);
}}
main().catch((error) => {{ console.error(error); process.exit(1); }});
"""
GO_PAGE = """package main

import (
	"context"
	"fmt"
	"os"

	"scenario/awo"
)

func main() {{
	url, key := os.Getenv("AWO_URL"), os.Getenv("AWO_API_KEY")
{example}
	if err != nil || run.CompletedAt == nil {{
		panic(fmt.Sprint(err, run))
	}}
	fmt.Println("go: the page's example ended as", run.Status)
}}
"""


def python_client(tool_dir, work, call):
    package = build.python_package(tool_dir, work / "build", dist_of(work))
    run([str(tool_dir / "venv/bin/pip"), "install", "--quiet", "--no-deps", "--target", str(work / "installed"), str(package)])
    (work / "page.py").write_text(PYTHON_PAGE.format(example=example("python", call.repository)))
    for script in (HERE / "python" / "scenario.py", work / "page.py"):
        call([str(tool_dir / "venv/bin/python"), str(script)], env={"PYTHONPATH": str(work / "installed")})


def typescript_client(tool_dir, work, call):
    package = build.typescript_package(tool_dir, work / "build", dist_of(work))
    shutil.copy(HERE / "typescript" / "scenario.ts", work)
    shutil.copy(HERE / "typescript" / "tsconfig.json", work)
    (work / "package.json").write_text('{"type": "commonjs"}\n')
    run(["npm", "install", "--offline", "--no-audit", "--no-fund", "--loglevel", "error", str(package)], cwd=work)
    (work / "node_modules" / "@types").symlink_to(tool_dir / "node_modules" / "@types")
    imports, rest = example("typescript", call.repository).split("\n", 1)
    (work / "page.ts").write_text(TYPESCRIPT_PAGE.format(imports=imports, example=rest))
    run([str(tool_dir / "node_modules/.bin/tsc"), "-p", str(work)])
    for script in ("scenario.js", "page.js"):
        call(["node", str(work / "out" / script)])


def module_of_debian(work, environment):
    """Where no module proxy answers: the generated client's only module, from Debian's package."""
    source = Path("/usr/share/gocode/src") / GO_MODULE
    if not source.exists() and shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", GO_MODULE_PACKAGE],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if not source.exists():
        raise Skipped("the module of the Go client cannot be fetched")
    shutil.copytree(source, work / "validator", ignore=shutil.ignore_patterns("*_test.go"))
    (work / "validator" / "go.mod").write_text(f"module {GO_MODULE}\n\ngo 1.19\n")
    run(["go", "mod", "edit", f"-replace={GO_MODULE}=./validator"], cwd=work, env=environment)


def go_client(tool_dir, work, call):
    if not shutil.which("go"):
        raise Skipped("there is no Go")
    with tarfile.open(build.go_package(tool_dir, work / "build", dist_of(work))) as package:
        package.extractall(work, filter="data")
    shutil.copytree(HERE / "go", work, dirs_exist_ok=True)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    try:
        run(["go", "mod", "download"], cwd=work, env=environment)
    except RuntimeError:
        module_of_debian(work, environment)
    (work / "page").mkdir()
    (work / "page" / "main.go").write_text(GO_PAGE.format(example=example("go", call.repository)))
    for program, package in (("scenario", "."), ("example", "./page")):
        run(["go", "build", "-o", program, package], cwd=work, env=environment)
        call([str(work / program)])


def fuzz(tool_dir, work, service):
    report = work / "report.json"
    command = [
        str(tool_dir / "venv/bin/schemathesis"), "run", f"{service.url}/openapi.json",
        "--header", f"Authorization: Bearer {service.key}", "--checks", ",".join(FUZZ_CHECKS),
        "--phases", "examples,coverage,fuzzing", "--seed", str(FUZZ_SEED), "--max-time", str(FUZZ_SECONDS),
        # One worker: two threads that parse Python at once break CPython 3.11's parser, now and then.
        "--max-examples", str(FUZZ_EXAMPLES), "--workers", "1", "--continue-on-failure", "--no-color",
        "--warnings", "off", "--request-timeout", "60", "--report", "json", "--report-json-path", str(report),
        # A purge of everything leaves the other operations nothing to answer about.
        "--exclude-path", "/api/v1/work-orders/purge",
    ]
    print(run(command, cwd=work)[-600:].strip())


def main():
    bin_dir, tool_dir = Path(sys.argv[1]).resolve(), build.tools(Path(sys.argv[2]).resolve(), FUZZER)
    folder = Path(tempfile.mkdtemp(prefix="awo-clients."))
    service = Service(bin_dir, folder)
    results, failures = {}, []

    def step(name, work):
        own = folder / name
        own.mkdir()
        began = time.monotonic()
        try:
            work(own)
            results[name] = "passed"
        except Skipped as why:
            results[name] = f"skipped: {why}"
        except Exception as why:  # the fault is reported below
            results[name] = "failed"
            failures.append(f"{name}: {why}")
        results[name] += f" ({time.monotonic() - began:.0f} s)"

    clients = [("python", python_client), ("typescript", typescript_client), ("go", go_client)]
    threads = [threading.Thread(target=step, args=(name, lambda own, make=make: make(tool_dir, own, service)))
               for name, make in clients]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        step("schemathesis", lambda own: fuzz(tool_dir, own, service))
    finally:
        service.stop()
    for name, result in results.items():
        print(f"{name:14} {result}")
    for failure in failures:
        print(failure, file=sys.stderr)
    counts = [sum(r.startswith(word) for r in results.values()) for word in ("passed", "failed", "skipped")]
    print("{} passed, {} failed, {} skipped".format(*counts))
    if not failures:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
