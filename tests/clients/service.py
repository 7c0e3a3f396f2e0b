"""The service on this machine, with a repository for work orders, and a way to it that fails."""

import json
import os
import socket
import subprocess
import time

from flaky import Flaky

START_LIMIT_S = 60
COMMAND_LIMIT_S = 170
PLAN = 'version: 1\ntests:\n  - {name: fixed, run: "test -f fixed.txt"}\n'


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False, **options)
    if done.returncode != 0:
        text = (done.stdout + done.stderr)[-6000:]
        raise RuntimeError(f"{' '.join(map(str, command))[:100]} ended with {done.returncode}:\n{text}")
    return done.stdout


class Service:
    """The service on this machine, with a repository for its work orders."""

    def __init__(self, bin_dir, folder):
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        ready = folder / "ready.json"
        environment = {**os.environ, "AWO_PORT": str(port), "AWO_DATA_DIR": str(folder / "data"),
                       "AWO_READY_FILE": str(ready), "AWO_REQUESTS_PER_MINUTE": "1000000",
                       "AWO_ALLOW_FILE_REPOSITORIES": "1", "AWO_LOG": "error"}
        self.log = open(folder / "service.log", "w", encoding="utf-8")
        self.process = subprocess.Popen([str(bin_dir / "awo-local")], env=environment,
                                        stdout=self.log, stderr=subprocess.STDOUT)
        began = time.monotonic()
        while not ready.exists() or not ready.read_text().strip():
            if self.process.poll() is not None or time.monotonic() - began > START_LIMIT_S:
                raise RuntimeError("the service did not start:\n" + (folder / "service.log").read_text()[-3000:])
            time.sleep(0.05)
        ready_file = json.loads(ready.read_text())
        self.url, self.key = ready_file["baseUrl"], ready_file["apiKey"]
        self.repository = self.make_repository()
        self.flaky = Flaky(self.url)

    def make_repository(self, name="repository", plan=PLAN):
        work, bare = self.folder / f"{name}-work", self.folder / f"{name}.git"
        work.mkdir()
        (work / "verify.yaml").write_text(plan)
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
        run([*git, "init", "--quiet"], cwd=work)
        run([*git, "add", "."], cwd=work)
        run([*git, "commit", "--quiet", "-m", "first"], cwd=work)
        run([*git, "clone", "--quiet", "--bare", str(work), str(bare)])
        return bare.as_uri()

    def __call__(self, command, env=None):
        """Runs a scenario; its last line says how far it came."""
        own = {"AWO_URL": self.url, "AWO_FLAKY_URL": self.flaky.url, "AWO_API_KEY": self.key, "AWO_REPOSITORY": self.repository}
        print(run(command, env={**os.environ, **own, **(env or {})}).strip().splitlines()[-1])

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
