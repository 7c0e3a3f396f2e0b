"""A webhook at the deployed service: a run's end is delivered to a receiver over TLS, signed.

The deployed service refuses receivers on this machine, which is shown first. Then the functions
that make and send are allowed to, by the settings that template.yaml must not have."""

from __future__ import annotations

import json
from pathlib import Path

from cloud import STACK, Stack
from progress import expect, say, wait_for
from receiver import Receiver, verify
from spine import Client, submit, until_ended

# A run, its event's way through outbox, queue and function, and one turn of a mapping.
DELIVERY_SECONDS = 60
RUN_SECONDS = 120
CHANGE_SECONDS = 30
# Who decides where a webhook may be, and who calls receivers.
MAKER = "create-webhook"
SENDERS = ("test-webhook", "deliver-webhooks")


def set_variables(stack: Stack, program: str, variables: dict[str, str]) -> None:
    """Adds to a deployed function's environment."""
    functions, function = stack.cloud.client("lambda"), f"{STACK}-{program}"
    now = functions.get_function_configuration(FunctionName=function)["Environment"]["Variables"]
    functions.update_function_configuration(FunctionName=function, Environment={"Variables": now | variables})

    def is_set() -> bool:
        found = functions.get_function_configuration(FunctionName=function)
        return variables.items() <= found["Environment"]["Variables"].items()

    wait_for(f"the new environment of {program}", CHANGE_SECONDS, is_set)


def delivers(client: Client, origin: Path, stack: Stack, receiver: Receiver) -> tuple[str, str]:
    """A webhook at the receiver, with its secret, that has heard of a run."""
    body = json.dumps({"url": receiver.url, "events": ["run.completed"]}).encode()
    refused = client.call("POST", "/v1/webhooks", body)
    expect(refused.status == 400, f"a webhook on loopback: {refused.status} {refused.body!r}")
    faults = refused.json()["error"]["details"]["errors"]
    expect([fault["path"] for fault in faults] == ["/url"], f"a webhook on loopback: {faults}")
    set_variables(stack, MAKER, {"AWO_WEBHOOK_ALLOW_LOOPBACK": "1"})
    made = client.call("POST", "/v1/webhooks", body)
    expect(made.status == 201, f"a webhook: {made.status} {made.body!r}")
    webhook, secret = made.json()["webhook"]["id"], made.json()["secret"]
    tested = client.call("POST", f"/v1/webhooks/{webhook}/test", b"{}")
    expect(tested.json().get("delivered") is False, f"a test to loopback: {tested.body!r}")
    expect(not receiver.deliveries, f"{len(receiver.deliveries)} deliveries reached loopback")
    say(f"  as deployed: {faults[0]['message']}; {tested.json()['error']}")
    for program in SENDERS:
        set_variables(stack, program, {"AWO_WEBHOOK_ALLOW_LOOPBACK": "1", "AWO_WEBHOOK_CA_FILE": str(receiver.ca_file)})
    completed(client, origin, receiver, (webhook, secret))
    return webhook, secret


def completed(client: Client, origin: Path, receiver: Receiver, of: tuple[str, str]) -> None:
    webhook, secret = of
    _, run_id = submit(client, f"file://{origin}", "webhook-1")
    run = until_ended(client, run_id, RUN_SECONDS)
    expect(run["status"] == "succeeded", f"the run ended as {json.dumps(run)}")
    delivery = wait_for("run.completed", DELIVERY_SECONDS, lambda: (receiver.of_type("run.completed") or [None])[0])
    verify(delivery, secret)
    data = delivery.event()["data"]
    expect((data["runId"], data["status"]) == (run_id, "succeeded"), f"the event has {data}")

    def noted():
        found = client.get(f"/v1/webhooks/{webhook}/deliveries?status=delivered")["deliveries"]
        return found[0] if found else None

    listed = wait_for("the delivery's end", DELIVERY_SECONDS, noted)
    expect(listed["eventId"] == delivery.event()["id"], f"another delivery is listed: {listed}")
    attempt = listed["attempts"][0]
    expect((len(listed["attempts"]), attempt["statusCode"]) == (1, 204), f"its attempts: {listed['attempts']}")
    again = client.call("POST", f"/v1/webhooks/{webhook}/deliveries/{listed['id']}/redeliver")
    expect(again.status in (200, 201), f"redeliver: {again.status} {again.body!r}")
    wait_for("the same once more", DELIVERY_SECONDS, lambda: len(receiver.of_type("run.completed")) > 1)
    for one in receiver.of_type("run.completed"):
        verify(one, secret)
        expect(one.event()["id"] == listed["eventId"], "it was sent under another id")
    say(f"  run.completed arrived signed, {attempt['durationMs']} ms; redelivered on demand")
