#!/usr/bin/env python3
"""Measures what the caches of an environment save: a Node and a Python project with packages from npm and PyPI,
each in three runs, of which the first finds nothing in the cache. Prints the time of the setup that each run's event
`environment.ready` has.

    tests/caches/measure.py BIN_DIR [PROJECT…]    # where `awo-local` and `runner` are
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

LIMIT_S = 600
RUNS = 3
PROJECTS = {
    "node": {
        "files": {"package.json": json.dumps({
            "name": "app", "version": "1.0.0", "private": True,
            "dependencies": {"express": "4.21.2", "lodash": "4.17.21"},
            "devDependencies": {"eslint": "9.17.0", "typescript": "5.7.2", "webpack": "5.97.1", "jest": "29.7.0"},
        })},
        "lock": ["npm", "install", "--package-lock-only", "--no-audit", "--no-fund", "--loglevel", "error"],
        "setup": "test -d node_modules || npm ci --no-audit --no-fund --loglevel error",
        "caches": ["node_modules"],
        "check": "node -e \"require('express'); require('typescript')\"",
        "ignored": "node_modules\n",
    },
    "python": {
        "files": {"requirements.txt": "django==5.1.4\nnumpy==2.2.1\npandas==2.2.3\nrequests==2.32.3\npytest==8.3.4\n"},
        "lock": None,
        "setup": "test -d .venv || python3 -m venv .venv; .venv/bin/python -m pip install --quiet "
                 "--disable-pip-version-check --requirement requirements.txt",
        "caches": [".venv"],
        "check": ".venv/bin/python -c 'import django, pandas, pytest'",
        "ignored": ".venv\n",
    },
}


def run(command, **options):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **options)


class Service:
    """The service on this machine, with its key."""

    def __init__(self, bin_dir, work):
        ready = work / "ready.json"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [str(bin_dir / "awo-local")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(work / "log", "w", encoding="utf-8"),
            env=os.environ | {"AWO_PORT": str(port), "AWO_DATA_DIR": str(work / "data"), "AWO_READY_FILE": str(ready),
                              "PATH": f"{bin_dir}:{os.environ['PATH']}"})
        deadline = time.monotonic() + 60
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit((work / "log").read_text())
            time.sleep(0.05)
        ready_file = json.loads(ready.read_text())
        self.url, self.key = ready_file["baseUrl"], ready_file["apiKey"]

    def call(self, path, body=None):
        request = urllib.request.Request(
            self.url + path, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


def repository(project, folder):
    folder.mkdir()
    for name, text in project["files"].items():
        (folder / name).write_text(text)
    (folder / ".gitignore").write_text(project["ignored"])
    plan = {"tests": [{"name": "imports", "run": project["check"]}]}
    (folder / "verify.yaml").write_text(json.dumps(plan) + "\n")
    if project["lock"]:
        run(project["lock"], cwd=folder)
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@localhost"]
    run([*git, "init", "--quiet", "--initial-branch", "main"])
    run([*git, "add", "--all"])
    run([*git, "commit", "--quiet", "--message", "base"])
    bare = folder.with_suffix(".git")
    run(["git", "clone", "--quiet", "--bare", str(folder), str(bare)])
    return f"file://{bare}"


def measured(service, name, url):
    """The setup of one run: what it restored, and how long it took."""
    order = service.call("/v1/work-orders", {
        "taskPrompt": "note", "environment": name, "maxIterations": 1,
        "workspaceSource": {"type": "git", "repository": url},
        "agent": {"type": "command", "command": ["sh", "-c", "date > note"]},
    })
    deadline = time.monotonic() + LIMIT_S
    path = f"/v1/runs/{order['runId']}"
    while (state := service.call(path))["status"] not in ("succeeded", "failed", "canceled"):
        if time.monotonic() > deadline:
            sys.exit(f"{name}: still {state['status']}")
        time.sleep(0.2)
    if state["status"] != "succeeded":
        sys.exit(f"{name}: {state.get('error')}")
    events = service.call(f"{path}/events?limit=100")["events"]
    (ready,) = [event["data"] for event in events if event["type"] == "environment.ready"]
    return ready["restored"], ready["durationMs"]


def main():
    bin_dir = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="awo-caches.") as work:
        work = Path(work)
        work.chmod(0o711)
        service = Service(bin_dir, work)
        try:
            for name in sys.argv[2:] or PROJECTS:
                project = PROJECTS[name]
                url = repository(project, work / name)
                service.call("/v1/environments", {
                    "name": name, "caches": project["caches"],
                    "setup": [{"name": "install", "run": project["setup"]}],
                })
                for number in range(1, RUNS + 1):
                    restored, duration_ms = measured(service, name, url)
                    print(f"{name}, run {number}: {duration_ms / 1000:6.1f} s, restored {restored}", flush=True)
        finally:
            service.process.terminate()
            service.process.wait()


main()
