#!/usr/bin/env python3
"""Measures the packages of manifest.toml: the plan that `awo verify` derives, its verdict and time beside the commands of
a maintainer, and one seeded fault through a local service, with an agent that knows the fix. Writes the table of
docs/repositories.md.

    tests/repositories/run.py BIN_DIR                     # all packages
    tests/repositories/run.py BIN_DIR --only 'npm|heck'   # those whose registry or name matches
    tests/repositories/run.py BIN_DIR --work DIR          # keeps downloads and results there; a later run goes on

Nothing of a package is committed: downloads are pinned by hash and live in the work folder. A package that is wrong in
any column stays in the table.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from datetime import datetime
from pathlib import Path

import packages
import table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Of a maintainer's commands, of a verification and of a run with its two iterations.
BARE_LIMIT_S = 600
# The priority of a verification's commands, which those of a maintainer have here, too.
NICENESS = 10
RUN_LIMIT_S = 1200
START_LIMIT_S = 60
# Its text, since an agent cannot read files of another folder.
ORACLE = (HERE / "oracle.py").read_text()


def environment(work, bin_dir):
    """What a developer's shell has: a home of its own, the machine's programs, no setting of another service."""
    home = work / "home"
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n[user]\n\tname = Maintainer\n"
                                     "\temail = maintainer@example.com\n")
    env = os.environ | {
        "PATH": f"{Path(bin_dir).resolve()}:{os.environ['PATH']}", "HOME": str(home), "CI": "true",
        "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
    }
    for name in ["AWO_URL", "AWO_API_KEY", "AWO_CONTEXT", "AWO_DATA_DIR", "CARGO_TARGET_DIR", "VIRTUAL_ENV"]:
        env.pop(name, None)
    return env


def timed(command, cwd, env, limit):
    """Exit code, output and seconds; a command that takes longer than its limit has none of the codes."""
    began = time.monotonic()
    with subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
                          preexec_fn=lambda: os.nice(NICENESS)) as process:
        try:
            output, errors = process.communicate(timeout=limit)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            code = None
    return code, output, errors, time.monotonic() - began


def cpu_seconds():
    """CPU time of all processes that were started here and are over."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def clone(repository, into):
    shutil.rmtree(into, ignore_errors=True)
    packages.run(["git", "clone", "--quiet", "--no-hardlinks", str(repository), str(into)])
    return into


def read_json(text):
    try:
        return json.loads(text)
    except ValueError:
        return {}


def plan_of(folder, env):
    _, output, errors, _ = timed(["awo", "verify", "--plan", "--json", str(folder)], folder, env, 60)
    plan = read_json(output)
    plan = plan.get("plan", plan)
    return [step["run"] for step in plan.get("steps", []) if "run" in step], errors.strip()


def verdict_of(result):
    """The word of a verification: verified, unverified (passed, and no test counted), failed or error."""
    status = result.get("result", {}).get("overallStatus")
    if status in ("passed", "warning"):
        return "verified" if result.get("verified") else "unverified"
    return status or "none"


def checks_of(result):
    plugins = result.get("result", {}).get("results", [])
    return [check for plugin in plugins for check in plugin.get("checks", [])]


def milliseconds(check):
    """Time of a check's command, as its message has it."""
    took = re.search(r"after (\d+) ms", check.get("message", ""))
    return int(took.group(1)) if took else 0


def own_seconds(verification):
    """Time of a verification beside that of its commands."""
    checks = [check for plugin in verification.get("results", []) for check in plugin.get("checks", [])]
    return (verification.get("durationMs", 0) - sum(map(milliseconds, checks))) / 1000


def failing_checks(result):
    checks = [check for check in checks_of(result) if check["status"] in ("failed", "error")]
    return [f"{check['name']}: {check.get('message', '')}" for check in checks]


def bare(package, repository, work, env):
    """The maintainer's commands in a clone of its own: installation, then the rest."""
    folder = clone(repository, work / "bare")
    before, install, verdict, tail = cpu_seconds(), 0, "passed", ""
    for part in ["install", "maintainer"]:
        if part not in package or verdict != "passed":
            continue
        code, output, errors, seconds = timed(["bash", "-euo", "pipefail", "-c", package[part]], folder, env,
                                              BARE_LIMIT_S)
        verdict = "timeout" if code is None else "passed" if code == 0 else "failed"
        tail = (output + errors)[-1500:]
        if part == "install":
            install = seconds
    cpu = cpu_seconds() - before
    shutil.rmtree(folder, ignore_errors=True)
    return {"verdict": verdict, "install": install, "seconds": seconds, "cpu": cpu, "tail": tail}


def verified(package, repository, work, env):
    folder = clone(repository, work / "verified")
    steps, note = plan_of(folder, env)
    # A plan is right if it has each command that a maintainer would run, in this order.
    text, position, right = "\n".join(steps), 0, bool(steps) == bool(package["plan"])
    for pattern in package["plan"]:
        match = re.compile(pattern).search(text, position)
        right = right and match is not None
        position = match.end() if match else position
    before = cpu_seconds()
    code, output, errors, seconds = timed(["awo", "verify", "--json", str(folder)], folder, env, BARE_LIMIT_S)
    cpu = cpu_seconds() - before
    result = read_json(output)
    shutil.rmtree(folder, ignore_errors=True)
    install = sum(milliseconds(check) for check in checks_of(result) if check["name"].endswith("install")) / 1000
    return {"plan": steps, "right_plan": right, "note": note, "exit": code, "verdict": verdict_of(result),
            "tests": result.get("verification", {}).get("tests"), "advice": result.get("plan", {}).get("advice"),
            "install": install, "seconds": seconds - install, "cpu": cpu, "own": own_seconds(result.get("result", {})),
            "failing": failing_checks(result)[:3] or [errors.strip()[-500:]]}


