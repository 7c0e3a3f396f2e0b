#!/usr/bin/env python3
"""Runs one work order through an outage of its provider as it happens: nothing is shortened, no Retry-After is
sent, so the service waits as it does in earnest. A second work order meets an outage that is longer than a run
waits. Ends with 1 at the first thing that is not as docs/agents.md says.

    tests/outage/run.py BIN_DIR [--seconds 600] [--too-long 960]

`--seconds` is the outage that the first run survives (up to 840), `--too-long` the one that ends the second (0 leaves
it out; more than 900). Both take place at once.
"""

import argparse
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from datetime import datetime
from pathlib import Path

START_LIMIT_S = 60
# All that a run waits for its providers.
PATIENCE_S = 900
# The longest pause between two attempts, and what an attempt takes on a busy machine.
SLACK_S = 75
TOKENS = {"in": 100_000, "out": 1_000}
OPENAI = ("openai", "gpt-4o", "chat/completions", "OPENAI")
ANTHROPIC = ("anthropic", "claude-sonnet-4-5", "v1/messages", "ANTHROPIC")


class Provider:
    """Answers its first call, fails with 529 and 503 from the second one on for as long as the outage takes, and
    answers again."""

    def __init__(self, seconds):
        self.seconds, self.began, self.answered, self.failed = seconds, None, 0, 0
        lock = threading.Lock()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length", 0)))
                with lock:
                    status, body = provider.answer(self.path)
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"

    def answer(self, path):
        now = time.monotonic()
        if self.answered == 1 and self.began is None:
            self.began = now
        if self.began is not None and now - self.began < self.seconds:
            self.failed += 1
            return (529, 503)[self.failed % 2], {"error": {"type": "overloaded_error", "message": "overloaded"}}
        self.answered += 1
        if path.endswith("/messages"):
            return 200, {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hello"}],
                         "usage": {"input_tokens": TOKENS["in"], "output_tokens": TOKENS["out"]}}
        return 200, {"object": "chat.completion", "choices": [],
                     "usage": {"prompt_tokens": TOKENS["in"], "completion_tokens": TOKENS["out"]}}


