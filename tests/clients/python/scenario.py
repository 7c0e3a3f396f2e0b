"""One whole scenario with the generated Python client."""

import os
import time

import awo_client
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

for _ in range(600):
    run = runs.get_run(order.run_id)
    if run.status in ("succeeded", "failed", "canceled"):
        break
    time.sleep(0.1)
assert run.status == "succeeded" and run.verified, run

events = runs.list_run_events(run.run_id).events
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
    orders.get_work_order(order.id[:-4] + "0000")
    raise AssertionError("an unknown work order was found")
except ApiException as error:
    assert error.status == 404 and error.data.error.code == "WORK_ORDER_NOT_FOUND", error
print(f"python: {order.id} succeeded, {len(events)} events")
