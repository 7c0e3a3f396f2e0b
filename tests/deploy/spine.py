"""One work order through the deployed service, from the key to the branch on its origin."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from cloud import REGION, ROOT_KEY, STACK, Stack, function_log, policies_of
from cluster import EcsProxy, allowed
from progress import expect, say, wait_for

RUN_SECONDS = 120
EVENT_SECONDS = 20
# A lease without a task, and one whose run is over, are due after 30 s.
SWEEP_SECONDS = 90
SWEEP_PAUSE = 5
CALL_SECONDS = 35
ADMIN_SECONDS = 30
CREDITS = 5000

AGENT = """#!/bin/sh
echo "the task: $(head -n 1 "$AWO_PROMPT")"
echo 'Hello from the deployed service' > greeting.txt
"""
MAKEFILE = "test:\n\ttest -s greeting.txt && echo '1 passed in 0.1s'\n"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self):
        return json.loads(self.body)


@dataclass
class Client:
    base: str
    key: str | None

    def call(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        request = urllib.request.Request(self.base + path, data=body, method=method)
        if self.key:
            request.add_header("authorization", f"Bearer {self.key}")
        if body is not None:
            request.add_header("content-type", "application/json")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=CALL_SECONDS) as answer:
                return unstreamed(Answer(answer.status, lower(answer.headers), answer.read()))
        except urllib.error.HTTPError as error:
            return Answer(error.code, lower(error.headers), error.read())

    def get(self, path: str) -> dict:
        answer = self.call("GET", path)
        expect(answer.status == 200, f"GET {path}: {answer.status} {answer.body[:500]!r}")
        return answer.json()


def lower(headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def unstreamed(answer: Answer) -> Answer:
    """The answer of a function that streams is its head, eight zero bytes and its body; a gateway
    that does not know that hands on all of it."""
    head, zeros, body = answer.body.partition(bytes(8))
    if not zeros:
        return answer
    parts = json.loads(head)
    return Answer(parts["statusCode"], lower(parts["headers"]), body)


def origin(scratch: Path) -> Path:
    """A repository with an agent and a test that its base commit does not pass."""
    folder = scratch / "origin"
    (folder / ".awo").mkdir(parents=True)
    (folder / ".awo/agent.sh").write_text(AGENT)
    (folder / ".awo/agent.sh").chmod(0o755)
    (folder / "Makefile").write_text(MAKEFILE)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=check", "-c", "user.email=check@localhost", "commit", "--quiet", "-m", "Base")
    return folder


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=30)
    expect(done.returncode == 0, f"git {arguments[0]}: {done.stderr}")
    return done.stdout


def customer(awo: Path, stack: Stack) -> Client:
    """An organization with credits and a key, as an operator makes it."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "AWS_REGION": REGION,
        "AWS_ENDPOINT_URL_DYNAMODB": stack.cloud.url,
        "AWO_WORK_TABLE": stack.outputs["WorkTable"],
        "AWO_LEDGER_TABLE": stack.outputs["LedgerTable"],
        "AWO_SETTINGS_TABLE": stack.outputs["SettingsTable"],
        "AWO_DELIVERIES_TABLE": stack.outputs["DeliveriesTable"],
        **ROOT_KEY,
    }

    def admin(*arguments: str) -> dict:
        command = [str(awo), "--json", "admin", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=ADMIN_SECONDS)
        expect(done.returncode == 0, f"awo admin {arguments[0]}: {done.stderr}")
        return json.loads(done.stdout)

    org = admin("create-org", "--name", "check")["orgId"]
    admin("grant", "--org", org, "--credits", str(CREDITS))
    key = admin("create-key", "--org", org, "--scopes", "*")["apiKey"]
    return Client(stack.api, key)


