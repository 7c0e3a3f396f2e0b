"""Work orders that a client stops or starts again, through the deployed service."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from cloud import Stack
from cluster import EcsProxy
from progress import expect, say, wait_for
from spine import EVENT_SECONDS, Client, order, until_ended

START_SECONDS = 60
DEAD_SECONDS = 60
# Neither a signal that it can ignore nor a new session saves it.
STUBBORN = ["sh", "-c", "trap '' INT TERM; setsid sleep 600 & while :; do sleep 1; done"]


def stops(client: Client, folder: Path, stack: Stack, proxy: EcsProxy) -> None:
    canceled(client, folder)
    killed(client, folder)
    started_again(client, folder)
    dies(client, folder, proxy)
    expect(proxy.calls["cancel-work-order StopTask"] >= 1, "cancel did not stop the task")
    expect(proxy.calls["start-run RunTask"] >= 1, "start did not ask for the task itself")


def running(client: Client, folder: Path, command: list[str]) -> tuple[str, str]:
    body = json.loads(order(f"file://{folder}"))
    body["agent"] = {"type": "command", "command": command}
    body["maxIterations"] = 1
    created = client.call("POST", "/v1/work-orders", json.dumps(body).encode())
    expect(created.status == 201, f"create: {created.status} {created.body!r}")
    return created.json()["id"], created.json()["runId"]


def in_agent(client: Client, run_id: str) -> None:
    wait_for("the agent", START_SECONDS, lambda: client.get(f"/v1/runs/{run_id}").get("phase") == "agent", 0.2)


def settled(client: Client, run_id: str) -> dict:
    def done():
        run = client.get(f"/v1/runs/{run_id}")
        return run if "settledAt" in run else None

    return wait_for("the settlement", DEAD_SECONDS, done, 0.2)


def canceled(client: Client, folder: Path) -> None:
    work_order, run_id = running(client, folder, STUBBORN)
    in_agent(client, run_id)
    where = client.get(f"/api/v1/queue/position/{work_order}")["data"]
    expect((where["position"], where["state"]) == (0, "running"), f"its place: {where}")
    answer = client.call("DELETE", f"/api/v1/work-orders/{work_order}")
    data = answer.json().get("data", {})
    expect((answer.status, data.get("wasRunning")) == (200, True), f"cancel: {answer.status} {answer.body!r}")
    again = client.call("DELETE", f"/api/v1/work-orders/{work_order}")
    expect(again.status == 409, f"cancel again: {again.status} {again.body!r}")
    run = settled(client, run_id)
    expect(run["status"] == "canceled" and run["cost"]["credits"] > 0, f"the canceled run: {run}")
    say(f"  canceled {run['completedAt']}, dead {run['computeStoppedAt']}")


def killed(client: Client, folder: Path) -> None:
    work_order, run_id = running(client, folder, STUBBORN)
    in_agent(client, run_id)
    body = json.dumps({"immediate": True, "reason": "check"}).encode()
    answer = client.call("POST", f"/api/v1/work-orders/{work_order}/kill", body)
    data = answer.json().get("data", {})
    found = (answer.status, data.get("success"), data.get("forcedKill"), data.get("status"))
    expect(found == (200, True, True, "failed"), f"kill: {answer.status} {answer.body!r}")
    run = client.get(f"/v1/runs/{run_id}")
    expect(run["error"]["code"] == "KILLED" and "settledAt" in run, f"the killed run: {run}")
    say(f"  killed in {data['durationMs']} ms")


def started_again(client: Client, folder: Path) -> None:
    work_order, run_id = running(client, folder, ["false"])
    until_ended(client, run_id, START_SECONDS)
    wait_for("the slot's return", EVENT_SECONDS, lambda: client.get(f"/v1/runs/{run_id}").get("computeStoppedAt"), 0.2)
    path = f"/api/v1/work-orders/{work_order}/runs"
    started = client.call("POST", path, b"", idempotency_key="again")
    data = started.json().get("data", {})
    expect((started.status, data.get("status")) == (201, "building"), f"start: {started.status} {started.body!r}")
    replay = client.call("POST", path, b"", idempotency_key="again")
    expect(replay.body == started.body, f"the replay is another: {replay.body!r}")
    run = until_ended(client, data["runId"], START_SECONDS)
    expect(run["status"] == "failed", f"the second run: {run}")
    say("  started again, and failed again")


def dies(client: Client, folder: Path, proxy: EcsProxy) -> None:
    """A runner that is gone without a last report: only the task event, by the rule to `task-stopped`, reports it
    before the sweep would look."""
    _, run_id = running(client, folder, ["sleep", "600"])
    in_agent(client, run_id)
    seen = proxy.calls["task-stopped DescribeTasks"]
    # The agent's process starts once the service has answered a report of it.
    runner = wait_for("the agent's process", START_SECONDS, lambda: runner_of(run_id), 0.2)
    os.kill(runner, signal.SIGKILL)
    run = settled(client, run_id)
    code = run.get("error", {}).get("code")
    expect((run["status"], code) == ("failed", "RUNNER_FAILED"), f"the run whose runner died: {run}")
    expect(proxy.calls["task-stopped DescribeTasks"] > seen, "somebody else than task-stopped ended the run")
    say(f"  a runner that died: {code}, {run['cost']['credits']} credits")


def runner_of(run_id: str) -> int | None:
    """The process of a run's runner, if there is one: the topmost `runner` above an agent that knows the run's id."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"AWO_RUN_ID={run_id}".encode() not in (process / "environ").read_bytes().split(b"\0"):
                continue
            found, pid = None, int(process.name)
            while pid > 1:
                if (Path("/proc") / str(pid) / "exe").resolve().name == "runner":
                    found = pid
                stat = (Path("/proc") / str(pid) / "stat").read_text()
                pid = int(stat.rpartition(")")[2].split()[1])
            if found:
                return found
        except OSError:
            continue
    return None
