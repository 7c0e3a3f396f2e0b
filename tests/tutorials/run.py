#!/usr/bin/env python3
"""Runs docs/tutorial-own-repository.md, command by command, on projects that nobody here made, as their
registries have them; then the same projects with a missing tool, without tests and with a failing one. Then
the plans of a monorepo and of docs/verification.md's virtual environment, and docs/tutorial-webhook.md, with the
receiver of docs/webhooks.md.

    tests/tutorials/run.py BIN_DIR    # where `awo`, `awo-local` and `runner` are
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial-own-repository.md"
WEBHOOK_PAGE = ROOT / "docs" / "tutorial-webhook.md"
VERIFICATION_PAGE = ROOT / "docs" / "verification.md"
START_LIMIT_S = 60


class Project:
    """A package, how it comes from its registry, and how its tests are taken away or made to fail."""

    def __init__(self, name, fetch, tests, broken):
        self.name, self.fetch, self.tests, self.broken = name, fetch, tests, broken


def unpacked(archive, into):
    """The folder that an archive of a registry holds."""
    with tarfile.open(archive) as tar:
        tar.extractall(into, filter="data")
    archive.unlink()
    (folder,) = [path for path in into.iterdir() if path.is_dir()]
    return folder


def from_pypi(into):
    run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
         "--dest", str(into), "inflection==0.5.1"])
    folder = unpacked(next(into.glob("*.tar.gz")), into)
    (folder / ".gitignore").write_text(".venv/\n__pycache__/\n*.egg-info/\n.pytest_cache/\n")
    return folder


def from_npm(into):
    run(["npm", "pack", "--silent", "--pack-destination", str(into), "concat-map@0.0.1"])
    folder = unpacked(next(into.glob("*.tgz")), into)
    (folder / ".gitignore").write_text("node_modules/\n")
    return folder


def from_crates(into):
    """A crate that this workspace depends on: cargo has it already."""
    metadata = run(["cargo", "metadata", "--locked", "--format-version", "1"], cwd=ROOT)
    packages = json.loads(metadata)["packages"]
    (manifest,) = [p["manifest_path"] for p in packages if p["name"] == "heck" and p["source"]]
    folder = into / "heck"
    shutil.copytree(Path(manifest).parent, folder)
    (folder / ".gitignore").write_text("target/\nCargo.lock\n")
    return folder


PROJECTS = [
    Project("python", from_pypi, ["test_inflection.py"], ("inflection/__init__.py", "'_', '-'", "'_', '+'")),
    Project("node", from_npm, ["test/map.js"], ("index.js", "fn(xs[i], i)", "fn(xs[0], i)")),
    Project("rust", from_crates, [], ("src/kebab.rs", '"-"', '"+"')),
]


def run(command, cwd=None, env=None, expected=0):
    """What a command prints. Ends everything if it exits with another code."""
    done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != expected:
        shown = command if isinstance(command, str) else " ".join(map(str, command))
        sys.exit(f"{shown}\n{done.stdout}\nexited with {done.returncode}, and not with {expected}")
    return done.stdout


def blocks(kind, page=PAGE):
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def committed(folder, env):
    git = ["git", "-C", str(folder)]
    run(["chown", "-R", f"{os.getuid()}:{os.getgid()}", str(folder)])
    run([*git, "init", "--quiet", "--initial-branch", "main"], env=env)
    run([*git, "add", "--all"], env=env)
    run([*git, "commit", "--quiet", "--message", "As its registry has it"], env=env)


def follow_page(project, folder, env):
    """The commands of the page, in its order."""
    plans = blocks(f"yaml {project.name}")
    for command in blocks("sh"):
        if plans and command.startswith("awo verify\n"):
            (folder / "verify.yaml").write_text(plans[0])
        output = run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=env)
        if command.startswith("awo verify\n") and "\nverified: " not in output:
            sys.exit(f"{project.name}: the plan verifies nothing:\n{output}")
    if "Say in NOTES.md" not in (folder / "NOTES.md").read_text():
        sys.exit(f"{project.name}: what the agent wrote is not in the branch that was merged")


def ends(project, folder, env, change, expected):
    """A work order on a changed project ends with this error, or unverified where there is none."""
    copy = folder.parent / "changed"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".venv", "node_modules", "target"))
    change(copy)
    run(["git", "-C", str(copy), "add", "--all"], env=env)
    run(["git", "-C", str(copy), "commit", "--quiet", "--message", "Changed"], env=env)
    submit = ["awo", "submit", "--repo", str(copy), "--prompt", "Write a note", "--follow", "--require-verified",
              "--max-iterations", "1", "--", "sh", "-c", "echo note >> NOTES.md"]
    output = run(submit, cwd=copy, env=env, expected=1)
    if expected not in output:
        sys.exit(f"{project.name}: {expected!r} is not in what awo output:\n{output}")
    shutil.rmtree(copy)


def receive_webhooks(folder, env):
    """The commands of the page on webhooks, in one shell, whose background ends with it."""
    receiver = blocks("python", ROOT / "docs" / "webhooks.md")[0]
    (shown,) = blocks("python", WEBHOOK_PAGE)
    changed, count = re.subn(r"^ +# Here: .*\n", shown, receiver, flags=re.MULTILINE)
    if count != 1:
        sys.exit("docs/webhooks.md: the receiver has no line to replace")
    (folder / "receiver.py").write_text("import json\n" + changed)
    commands = [*blocks("sh", WEBHOOK_PAGE)]
    # A reader is slower than a shell: the receiver is up before the next command, and has had the last event.
    commands.insert(1, "until grep -q listening received.txt; do sleep 0.1; done")
    commands.append("timeout 30 bash -c 'until grep -q run.completed <(tail -n +3 received.txt); do sleep 0.2; done'")
    script = "trap 'kill $(jobs -p)' EXIT\n" + "\n".join(commands)
    run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=env)
    received = (folder / "received.txt").read_text().split()
    for event in ["run.created", "run.started", "verification.passed", "run.completed"]:
        if event not in received:
            sys.exit(f"{event} was not received: {received}")


def without_tests(project):
    def change(folder):
        for test in project.tests:
            (folder / test).write_text("")
        if project.name == "rust":
            # Its tests stand in its sources; an empty library has none.
            shutil.rmtree(folder / "src")
            (folder / "src").mkdir()
            (folder / "src" / "lib.rs").write_text("")
    return change


def broken(project):
    def change(folder):
        name, before, after = project.broken
        text = (folder / name).read_text()
        if before not in text:
            sys.exit(f"{project.name}: {before} is not in {name}")
        (folder / name).write_text(text.replace(before, after))
    return change


def without_a_tool(folder):
    (folder / "verify.yaml").write_text('tests: [{name: unit, run: "a-tool-that-nobody-has --all"}]\n')


def verify(folder, plan, env):
    """A plan of a page verifies something in a repository, and passes."""
    (folder / "verify.yaml").write_text(plan)
    committed(folder, env)
    output = run(["awo", "verify"], cwd=folder, env=env)
    if "\nverified: " not in output:
        sys.exit(f"this plan verifies nothing:\n{plan}\n{output}")


def other_plans(work, env):
    """The plan of a monorepo, and that of a virtual environment with a file of requirements."""
    monorepo = work / "monorepo"
    for part, fetch in (("api", from_npm), ("core", from_crates)):
        into = work / f"part-{part}"
        into.mkdir()
        shutil.copytree(fetch(into), monorepo / part)
    verify(monorepo, *blocks("yaml monorepo"), env)
    into = work / "requirements"
    into.mkdir()
    folder = from_pypi(into)
    (folder / "requirements.txt").write_text("")
    (plan,) = [plan for plan in blocks("yaml", VERIFICATION_PAGE) if plan.startswith("setup:")]
    verify(folder, plan, env)


def start(data, env):
    """The service, once it serves."""
    ready = data / "ready.json"
    # A service on a port of the system's choice is not the one that `awo` finds by itself.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    service = subprocess.Popen(
        ["awo-local"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(data / "log", "w"),
        env=env | {"AWO_PORT": str(port), "AWO_DATA_DIR": str(data / "data"), "AWO_READY_FILE": str(ready)})
    deadline = time.monotonic() + START_LIMIT_S
    while not ready.exists():
        if service.poll() is not None or time.monotonic() > deadline:
            service.kill()
            sys.exit(f"the service does not start:\n{(data / 'log').read_text()}")
        time.sleep(0.05)
    return service


def main():
    (bin_dir,) = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="awo-tutorials.") as work:
        work = Path(work)
        # Agents are another user where they can be, and pass through here to their workspaces.
        work.chmod(0o711)
        home = work / "home"
        home.mkdir()
        env = os.environ | {
            "PATH": f"{Path(bin_dir).resolve()}:{os.environ['PATH']}",
            "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
            "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Reader", "GIT_AUTHOR_EMAIL": "reader@example.com",
            "GIT_COMMITTER_NAME": "Reader", "GIT_COMMITTER_EMAIL": "reader@example.com",
        }
        for name in ["AWO_URL", "AWO_API_KEY", "AWO_CONTEXT", "AWO_DATA_DIR", "CARGO_TARGET_DIR"]:
            env.pop(name, None)
        service = start(work, env)
        try:
            for project in PROJECTS:
                began = time.monotonic()
                into = work / project.name
                into.mkdir()
                folder = project.fetch(into)
                committed(folder, env)
                follow_page(project, folder, env)
                ends(project, folder, env, broken(project), "MAX_ITERATIONS_REACHED")
                ends(project, folder, env, without_a_tool, "a-tool-that-nobody-has")
                ends(project, folder, env, without_tests(project), "unverified")
                print(f"{project.name}: as the page says, and as it should end otherwise "
                      f"({time.monotonic() - began:.0f} s)", flush=True)
            other_plans(work, env)
            print("plans: a monorepo's and a virtual environment's verify", flush=True)
            receive_webhooks(work / PROJECTS[-1].name / "heck", env)
            print("webhook: received as the page says", flush=True)
        finally:
            service.terminate()
            service.wait()


main()
