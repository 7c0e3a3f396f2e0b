// A work order by the official client for TypeScript of a version of the protocol.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

const version = process.argv[2];
const { AWO_URL, AWO_API_KEY, AWO_REPOSITORY } = process.env;

async function connected() {
  const options = { requestInit: { headers: { authorization: `Bearer ${AWO_API_KEY}` } } };
  const url = new URL(`${AWO_URL}/mcp`);
  const name = { name: "scenario", version: "1" };
  if (version === "2026-07-28") {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const client = new Client(name, { versionNegotiation: { mode: { pin: version } } });
    await client.connect(new StreamableHTTPClientTransport(url, options));
    return client;
  }
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const client = new Client(name);
  const transport = new StreamableHTTPClientTransport(url, options);
  await client.connect(transport);
  assert.equal(transport.protocolVersion, version);
  assert.equal(transport.sessionId, undefined);
  return client;
}

const client = await connected();

async function done(name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, JSON.stringify(result));
  return result.structuredContent;
}

const { tools } = await client.listTools();
assert.equal(tools.length, 10);
const order = await done("submit_work_order", {
  taskPrompt: "Make the test pass.",
  workspaceSource: { type: "git", repository: AWO_REPOSITORY },
  agent: { type: "command", command: ["sh", "-c", "touch fixed.txt"] },
  idempotencyKey: randomUUID(),
});
let waited;
do waited = await done("wait_for_work_order", { workOrderId: order.id });
while (waited.callAgain);
assert.equal(waited.workOrder.status, "succeeded", JSON.stringify(waited));
const run = { runId: waited.workOrder.runId };
const checks = await done("get_checks", run);
assert.equal(checks.verifications.at(-1).type, "verification.passed");
const diff = await done("get_diff", run);
assert.match(diff.diff, /fixed\.txt/);
await client.close();
console.log(`the client for TypeScript did a work order over HTTP with ${version}`);
