"""Answers in pieces, which the stand-in's gateway cannot pass on: each function of the template that
streams runs as it was built, under a stand-in for Lambda's own side (runtime_api.py), against the
deployed tables, with its deployed settings and its role.

What is looked for is what the route promises: bytes that reach the client while the function works."""

from __future__ import annotations

import csv
import json
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import api
import expansion
import runtime_api
from cloud import STACK, Stack, policies_of
from progress import expect, say
from receiver import Receiver, verify
from runtime_api import Streamed
from spine import Client
from stops import STUBBORN, in_agent, running

# Answers that take longer than 5 s begin with white space; this many seconds are enough to see it.
SOON_SECONDS = 15
# The agent does not heed the signal, so the kill takes as long.
GRACE_MS = 8000
END_SECONDS = 60
VERIFY_SECONDS = 120


@dataclass
class Scene:
    """What the functions work on."""

    client: Client
    stack: Stack
    origin: Path
    receiver: Receiver
    # A webhook at the receiver, with its secret.
    webhook: tuple[str, str]
    functions: Path
    scratch: Path

    @contextmanager
    def function(self, program: str):
        """A function's program as Lambda would run it."""
        stack, name = self.stack, f"{STACK}-{program}"
        deployed = stack.cloud.client("lambda").get_function_configuration(FunctionName=name)
        bootstrap = self.functions / program / "bootstrap"
        log = self.scratch / f"{program}.log"
        with runtime_api.function(bootstrap, deployed, self.credentials(deployed), log) as running_function:
            yield running_function

    def credentials(self, deployed: dict) -> dict[str, str]:
        """Of the function's role, so that IAM is asked about its calls here as well."""
        expect(policies_of(self.stack, deployed["FunctionName"].removeprefix(f"{STACK}-")), "a role without policies")
        role = {"RoleName": deployed["Role"].split("/")[-1]}
        iam = self.stack.cloud.client("iam")
        trust = iam.get_role(**role)["Role"]["AssumeRolePolicyDocument"]
        # Lambda may assume it and nobody else may; here we are Lambda.
        ours = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
        widened = {**trust, "Statement": [*trust["Statement"], ours]}
        iam.update_assume_role_policy(**role, PolicyDocument=json.dumps(widened))
        assumed = self.stack.cloud.client("sts").assume_role(RoleArn=deployed["Role"], RoleSessionName="check")
        iam.update_assume_role_policy(**role, PolicyDocument=json.dumps(trust))
        keys = assumed["Credentials"]
        return {
            "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
            "AWS_SESSION_TOKEN": keys["SessionToken"],
        }

    def event(self, method: str, resource: str, target: str, body: dict | None = None, **headers: str) -> dict:
        given = {"authorization": f"Bearer {self.client.key}", "host": "api.example.com", **headers}
        if body is not None:
            given["content-type"] = "application/json"
        content = None if body is None else json.dumps(body).encode()
        return runtime_api.proxy_event((method, target), resource, given, content)


def streaming_programs() -> dict[str, str]:
    """The functions of the template whose answers stream, with their paths."""
    template = expansion.load()
    functions = expansion.functions(template)
    streamed = [method for method in api.methods(template) if method.streams]
    return {functions[method.function]["CodeUri"].split("/")[-2]: method.path for method in streamed}


def early(what: str, streamed: Streamed) -> None:
    """The head and something of the body are there, and the function goes on."""
    streamed.until(f"{what}: its beginning", SOON_SECONDS, lambda: streamed.body() or None)
    expect(not streamed.ended.is_set(), f"{what}: it ended before its beginning was seen")
    status = streamed.head()["statusCode"]
    expect(status == 200, f"{what}: {status} {streamed.body()!r}")


def late_answer(what: str, streamed: Streamed, seconds: float) -> dict:
    """The JSON of a whole answer, after the white space that may stand before it."""
    head = streamed.until_ended(what, seconds)
    expect(head["statusCode"] == 200, f"{what}: {head['statusCode']} {streamed.body()[:500]!r}")
    blank = len(streamed.body()) - len(streamed.body().lstrip())
    began, ended = streamed.pieces[0][0], streamed.pieces[-1][0]
    say(f"  {what}: {len(streamed.pieces)} pieces in {ended - began:.1f} s, {blank} of white space")
    return json.loads(streamed.body())


