// What others know of GitHub Apps, against what this project says and serves: jose verifies the service's own
// statements, and Octokit's App authentication gets a token from the stand-in and reads the run's pull request.
// The case is the JSON file that the first argument names.
import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { createAppAuth } from "@octokit/auth-app";
import { request } from "@octokit/request";
import { decodeProtectedHeader, jwtVerify } from "jose";

const given = JSON.parse(readFileSync(process.argv[2], "utf8"));

assert(given.statements.length > 0);
for (const statement of given.statements) {
  const options = { algorithms: ["RS256"], issuer: String(given.appId), maxTokenAge: "10m", requiredClaims: ["exp"] };
  const { payload } = await jwtVerify(statement, createPublicKey(given.privateKey), options);
  assert.deepEqual(decodeProtectedHeader(statement), { alg: "RS256", typ: "JWT" });
  assert(payload.exp - payload.iat <= 600, `it lasts ${payload.exp - payload.iat} s`);
}

const served = request.defaults({ baseUrl: given.api });
const auth = createAppAuth({ appId: given.appId, privateKey: given.privateKey, request: served });
const { data: app } = await served("GET /app", { request: { hook: auth.hook } });
assert.equal(app.id, given.appId);
const [owner, repo] = given.repository.split("/");
const { data: found } = await served("GET /repos/{owner}/{repo}/installation", { owner, repo, request: { hook: auth.hook } });
const granted = await auth({
  type: "installation", installationId: found.id, repositoryNames: [repo], permissions: { pull_requests: "read", metadata: "read" },
});
assert.equal(granted.permissions.pull_requests, "read");
const headers = { authorization: `Bearer ${granted.token}` };
const { data: pulls } = await served("GET /repos/{owner}/{repo}/pulls", { owner, repo, head: `${owner}:${given.branch}`, headers });
assert.equal(pulls.length, 1);
assert.equal(pulls[0].title, "make the answer right");
assert.equal(pulls[0].head.ref, given.branch);
await assert.rejects(
  served("POST /repos/{owner}/{repo}/pulls", { owner, repo, head: "a", base: "main", title: "a", headers }),
  (error) => error.status === 403,
);
const others = { type: "installation", installationId: found.id, repositoryNames: ["unknown"] };
await assert.rejects(auth(others), (error) => error.status === 422);