class Service:
    """The service on this machine, as `make run` starts it."""

    def __init__(self, bin_dir, work):
        ready = work / "ready.json"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.awo, self.work = bin_dir / "awo", work
        self.environment = os.environ | {
            "AWO_PORT": str(port), "AWO_DATA_DIR": str(work / "data"), "AWO_READY_FILE": str(ready),
            "PATH": f"{bin_dir}:{os.environ['PATH']}"}
        self.process = subprocess.Popen(
            [str(bin_dir / "awo-local")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(work / "log", "w", encoding="utf-8"), env=self.environment)
        deadline = time.monotonic() + START_LIMIT_S
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit((work / "log").read_text())
            time.sleep(0.05)
        values = json.loads(ready.read_text())
        self.url, self.key, self.org = values["baseUrl"], values["apiKey"], values["orgId"]

    def admin(self, *arguments, value=None):
        subprocess.run([str(self.awo), "admin", "--local", *arguments], check=True, env=self.environment,
                       input=value, text=True, stdout=subprocess.DEVNULL)

    def call(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers={
            "authorization": f"Bearer {self.key}", "content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def calls_provider(self, provider, base_url):
        self.admin("set-provider", "--org", self.org, "--provider", provider, "--base-url", base_url)
        self.admin("set-secret", "--org", self.org, "--name", provider, value="sk-test-key-of-nobody")


def repository(work):
    folder = work / "project"
    folder.mkdir()
    (folder / "Makefile").write_text("test:\n\t@test -e done\n")
    git = ["git", "-C", str(folder), "-c", "user.name=test", "-c", "user.email=test@example.com"]
    for command in (["init", "--quiet", "--initial-branch", "main"], ["add", "."],
                    ["commit", "--quiet", "--message", "begin"]):
        subprocess.run(git + command, check=True)
    return f"file://{folder}"


def submit(service, source, which):
    """A work order whose agent calls its model twice, and fails when a call does, as programs do."""
    _, model, path, variable = which
    body = json.dumps({"model": model, "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]})
    call = (f"curl --silent --show-error --fail --output answer \"${variable}_BASE_URL/{path}\" "
            f"--header \"authorization: Bearer ${variable}_API_KEY\" --header \"x-api-key: ${variable}_API_KEY\" "
            f"--header 'content-type: application/json' --data '{body}'")
    script = (f"call() {{ {call}; }}\ntest -e first || {{ call && touch first; }} || exit 1\n"
              "call || exit 1\nrm -f first answer; echo done > done")
    return service.call("/v1/work-orders", {
        "taskPrompt": "wait for the provider", "maxIterations": 1,
        "workspaceSource": {"type": "git", "repository": source, "branch": "main"},
        "agent": {"type": "command", "command": ["sh", "-c", script]}})


def seconds_between(begin, end):
    at = [datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (begin, end)]
    return (at[1] - at[0]).total_seconds()


def check(holds, what):
    print(f"  {'ok  ' if holds else 'NOT '} {what}", flush=True)
    if not holds:
        raise AssertionError(what)


def ended(service, order, limit_s, report):
    """The run when it has ended, and the phases that it was seen in."""
    phases, deadline = [], time.monotonic() + limit_s
    while time.monotonic() < deadline:
        run = service.call(f"/v1/runs/{order['runId']}")
        if run.get("phase") and (not phases or phases[-1] != run["phase"]):
            phases.append(run["phase"])
            report(run["phase"])
        if run["status"] in ("succeeded", "failed", "canceled") and "settledAt" in run:
            return run, phases
        time.sleep(1)
    raise AssertionError(f"the run did not end within {limit_s} s")


def paid(service, run):
    entries = service.call("/v1/credits/usage?type=deduction&limit=20")["transactions"]
    (entry,) = [entry for entry in entries if entry["runId"] == run["runId"]]
    return entry["breakdown"]["modelCredits"], entry["breakdown"]["computeCredits"]


def waited(service, run):
    events = service.call(f"/v1/runs/{run['runId']}/events?limit=100")["events"]
    of_kind = [event for event in events if event["type"] == "provider.waiting"]
    return sum(event["data"]["waitMs"] for event in of_kind) / 1000, len(of_kind)


def price_of_a_call(service, model):
    prices = service.call("/v1/prices")
    (price,) = [one for one in prices["models"] if one["model"] == model]
    usd = (TOKENS["in"] * price["inputUsdPerMillion"] + TOKENS["out"] * price["outputUsdPerMillion"]) / 1e6
    return round(usd * prices["creditsPerUsd"], 6)


class Outcome:
    """A work order that has ended after its agent met an outage of its provider."""

    def __init__(self, service, source, provider, which, limit_s):
        name, self.model, _, _ = which
        order = submit(service, source, which)
        self.run, self.phases = ended(service, order, limit_s + SLACK_S + 120,
                                      lambda phase: print(f"  {name}: {phase}", flush=True))
        self.waits, attempts = waited(service, self.run)
        self.model_credits, self.compute_credits = paid(service, self.run)
        self.took = seconds_between(self.run["startedAt"], self.run["completedAt"])
        print(f"{name}: an outage of {provider.seconds} s, {provider.failed} failed calls, {attempts} waits of "
              f"{self.waits:.0f} s, the run took {self.took:.0f} s, ended with {self.run.get('error')} and paid "
              f"{self.model_credits} + {self.compute_credits} credits", flush=True)
        check("waiting_for_provider" in self.phases, "the phase was waiting_for_provider")


def survives(service, source, provider, which):
    outcome = Outcome(service, source, provider, which, provider.seconds)
    run, waits = outcome.run, outcome.waits
    check(run["status"] == "succeeded", f"the run succeeded: {run.get('error')}")
    check(run["iteration"] == 1, "the outage used up no iteration of the one that there was")
    check(abs(waits - provider.seconds) <= SLACK_S, "it waited for as long as the outage took")
    check(abs(outcome.compute_credits * 60 - (outcome.took - waits)) < SLACK_S / 10,
          "compute is charged without the waits")
    check(outcome.model_credits == round(2 * price_of_a_call(service, outcome.model), 6),
          "two calls were completed and charged")


def gives_up(service, source, provider, which):
    outcome = Outcome(service, source, provider, which, PATIENCE_S)
    error = outcome.run.get("error", {})
    check(outcome.run["status"] == "failed" and error["code"] == "PROVIDER_UNAVAILABLE",
          "the error is PROVIDER_UNAVAILABLE")
    check(error["category"] == "provider" and error["retryable"] and error["remedy"], "it can be tried again")
    check(abs(outcome.waits - PATIENCE_S) < SLACK_S, "it waited for fifteen minutes in all")
    check(outcome.compute_credits < 1, "the wait is not charged")
    check(outcome.model_credits == price_of_a_call(service, outcome.model),
          "the one call that was completed is charged")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("bin_dir", type=Path)
    arguments.add_argument("--seconds", type=int, default=600)
    arguments.add_argument("--too-long", type=int, default=960)
    options = arguments.parse_args()
    if not 0 < options.seconds <= 840 or 0 < options.too_long <= PATIENCE_S:
        arguments.error(f"--seconds is up to 840, --too-long 0 or more than {PATIENCE_S}")
    stories = [(survives, OPENAI, options.seconds)]
    if options.too_long:
        stories.append((gives_up, ANTHROPIC, options.too_long))
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        service = Service(options.bin_dir.resolve(), work)
        try:
            source, threads = repository(work), []
            for story, which, seconds in stories:
                provider = Provider(seconds)
                service.calls_provider(which[0], provider.url)

                def checked(story=story, provider=provider, which=which):
                    try:
                        story(service, source, provider, which)
                    except Exception as why:  # pylint: disable=broad-except
                        failures.append(f"{story.__name__}: {why!r}")

                threads.append(threading.Thread(target=checked))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            service.process.terminate()
            service.process.wait()
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
