"""A work order by the official client for Python, over HTTP or through `awo mcp`."""

import asyncio
import os
import sys
import uuid

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

VERSION = "2026-07-28"
TOOLS = {"submit_work_order", "follow_up", "get_work_order", "list_work_orders", "wait_for_work_order",
         "cancel_work_order", "get_checks", "get_diff", "get_logs", "get_usage"}


async def done(client, tool, arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return result.structured_content


async def scenario(client):
    assert client.protocol_version == VERSION, client.protocol_version
    listed = await client.list_tools()
    assert {tool.name for tool in listed.tools} == TOOLS, listed
    order = await done(client, "submit_work_order", {
        "taskPrompt": "Make the test pass.",
        "workspaceSource": {"type": "git", "repository": os.environ["AWO_REPOSITORY"]},
        "agent": {"type": "command", "command": ["sh", "-c", "touch fixed.txt"]},
        "idempotencyKey": uuid.uuid4().hex,
    })
    waited = {"callAgain": True}
    while waited["callAgain"]:
        waited = await done(client, "wait_for_work_order", {"workOrderId": order["id"]})
    assert waited["workOrder"]["status"] == "succeeded", waited
    run = {"runId": waited["workOrder"]["runId"]}
    checks = await done(client, "get_checks", run)
    assert checks["verifications"][-1]["type"] == "verification.passed", checks
    diff = await done(client, "get_diff", run)
    assert "fixed.txt" in diff["diff"], diff
    refused = await client.call_tool("get_work_order", {"workOrderId": "wo_01k00000000000000000000000"})
    assert refused.is_error and "WORK_ORDER_NOT_FOUND" in refused.content[0].text, refused


async def main(transport):
    environment = {name: os.environ[name] for name in ("AWO_URL", "AWO_API_KEY", "PATH")}
    if transport == "stdio":
        server = stdio_client(StdioServerParameters(command=os.environ["AWO"], args=["mcp"], env=environment))
    else:
        headers = {"Authorization": f"Bearer {environment['AWO_API_KEY']}"}
        http = httpx2.AsyncClient(headers=headers, timeout=60)
        server = streamable_http_client(f"{environment['AWO_URL']}/mcp", http_client=http)
    async with Client(server) as client:
        await scenario(client)
    print(f"the client for Python did a work order over {transport} with {VERSION}")


asyncio.run(main(sys.argv[1]))
