"""The service on this machine under one of the users that it may have, a provider of models that counts what it is
asked for, and repositories to work on."""

import csv
import http.server
import io
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

START_LIMIT_S = 60
RUN_LIMIT_S = 120
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NOBODY = 65534
BEGUN = "the attack begins"


class Server:
    """Records every request. Answers as a provider of models, or with what `answers` has for a path."""

    def __init__(self, credential=None):
        self.seen, self.answers, self.credential, self.status = [], {}, credential, 200
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                server.seen.append((self.command, self.path, dict(self.headers), body))
                status, kind, answer = server.answer(self.path, self.headers, body)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer)

            do_GET = do_POST = do_HEAD = answer

            def log_message(self, *_):
                pass

        listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{listening.server_port}"

    def answer(self, path, headers, body):
        if path in self.answers:
            return self.answers[path]
        if self.credential is not None:
            shown = headers.get("authorization")
            if shown != self.credential:
                return 401, "text/plain", f"you sent {shown}".encode()
            return 500, "text/plain", f"an error; you sent {shown}, and asked for {path}".encode()
        if self.status != 200:
            fault = {"type": "insufficient_quota", "code": "insufficient_quota", "message": "no money"}
            return self.status, "application/json", json.dumps({"error": fault}).encode()
        asked = json.loads(body or b"{}")
        used = {"input_tokens": 10, "output_tokens": asked.get("max_tokens", 10)}
        message = {"type": "message", "role": "assistant", "content": [], "usage": used}
        return 200, "application/json", json.dumps(message).encode()


class Host:
    """A service that runs as one user."""

    def __init__(self, name, bin_dir, work, provider, user=None, path=None):
        self.name, self.work, self.user = name, work, user
        work.mkdir(mode=0o755)
        programs = work / "bin"
        programs.mkdir()
        for program in ("awo", "awo-local", "runner"):
            shutil.copy(bin_dir / program, programs / program)
        own = work / "own"
        # Agents of another user pass through it to their workspaces.
        own.mkdir(mode=0o711)
        if user is not None:
            os.chown(own, user, user)
        self.ready = own / "ready.json"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        search = path or (SYSTEM_PATH if user is not None else os.environ["PATH"])
        self.environment = {
            "HOME": str(own), "LANG": "C.UTF-8", "AWO_PORT": str(port), "AWO_DATA_DIR": str(own / "data"),
            "AWO_READY_FILE": str(self.ready), "AWO_ALLOW_LOOPBACK_REGISTRIES": "1",
            "XDG_CONFIG_HOME": str(own / "config"), "PATH": f"{programs}:{search}"}
        self.user_options = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        self.log = open(work / "log", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [str(programs / "awo-local")], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            cwd=own, env=self.environment, **self.user_options)
        deadline = time.monotonic() + START_LIMIT_S
        while not self.ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{name}: the service did not start\n{(work / 'log').read_text()}")
            time.sleep(0.05)
        values = json.loads(self.ready.read_text())
        self.url, self.key, self.org = values["baseUrl"], values["apiKey"], values["orgId"]
        self.awo = programs / "awo"
        self.admin("set-provider", "--org", self.org, "--provider", "anthropic", "--base-url", provider.url)
        self.admin("set-secret", "--org", self.org, "--name", "anthropic", value="sk-test-key-of-nobody")

    def admin(self, *arguments, value=None):
        subprocess.run([str(self.awo), "admin", "--local", *arguments], check=True, env=self.environment,
                       cwd=self.work, input=value, text=True, stdout=subprocess.DEVNULL, **self.user_options)

    def call(self, path, body=None, accept="application/json", timeout=RUN_LIMIT_S):
        """Status and body; of JSON the value, of anything else the text."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers={
            "authorization": f"Bearer {self.key}", "content-type": "application/json", "accept": accept})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as why:
            status, text = why.code, why.read().decode()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def alive(self):
        return self.process.poll() is None

    def environment_named(self, name, content, secrets=()):
        status, answer = self.call("/v1/environments", {"name": name, **content})
        if status != 201:
            raise AssertionError(f"environment {name}: {status} {answer}")
        for secret, value in secrets:
            self.admin("set-secret", "--org", self.org, "--name", f"env:{name}:{secret}", value=value)

    def run(self, source, script, branch="main", must_begin=True, **more):
        """A run of this script as its agent, when it has ended, with its logs as `output`. An attack that never began
        was not refused."""
        body = {"taskPrompt": "attack", "maxIterations": 1,
                "workspaceSource": {"type": "git", "repository": source, "branch": branch},
                "agent": {"type": "command", "command": ["sh", "-c", f"echo {BEGUN}; {script}"]}, **more}
        status, order = self.call("/v1/work-orders", body)
        if status != 201:
            raise AssertionError(f"work order: {status} {order}")
        run = self.ended(order["runId"])
        if must_begin and BEGUN not in run["output"]:
            raise AssertionError(f"the agent did not begin: {run.get('error')}")
        return run

    def ended(self, run_id, limit_s=RUN_LIMIT_S):
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            _, run = self.call(f"/v1/runs/{run_id}")
            if run["status"] in ("succeeded", "failed", "canceled") and "settledAt" in run:
                _, logs = self.call(f"/v1/runs/{run_id}/logs")
                run["output"] = "".join(log["output"] for log in logs["logs"])
                return run
            time.sleep(0.2)
        raise AssertionError(f"the run did not end within {limit_s} s")

    def repository(self, name, files, branches=()):
        """A repository with these files; each of `branches` is a name and files of its own."""
        folder = self.work / name
        folder.mkdir(mode=0o755)
        git = ["git", "-C", str(folder), "-c", "user.name=test", "-c", "user.email=test@example.com",
               "-c", "safe.directory=*"]

        def commit(changed):
            for path, text in changed.items():
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            for command in (["add", "."], ["commit", "--quiet", "--message", "change"]):
                subprocess.run(git + command, check=True)

        subprocess.run(git + ["init", "--quiet", "--initial-branch", "main"], check=True)
        commit(files)
        for branch, changed in branches:
            subprocess.run(git + ["checkout", "--quiet", "-b", branch, "main"], check=True)
            commit(changed)
        subprocess.run(git + ["checkout", "--quiet", "main"], check=True)
        if self.user is not None:
            subprocess.run(["chown", "-R", f"{self.user}:{self.user}", str(folder)], check=True)
        return f"file://{folder}"

    def git(self, source, *arguments):
        folder = source.removeprefix("file://")
        done = subprocess.run(["git", "-c", "safe.directory=*", "-C", folder, *arguments], check=True,
                              capture_output=True)
        return done.stdout.decode(errors="replace")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def kinds_of_hosts():
    """Name, user and PATH of each kind of host that this machine can have."""
    if os.geteuid() != 0:
        return [(pwd.getpwuid(os.geteuid()).pw_name, None, None)]
    return [("root", None, None), (f"uid {NOBODY}", NOBODY, None), ("root, system PATH", None, SYSTEM_PATH)]


def cells(text):
    return [cell for row in csv.reader(io.StringIO(text)) for cell in row]


__all__ = ["Host", "Path", "Server", "cells", "kinds_of_hosts"]