def lives_and_is_killed(scene: Scene, paths: dict[str, str]) -> None:
    """Events of a run come as they happen; its kill says that it is under way before it is done."""
    work_order, run_id = running(scene.client, scene.origin, STUBBORN)
    in_agent(scene.client, run_id)
    with scene.function("list-run-events") as events, scene.function("kill-work-order") as kill:
        target = f"/v1/runs/{run_id}/events"
        live = events.invoke(scene.event("GET", paths["list-run-events"], target, accept="text/event-stream"))
        live.until("run.started", SOON_SECONDS, lambda: b"event: run.started" in live.body())
        expect(not live.ended.is_set(), "the live events ended while the run goes on")
        expect(live.head()["headers"]["content-type"] == "text/event-stream", f"live events: {live.head()}")
        target = f"/api/v1/work-orders/{work_order}/kill"
        killing = kill.invoke(
            scene.event("POST", paths["kill-work-order"], target, {"gracePeriodMs": GRACE_MS, "reason": "check"})
        )
        early("kill-work-order", killing)
        expect(killing.body().strip() == b"", f"kill-work-order begins with {killing.body()!r}")
        expect(not live.ended.is_set(), "the live events ended before the run's processes did")
        data = late_answer("kill-work-order", killing, END_SECONDS)["data"]
        expect((data["success"], data["forcedKill"], data["status"]) == (True, True, "failed"), f"kill: {data}")
        head = live.until_ended("list-run-events", END_SECONDS)
        lines = live.body().decode().splitlines()
        kinds = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
        expect(head["statusCode"] == 200 and kinds[-1] == "run.failed", f"live events: {head} {kinds}")
        before = sum(1 for at, _ in live.pieces if at < killing.pieces[0][0])
        say(f"  list-run-events: {len(live.pieces)} pieces, {before} of them before the kill began: {', '.join(kinds)}")


def is_tested(scene: Scene, paths: dict[str, str]) -> None:
    webhook, secret = scene.webhook
    with scene.function("test-webhook") as test:
        scene.receiver.go_on.clear()
        try:
            target = f"/v1/webhooks/{webhook}/test"
            testing = test.invoke(scene.event("POST", paths["test-webhook"], target, {}))
            early("test-webhook", testing)
        finally:
            scene.receiver.go_on.set()
        answer = late_answer("test-webhook", testing, END_SECONDS)
    expect((answer["delivered"], answer["statusCode"]) == (True, 204), f"test-webhook: {answer}")
    delivery = scene.receiver.of_type("webhook.test")[-1]
    verify(delivery, secret)
    expect(delivery.event()["id"] == answer["eventId"], "another event arrived")


def is_verified(scene: Scene, paths: dict[str, str]) -> None:
    run = scene.client.get("/v1/runs?status=succeeded&limit=1")["runs"][0]
    workspace = Path(run["workDir"])
    # Another task has another disk.
    shutil.rmtree(workspace.parent, ignore_errors=True)
    with scene.function("run-verification") as verifier:
        target = "/api/v1/verification/run"
        verifying = verifier.invoke(scene.event("POST", paths["run-verification"], target, {"workDir": str(workspace)}))
        data = late_answer("run-verification", verifying, VERIFY_SECONDS)["data"]
    expect(data["overallStatus"] == "passed", f"run-verification: {data}")


def is_purged(scene: Scene, paths: dict[str, str]) -> None:
    with scene.function("purge-work-orders") as purge:
        target = "/api/v1/work-orders/purge"
        purging = purge.invoke(scene.event("POST", paths["purge-work-orders"], target, {"statuses": ["failed"]}))
        data = late_answer("purge-work-orders", purging, END_SECONDS)["data"]
    expect(data["deletedCount"] > 0, f"purge-work-orders: {data}")


def is_exported(scene: Scene, paths: dict[str, str]) -> None:
    deductions = scene.client.get("/v1/credits/usage?type=deduction&limit=1")["transactions"]
    month = deductions[0]["createdAt"][:7]
    with scene.function("export-focus") as export:
        exporting = export.invoke(scene.event("GET", paths["export-focus"], f"{paths['export-focus']}?month={month}"))
        head = exporting.until_ended("export-focus", END_SECONDS)
    rows = list(csv.DictReader(exporting.body().decode().splitlines()))
    expect(head["statusCode"] == 200 and len(exporting.pieces) > 1, f"export-focus: {head}")
    spent = [row for row in rows if row["ChargeCategory"] == "Usage"]
    expect(spent, f"export-focus has no usage of {month} among {len(rows)} rows")
    say(f"  export-focus: {len(exporting.pieces)} pieces, {len(rows)} rows of {month}")


# Each function with what shows it; the purge takes what the kill leaves.
SHOWN = {
    "list-run-events": lives_and_is_killed,
    "kill-work-order": lives_and_is_killed,
    "test-webhook": is_tested,
    "run-verification": is_verified,
    "export-focus": is_exported,
    "purge-work-orders": is_purged,
}


def streams(scene: Scene) -> None:
    paths = streaming_programs()
    expect(paths.keys() == SHOWN.keys(), f"of these functions that stream not all are shown: {sorted(paths)}")
    for show in dict.fromkeys(SHOWN.values()):
        show(scene, paths)