def refuses_what_it_must(client: Client) -> None:
    """The gateway hands everything to a function of ours, in the style of the path."""
    stranger = Client(client.base, None)
    for method, path, caller, status, code in [
        ("GET", "/v1/work-orders", stranger, 401, "UNAUTHORIZED"),
        ("GET", "/nowhere", stranger, 401, "UNAUTHORIZED"),
        ("GET", "/nowhere", client, 404, "NOT_FOUND"),
        ("GET", "/api/v1/nowhere", client, 404, "NOT_FOUND"),
        ("GET", "/v1/runs/run_01k00000000000000000000000", client, 404, "RUN_NOT_FOUND"),
        ("GET", "/v1/runs/run_01k00000000000000000000000/events", client, 404, "RUN_NOT_FOUND"),
        ("GET", "/v1/runs/run_01k00000000000000000000000/logs", client, 404, "RUN_NOT_FOUND"),
        ("GET", "/api/v1/queue/position/wo_01k00000000000000000000000", client, 404, "NOT_FOUND"),
        ("PATCH", "/v1/work-orders", client, 405, "METHOD_NOT_ALLOWED"),
        ("DELETE", "/v1/runs/run_01k00000000000000000000000/events", client, 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/control/claim", stranger, 400, "BAD_REQUEST"),
    ]:
        answer = caller.call(method, path, b"{}" if method == "POST" else None)
        found = answer.json().get("error", {}).get("code")
        expect((answer.status, found) == (status, code), f"{method} {path}: {answer.status} {answer.body!r}")
        enveloped = "success" in answer.json()
        expect(enveloped == path.startswith("/api/"), f"{path} answers in the wrong style")
    allow = client.call("PATCH", "/v1/work-orders").headers.get("allow")
    expect(allow == "POST, GET, HEAD, OPTIONS", f"Allow: {allow}")
    # Only a gateway that treats bodies as binary lets the function see the broken byte; any other
    # would replace it, and the order would be taken.
    body = order("https://127.0.0.1:1/nothing.git").replace(b"greeting", b"\xff")
    broken = client.call("POST", "/v1/work-orders", body)
    expect(broken.status == 400, f"a body that is not UTF-8: {broken.status} {broken.body!r}")


def order(repository: str) -> bytes:
    source = {"type": "git", "repository": repository}
    return json.dumps({"taskPrompt": "Write a greeting", "workspaceSource": source}).encode()


def submit(client: Client, repository: str, key: str) -> tuple[str, str]:
    body = order(repository)
    created = client.call("POST", "/v1/work-orders", body, idempotency_key=key)
    expect(created.status == 201, f"create: {created.status} {created.body!r}")
    again = client.call("POST", "/v1/work-orders", body, idempotency_key=key)
    expect(again.body == created.body, f"the same key made another: {again.body!r}")
    say(f"  work order {created.json()['id']}")
    return created.json()["id"], created.json()["runId"]


def until_ended(client: Client, run_id: str, seconds: float) -> dict:
    seen: list[str] = []

    def ended():
        run = client.get(f"/v1/runs/{run_id}")
        state = f"{run['status']} {run.get('phase', '')}".strip()
        if state not in seen:
            seen.append(state)
            say(f"  {state}")
        return run if run["status"] in ("succeeded", "failed", "canceled") else None

    return wait_for("the run's end", seconds, ended, 0.2)


def compute_stopped(client: Client, run_id: str):
    return client.get(f"/v1/runs/{run_id}").get("computeStoppedAt")


def succeeds(client: Client, folder: Path) -> None:
    work_order, run_id = submit(client, f"file://{folder}", "spine-1")
    run = until_ended(client, run_id, RUN_SECONDS)
    expect(run["status"] == "succeeded", f"the run ended as {json.dumps(run)}")
    expect(client.get(f"/v1/work-orders/{work_order}")["status"] == "succeeded", "the work order did not succeed")
    delivered(run, folder)
    check_events(client, run_id)
    charged(client, run, run_id)
    listed(client, work_order, run_id)
    health = client.get("/api/v1/queue/health")["data"]
    expect(health["status"] == "healthy" and health["stats"]["waiting"] == 0, f"the queue: {health}")
    # By the runner's last report; `stops` has one that dies without.
    wait_for("the slot's return", EVENT_SECONDS, lambda: compute_stopped(client, run_id), 0.2)
    say(f"  started {run['startedAt']}, completed {run['completedAt']}")


def fails_alone(client: Client) -> None:
    """Where nothing can be cloned, `control` still reads the organization's secret for that
    host: without the permission to, the claim would fail, and not the run."""
    _, run_id = submit(client, "https://127.0.0.1:1/nothing.git", "spine-2")
    run = until_ended(client, run_id, RUN_SECONDS)
    code = run.get("error", {}).get("code")
    expect((run["status"], code) == ("failed", "WORKSPACE_FAILED"), f"the run ended as {json.dumps(run)}")
    say(f"  {run['error']['message']}")


def heals(client: Client, folder: Path, stack: Stack, proxy: EcsProxy) -> None:
    """The cluster has no room when the run is dispatched, and the event of its task's end is
    lost: the sweep asks for the task again, and the runner's last report gives the slot back."""
    proxy.full = proxy.loses_events = True
    _, run_id = submit(client, f"file://{folder}", "spine-3")
    wait_for("the dispatch", EVENT_SECONDS, lambda: proxy.turned_away > 0)
    proxy.full = False
    sweeping, stopped = Sweeping(stack), proxy.calls["control StopTask"]

    def ended():
        sweeping.now_and_then()
        return client.get(f"/v1/runs/{run_id}")["status"] in ("succeeded", "failed", "canceled")

    def scheduled():
        return "".join(function_log(stack.cloud)).count('"event":"swept"') - sweeping.count

    wait_for("the run that the sweep starts", SWEEP_SECONDS, ended, 1)
    run = client.get(f"/v1/runs/{run_id}")
    expect(run["status"] == "succeeded", f"the run ended as {json.dumps(run)}")
    expect(proxy.calls["sweep RunTask"] >= 1, "somebody else than the sweep started it")
    say("  started by the sweep and succeeded")
    wait_for("the slot that the last report returns", EVENT_SECONDS, lambda: compute_stopped(client, run_id))
    expect(proxy.calls["control StopTask"] > stopped, "somebody else than control returned the slot")
    proxy.loses_events = False
    say(f"  slot returned by the last report; {sweeping.count} sweeps of ours")
    wait_for("a sweep by the schedule", SWEEP_SECONDS, lambda: scheduled() >= 1, 1)
    say(f"  {scheduled()} more by the schedule")


class Sweeping:
    """Sweeps, more often than the schedule does."""

    def __init__(self, stack: Stack) -> None:
        self.functions, self.count, self.last = stack.cloud.client("lambda"), 0, 0.0

    def now_and_then(self) -> None:
        if time.monotonic() < self.last + SWEEP_PAUSE:
            return
        answer = self.functions.invoke(FunctionName=f"{STACK}-sweep", Payload=b"{}")
        swept = json.loads(answer["Payload"].read())
        expect(answer.get("FunctionError") is None and swept.get("failed") == 0, f"sweep: {swept}")
        self.last, self.count = time.monotonic(), self.count + 1


def delivered(run: dict, folder: Path) -> None:
    text = git(folder, "show", f"{run['branch']}:greeting.txt")
    expect(text == "Hello from the deployed service\n", f"the branch holds {text!r}")
    expect(git(folder, "rev-parse", run["branch"]).strip() == run["commit"], "the branch is not at the run's commit")


def check_events(client: Client, run_id: str) -> None:
    events = client.get(f"/v1/runs/{run_id}/events")["events"]
    sequences = [event["sequence"] for event in events]
    expect(sequences == list(range(1, len(events) + 1)), f"sequences {sequences}")
    say(f"  {len(events)} events: {', '.join(event['type'] for event in events)}")
    live = client.call("GET", f"/v1/runs/{run_id}/events", accept="text/event-stream")
    ids = [line.removeprefix("id: ") for line in live.body.decode().splitlines() if line.startswith("id: ")]
    kind = live.headers["content-type"]
    expect((live.status, kind) == (200, "text/event-stream"), f"live events: {live.status} {kind}")
    expect(ids == [str(sequence) for sequence in sequences], f"live events {ids}")
    expect("logs" in client.get(f"/v1/runs/{run_id}/logs"), "no logs")


def charged(client: Client, run: dict, run_id: str) -> None:
    balance = client.get("/v1/credits")
    entries = client.get("/v1/credits/usage")["transactions"]
    paid = [entry["amount"] for entry in entries if entry["type"] == "deduction"]
    expect(len(paid) == 1 and paid[0] == run["cost"]["credits"], f"deductions {paid}, cost {run['cost']}")
    expect(round(balance["balance"] + paid[0], 6) == CREDITS, f"balance {balance}")
    expect(balance["reserved"] == 0 and balance["available"] == balance["balance"], f"balance {balance}")
    expect(all(entry["runId"] == run_id for entry in entries if entry["type"] == "deduction"), "of another run")
    say(f"  charged {paid[0]} credits")


def listed(client: Client, work_order: str, run_id: str) -> None:
    """Every list, by the table and by each index that it may use."""
    for path, name, wanted in [
        ("/v1/work-orders", "workOrders", work_order),
        ("/v1/work-orders?status=succeeded", "workOrders", work_order),
        ("/v1/runs", "runs", run_id),
        ("/v1/runs?status=succeeded", "runs", run_id),
        (f"/v1/runs?workOrderId={work_order}", "runs", run_id),
    ]:
        answer = client.get(path)
        found = [item.get("runId" if name == "runs" else "id") for item in answer[name]]
        expect(found == [wanted], f"GET {path}: {found}")


def roles_hold(client: Client, stack: Stack) -> None:
    """What no run above has needed, and what nobody may do."""
    ours = f"arn:aws:ecs:{REGION}:000000000000:task/{stack.outputs['Cluster']}/0123"
    others = f"arn:aws:ecs:{REGION}:000000000000:task/other/0123"
    ledger = f"arn:aws:dynamodb:{REGION}:000000000000:table/{stack.outputs['LedgerTable']}"
    work = f"arn:aws:dynamodb:{REGION}:000000000000:table/{stack.outputs['WorkTable']}"
    settings = f"arn:aws:dynamodb:{REGION}:000000000000:table/{stack.outputs['SettingsTable']}"
    deliveries = f"arn:aws:dynamodb:{REGION}:000000000000:table/{stack.outputs['DeliveriesTable']}"
    queue = f"arn:aws:sqs:{REGION}:000000000000:{stack.outputs['DeliveriesQueueUrl'].split('/')[-1]}"
    of_webhooks = {"dynamodb:LeadingKeys": "org_01k00000000000000000000000#webhook"}
    secret = f"arn:aws:secretsmanager:{REGION}:000000000000:secret:"
    in_cluster = {"ecs:cluster": f"arn:aws:ecs:{REGION}:000000000000:cluster/{stack.outputs['Cluster']}"}
    for may, program, action, resource, context in [
        (True, "sweep", "ecs:StopTask", ours, {}),
        (False, "sweep", "ecs:StopTask", others, {}),
        (True, "sweep", "ecs:ListTasks", "*", in_cluster),
        (False, "sweep", "ecs:ListTasks", "*", {"ecs:cluster": "arn:aws:ecs:us-east-1:000000000000:cluster/other"}),
        (False, "dispatch-runs", "iam:PassRole", "arn:aws:iam::000000000000:role/admin", {}),
        (True, "sweep", "dynamodb:PutItem", ledger, {}),
        (True, "sweep", "dynamodb:BatchWriteItem", work, {}),
        (False, "sweep", "dynamodb:DeleteItem", ledger, {}),
        (False, "get-run", "dynamodb:GetItem", ledger, {}),
        (True, "control", "secretsmanager:GetSecretValue", secret + "awo/org_1/git/a.example-AbCdEf", {}),
        (False, "control", "secretsmanager:GetSecretValue", secret + "billing-AbCdEf", {}),
        (False, "control", "secretsmanager:GetSecretValue", secret + "awo-2/org_1/git/a.example-AbCdEf", {}),
        (True, "deliver-webhooks", "dynamodb:BatchGetItem", deliveries, {}),
        (True, "deliver-webhooks", "dynamodb:BatchGetItem", settings, of_webhooks),
        (False, "deliver-webhooks", "dynamodb:BatchGetItem", settings, {}),
        (False, "deliver-webhooks", "dynamodb:PutItem", settings, of_webhooks),
        (False, "deliver-webhooks", "dynamodb:GetItem", work, {}),
        (True, "test-webhook", "dynamodb:GetItem", settings, of_webhooks),
        (False, "test-webhook", "dynamodb:PutItem", deliveries, {}),
        (False, "test-webhook", "sqs:SendMessage", queue, {}),
        (False, "fallback", "secretsmanager:GetSecretValue", secret + "awo/org_1/git/a.example-AbCdEf", {}),
    ]:
        found = allowed(stack, policies_of(stack, program), action, resource, context)
        expect(found == may, f"the role of {program}: {action} on {resource} is {'' if found else 'not '}allowed")
    roles_bite(client, stack)


def roles_bite(client: Client, stack: Stack) -> None:
    """Without its policy a function can do nothing: proof that the roles were asked all along."""
    iam, functions = stack.cloud.client("iam"), stack.cloud.client("lambda")
    role = functions.get_function_configuration(FunctionName=f"{STACK}-get-credits")["Role"].split("/")[-1]
    for name in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        iam.delete_role_policy(RoleName=role, PolicyName=name)
    answer = client.call("GET", "/v1/credits")
    expect(answer.status == 500, f"get-credits without its policy: {answer.status} {answer.body!r}")
    say("  without its policy get-credits can do nothing")
