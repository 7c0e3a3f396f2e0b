// What an engineer's tests look at: a service that runs what it is given, a git repository, and work orders,
// webhooks, schedules, inboxes and triggers that the tests make through the API.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";

import { opened, service } from "./scene.mjs";

/** The sweep comes once a minute. */
const PATIENCE_MS = 120_000;
const OVER = ["succeeded", "failed", "canceled"];
export const live = { base: service.liveUrl, key: service.liveKey };

const folder = mkdtempSync(join(tmpdir(), "awo-workshop-"));
const git = (...args) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", ...args], { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } });

after(() => rmSync(folder, { recursive: true, force: true }));

/** A repository with these files; those that begin with `#!` can be run. */
export function repository(name, files) {
  git("init", "-q", "-b", "main", name);
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, name, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    if (content.startsWith("#!")) chmodSync(file, 0o755);
  }
  git("-C", name, "add", "-A");
  git("-C", name, "commit", "-q", "-m", "base");
  git("clone", "-q", "--bare", name, `${name}.git`);
  return `file://${join(folder, `${name}.git`)}`;
}

/** Calls the API; an answer with another status is a failure. */
export async function call(method, path, body, status = 201, headers = {}) {
  const text = typeof body === "string" ? body : body === undefined ? undefined : JSON.stringify(body);
  const answer = await fetch(live.base + path, { method, headers: { authorization: `Bearer ${live.key}`, accept: "application/json", "content-type": "application/json", ...headers }, ...(text === undefined ? {} : { body: text }) });
  const told = await answer.text();
  assert.equal(answer.status, status, `${method} ${path}: ${told}`);
  return told ? JSON.parse(told) : null;
}

export const read = (path) => call("GET", path, undefined, 200);

/** A work order whose agent is a script. */
export function ordered(url, script, more = {}) {
  return call("POST", "/v1/work-orders", { taskPrompt: "Make the answer right.", workspaceSource: { type: "git", repository: url }, agent: { type: "command", command: ["sh", "-c", script] }, maxIterations: 1, ...more });
}

/** Waits until something is so. @param {() => Promise<any>} what falsy until then */
export async function until(what, why) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await new Promise((done) => setTimeout(done, 50))) {
    const found = await what();
    if (found) return found;
  }
  throw new Error(`it was never so: ${why}`);
}

/** A run when it is over. */
export const finished = (id) => until(async () => {
  const run = await read(`/v1/runs/${id}`);
  return OVER.includes(run.status) && run.settledAt ? run : null;
}, `${id} is over`);

/** A page of the live service. */
export const workshop = (hash, options = {}, key = live.key) => opened(hash, key, { base: live.base, ...options });

/** Delivers a payload to an inbox of GitHub's kind. */
export async function delivered(inbox, event, payload) {
  const body = JSON.stringify(payload);
  const signature = `sha256=${createHmac("sha256", inbox.secret).update(body).digest("hex")}`;
  return call("POST", `/v1/hooks/${inbox.inbox.id}`, body, 202, { "x-hub-signature-256": signature, "x-github-event": event, "x-github-delivery": "1" });
}
