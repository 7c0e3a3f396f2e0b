"""One whole scenario with the generated Python client."""

import os

import awo_client
from awo_client.follow import follow, wait
from awo_client.rest import ApiException

configuration = awo_client.Configuration(host=os.environ["AWO_URL"], access_token=os.environ["AWO_API_KEY"])
api = awo_client.ApiClient(configuration)
orders, runs = awo_client.WorkOrdersApi(api), awo_client.RunsApi(api)
profiles, webhooks = awo_client.ProfilesApi(api), awo_client.WebhooksApi(api)
credits, audit = awo_client.CreditsApi(api), awo_client.AuditApi(api)

profile = profiles.create_profile(awo_client.CreateProfileRequest(
    name="python-client", extends="ci-focused",
    loop_strategy=awo_client.LoopStrategyInput(type="fixed", base_iterations=2),
    execution_limits=awo_client.ExecutionLimitsInput(max_credits=50)))
assert profile.data.name == "python-client"
written = profiles.get_profile("python-client").data.actual_instance
assert type(written).__name__ == "Profile" and written.execution_limits.max_credits == 50, written
resolved = profiles.get_profile("python-client", resolve=True).data.actual_instance
assert type(resolved).__name__ == "ResolvedProfile" and resolved.config_hash, resolved

request = awo_client.CreateWorkOrderRequest(
    task_prompt="Write the missing file.",
    workspace_source=awo_client.WorkspaceSourceInput(
        awo_client.GitSourceInput(type="git", repository=os.environ["AWO_REPOSITORY"])),
    harness="python-client",
    agent=awo_client.AgentInput(type="command", command=["sh", "-c", "echo done > fixed.txt"]),
    metadata={"client": "python"})
order = orders.create_work_order(request, idempotency_key="python-1")
again = orders.create_work_order_with_http_info(request, idempotency_key="python-1")
headers = {name.lower(): value for name, value in again.headers.items()}
assert again.data.id == order.id and headers["idempotent-replayed"] == "true", headers
assert headers["location"] == f"/v1/work-orders/{order.id}", headers

flaky = awo_client.RunsApi(awo_client.ApiClient(awo_client.Configuration(
    host=os.environ["AWO_FLAKY_URL"], access_token=os.environ["AWO_API_KEY"])))
followed = list(follow(flaky, order.run_id, timeout=120))
run = wait(flaky, order.run_id, timeout=120)
assert run.status == "succeeded" and run.verified, run

events = runs.list_run_events(run.run_id).events
assert [event["sequence"] for event in followed] == list(range(1, len(events) + 1)), followed
assert followed[-1]["type"] == "run.completed" and followed[-1]["data"]["verified"], followed[-1]
assert [event["sequence"] for event in follow(runs, run.run_id, after=len(events) - 1)] == [len(events)]
last = events[-1].actual_instance
assert type(last).__name__ == "RunCompletedEvent", last
assert last.data.verified and last.data.timing.duration_ms >= 0
kinds = [type(event.actual_instance).__name__ for event in events]
assert "AgentFinishedEvent" in kinds and "VerificationPassedEvent" in kinds, kinds
assert "fixed.txt" in runs.get_run_diff(run.run_id).diff
assert runs.get_run_logs(run.run_id).logs[0].iteration == 1
assert orders.list_work_orders(limit=1).total >= 1
assert credits.get_credits().available > 0
assert audit.get_run_audit(run.run_id).data.snapshots_count == 1

webhook = webhooks.create_webhook(awo_client.CreateWebhookRequest(
    url="https://hooks.example.com/python", events=["run.completed"]))
rotated = webhooks.rotate_webhook_secret(webhook.webhook.id)
assert rotated.secret.startswith("whsec_") and rotated.secret != webhook.secret
webhooks.delete_webhook(webhook.webhook.id)

try:
    wait(runs, run.run_id[:-4] + "0000")
    raise AssertionError("an unknown run has ended")
except ApiException as error:
    assert error.status == 404, error

request.agent.command = ["sh", "-c", "sleep 600"]
sleeping = orders.create_work_order(request)
for unending in (wait, lambda *arguments, **limit: list(follow(*arguments, **limit))):
    try:
        unending(runs, sleeping.run_id, timeout=1)
        raise AssertionError("a run that sleeps has ended")
    except TimeoutError:
        pass
runs.cancel_run(sleeping.run_id)
assert wait(runs, sleeping.run_id, timeout=120).status == "canceled"

try:
    orders.get_work_order(order.id[:-4] + "0000")
    raise AssertionError("an unknown work order was found")
except ApiException as error:
    assert error.status == 404 and error.data.error.code == "WORK_ORDER_NOT_FOUND", error
print(f"python: {order.id} succeeded, {len(events)} events")