def seeded(package, repository, work, env):
    """The fault through the service: found by the first verification, fed back, fixed by the second, delivered."""
    fault = package["fault"]
    folder = clone(repository, work / "seeded")
    packages.replace(folder, fault)
    packages.commit(folder, "A change")
    oracle = json.dumps({"file": fault["file"], "before": fault["after"], "after": fault["before"]})
    submit = ["awo", "submit", "--json", "--repo", str(folder), "--prompt", "Keep the tests green", "--max-iterations",
              "2", "--follow", "--", "python3", "-c", ORACLE, oracle]
    code, output, errors, seconds = timed(submit, folder, env, RUN_LIMIT_S)
    identifiers = re.findall(r"\brun_[0-9a-z]+", output + errors)
    found = {"seconds": seconds, "exit": code, "log": (output + errors)[-1500:]}
    stages = dict.fromkeys(["found", "fed_back", "fixed", "delivered"], False)
    if identifiers:
        stages = seeded_stages(identifiers[-1], folder, fault, env)
    shutil.rmtree(folder, ignore_errors=True)
    return found | stages


def seeded_stages(run_id, folder, fault, env):
    _, output, _, _ = timed(["awo", "events", run_id, "--json"], folder, env, 60)
    _, logs, _, _ = timed(["awo", "logs", run_id], folder, env, 60)
    events = [read_json(line) for line in output.splitlines()] if "\n{" in output.strip() else read_json(output)
    events = events.get("events", events.get("items", [])) if isinstance(events, dict) else events
    kinds = [event.get("type", "") for event in events]
    branch = subprocess.run(["git", "-C", str(folder), "show", f"awo/{run_id}:{fault['file']}"], capture_output=True,
                            text=True, check=False, env=env)
    found = "verification.failed" in kinds
    passed = [event for event in events if event.get("type") == "verification.passed"]
    started = [event for event in events if event.get("type") == "verification.started"]
    own = None
    if passed and started:
        begun, ended = (datetime.fromisoformat(event["timestamp"]) for event in (started[-1], passed[-1]))
        commands = own_seconds(passed[-1]["data"] | {"durationMs": 0})
        own = (ended - begun).total_seconds() + commands
    return {"own": own, "found": found, "fed_back": "oracle: the prompt has feedback" in logs,
            "fixed": found and "verification.passed" in kinds,
            "delivered": branch.returncode == 0 and fault["before"] in branch.stdout}


def start_service(work, env):
    """The local service, once it serves."""
    data = Path(tempfile.mkdtemp(prefix="service.", dir=work))
    data.chmod(0o711)
    ready = data / "ready.json"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = open(data / "log", "w", encoding="utf-8")
    service = subprocess.Popen(["awo-local"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                               env=env | {"AWO_PORT": str(port), "AWO_DATA_DIR": str(data / "data"),
                                          "AWO_READY_FILE": str(ready)})
    deadline = time.monotonic() + START_LIMIT_S
    while not ready.exists():
        if service.poll() is not None or time.monotonic() > deadline:
            service.kill()
            sys.exit(f"the service does not start:\n{(data / 'log').read_text()}")
        time.sleep(0.05)
    return service, data


def measure(package, work, env):
    repository = work / "repositories" / package["name"]
    packages.repository(package, work / "downloads", repository)
    result = {"bare": bare(package, repository, work, env), "awo": verified(package, repository, work, env)}
    if "fault" in package:
        result["seeded"] = seeded(package, repository, work, env)
    shutil.rmtree(repository, ignore_errors=True)
    return result


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin_dir")
    parser.add_argument("--only", default="")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--table", type=Path, default=ROOT / "docs" / "repositories.md")
    return parser.parse_args()


def main():
    given = arguments()
    manifest = tomllib.loads((HERE / "manifest.toml").read_text())["package"]
    work = given.work or Path(tempfile.mkdtemp(prefix="awo-repositories."))
    work.mkdir(parents=True, exist_ok=True)
    work = work.resolve()
    # Agents are another user, and pass through here to their workspaces.
    work.chmod(0o711)
    env = environment(work, given.bin_dir)
    results_file = work / "results.json"
    results = json.loads(results_file.read_text()) if results_file.exists() else {}
    service, data = start_service(work, env)
    try:
        for package in manifest:
            name = package["name"]
            if not re.search(given.only, f"{package['registry']} {name}"):
                continue
            try:
                results[name] = measure(package, work, env)
            except (packages.PackageError, subprocess.TimeoutExpired, OSError) as error:
                results[name] = {"unavailable": str(error)[-400:]}
            results[name]["date"] = time.strftime("%Y-%m-%d")
            results_file.write_text(json.dumps(results, indent=1))
            print(table.line(package, results[name]), flush=True)
    finally:
        service.terminate()
        service.wait()
        shutil.rmtree(data, ignore_errors=True)
        if not given.work:
            shutil.rmtree(work, ignore_errors=True)
    given.table.write_text(table.page(manifest, results))


if __name__ == "__main__":
    main()
