"""Every operation that the other steps do not call, called once: that its function is there, that
its role allows what its code does, and that it answers with a status that it is documented with.

Bodies are the examples of docs/openapi.json."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from progress import expect, say
from spine import Client

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/openapi.json"

# Method, path and status; names stand for what the work order before has left.
CALLS = """
GET /openapi.json 200
GET /v1/credits 200
GET /api/v1/usage/summary 200
GET /api/v1/usage/summary?workOrderId={workOrder} 200
GET /v1/runs/{run}/diff 200
GET /api/v1/work-orders/{workOrder}/audit 200
GET /api/v1/audit/runs/{run} 200
GET /api/v1/audit/runs/{run}/changes 200
GET /api/v1/audit/runs/{run}/snapshots 200
GET /api/v1/audit/runs/{run}/summary 200
POST /v1/templates 201
GET /v1/templates 200
PUT /v1/templates/services 200
GET /v1/templates/services 200
DELETE /v1/templates/services 204
POST /v1/webhooks 201
GET /v1/webhooks 200
PATCH /v1/webhooks/{webhook} 200
GET /v1/webhooks/{webhook} 200
POST /v1/webhooks/{webhook}/rotate-secret 200
POST /v1/webhooks/wh_01k00000000000000000000000/test 404
GET /v1/webhooks/{webhook}/deliveries?status=pending 200
POST /v1/webhooks/{webhook}/deliveries/dlv_01k00000000000000000000000/redeliver 404
DELETE /v1/webhooks/{webhook} 204
POST /api/v1/profiles 201
GET /api/v1/profiles 200
PUT /api/v1/profiles/careful 200
GET /api/v1/profiles/careful?resolve=true 200
POST /api/v1/profiles/careful/validate 200
DELETE /api/v1/profiles/careful 204
POST /api/v1/verification/plugins 201
GET /api/v1/verification/plugins 200
GET /api/v1/verification/plugins/custom:licences 200
POST /api/v1/verification/plugins/custom:licences/disable 200
POST /api/v1/verification/plugins/custom:licences/enable 200
DELETE /api/v1/verification/plugins/custom:licences 204
POST /api/v1/verification/run 400
POST /api/v1/work-orders/purge 200
"""


def operation(document: dict, method: str, path: str) -> dict:
    """The document's description of a call."""
    parts = path.split("?")[0].split("/")
    for template, methods in document["paths"].items():
        wanted = template.split("/")
        fits = len(wanted) == len(parts) and all(w == p or w.startswith("{") for w, p in zip(wanted, parts))
        if fits and method.lower() in methods and ("{" not in template or path.split("?")[0] not in document["paths"]):
            return methods[method.lower()]
    raise AssertionError(f"{method} {path} is not documented")


def answer(client: Client) -> None:
    document = json.loads(DOCUMENT.read_text())
    done = client.get("/v1/runs?status=succeeded&limit=1")["runs"][0]
    called = 0
    names = {"{workOrder}": done["workOrderId"], "{run}": done["runId"]}
    for line in CALLS.split("\n"):
        if not line:
            continue
        method, path, status = line.split(" ")
        for name, thing in names.items():
            path = path.replace(name, thing)
        described = operation(document, method, path)
        content = described.get("requestBody", {}).get("content", {}).get("application/json", {})
        body = json.dumps(content["example"]).encode() if content else None
        found = client.call(method, path, body)
        expect(found.status == int(status), f"{method} {path}: {found.status} {found.body[:500]!r}")
        expect(status in described["responses"], f"{method} {path}: {status} is not documented")
        if (method, path) == ("POST", "/v1/webhooks"):
            names["{webhook}"] = found.json()["webhook"]["id"]
        called += 1
    verifies(client, done)
    called += 1
    purged = client.call("POST", "/api/v1/work-orders/purge", json.dumps({"statuses": ["failed"]}).encode())
    expect(purged.json().get("data", {}).get("deletedCount", 0) > 0, f"purge: {purged.status} {purged.body[:500]!r}")
    say(f"  {called + 1} calls answered as documented")


def verifies(client: Client, run: dict) -> None:
    """The workspace of a run that has ended, where the disk of its task is gone."""
    workspace = Path(run["workDir"])
    shutil.rmtree(workspace.parent)
    found = client.call("POST", "/api/v1/verification/run", json.dumps({"workDir": str(workspace)}).encode())
    expect(found.status == 200, f"verifying {workspace}: {found.status} {found.body[:500]!r}")
    result = found.json().get("data", {})
    expect(result.get("overallStatus") == "passed", f"verifying {workspace}: {found.body[:500]!r}")
    say(f"  {workspace} verified on another disk")
