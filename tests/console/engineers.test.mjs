// The pages for engineers over a service that runs what it is given: what a run's page shows is compared with the
// API, and what its buttons do with what became of the run.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { api, HOSTILE, opened, require, rows, service } from "./scene.mjs";
import { call, delivered, finished, live, ordered, read, repository, until, workshop } from "./workshop.mjs";

const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
/** Asks for a file's test, fails one that passed, mends one, and leaves one that was broken before. */
const PLAN = `version: 1
protected: ["tests/**", "verify.yaml"]
tests:
  - {name: unit, run: "sh tests/unit.sh > unit.tap; ! grep -q '^not ok' unit.tap", report: {format: tap, path: unit.tap}}
`;
const TESTS = `echo 1..3
grep -q right answer.txt || printf 'not '; echo ok 1 - answers
echo not ok 2 - was broken
[ -e other ] && printf 'not '; echo ok 3 - keeps other
`;
const url = repository("project", { "verify.yaml": PLAN, "tests/unit.sh": TESTS, "answer.txt": "wrong\n", "main.py": "def answer():\n    return 41\n", ".gitignore": "unit.tap\n" });
/** Nothing is verified here. */
const plain = repository("plain", { Makefile: "test:\n\t@true\n", "a.txt": "a\n" });
const PROMPT = `Make the answer right. ${HOSTILE.team}`;
await call("POST", "/api/v1/profiles", { name: "compared", extends: "default", verification: { baseline: "eager" } });
const failed = await ordered(url, `echo 'I look at it'; echo right > answer.txt; printf 'def answer():\\n    return "42"  # right\\n' > main.py; touch other`,
  { taskPrompt: PROMPT, harness: "compared", metadata: { team: HOSTILE.team, ticket: "A-1" }, tenantContext: { tenantId: "acme" } });
const failedRun = await finished(failed.runId);
/** An agent that writes a line at a time until it is stopped. */
const TALKS = "i=0; while :; do i=$((i+1)); echo \"line $i\"; sleep 0.2; done";

const text = (page, selector) => page.locator(selector).textContent();
const fact = (page, name) => page.locator("dl.facts div", { has: page.locator("dt", { hasText: new RegExp(`^${name}$`) }) }).locator("dd");

test("a failed run says why, what was checked, what it changed, how long each part took, and what it cost", async () => {
  const page = await workshop(`#/runs?run=${failed.runId}`);
  await page.getByText("The run is over.").waitFor();
  const { error, cost, baseline } = failedRun;
  const problem = await text(page, ".problem");
  for (const said of [error.code, error.message, error.remedy, `Category ${error.category}`]) assert.ok(problem.includes(said), said);
  assert.equal(await text(page, "pre.prompt"), PROMPT);
  const checks = await rows(page, /^Checks, compared/);
  const compared = (base) => checks.filter((cells) => cells[4] === base).map((cells) => cells[0]).sort();
  assert.deepEqual([compared("introduced"), compared("pre-existing"), compared("fixed")], [baseline.introduced, baseline.preExisting, baseline.fixed].map((names) => [...names].sort()));
  assert.match(checks.find((cells) => cells[0] === "unit")[3], /^1 passed, 2 failed/);
  assert.deepEqual(await page.locator("details.file summary code").allTextContents(), ["answer.txt", "main.py", "other"]);
  assert.deepEqual((await page.locator(".diff .added").allTextContents()).map((line) => line.replace(/^ *\d+ \+ /, "").trimEnd()), ["right", '    return "42"  # right']);
  assert.deepEqual([await text(page, ".diff .added .quoted"), await text(page, ".diff .added .comment")], ['"42"', "# right"]);
  const phases = (await rows(page, /^Phases/)).map((cells) => cells[0]);
  assert.ok(["Agent, iteration 1", "Verification, iteration 1"].every((name) => phases.includes(name)), phases.join());
  for (const [name, wanted] of [["Repository", url], ["Labels", `team = ${HOSTILE.team}, ticket = A-1`], ["Tenant", "acme"], ["Profile", "compared"]]) assert.equal(await fact(page, name).textContent(), wanted);
  assert.match(await fact(page, "Cost").textContent(), new RegExp(`^${cost.credits} credits`));
  assert.match(await page.getByRole("region", { name: "Output of iteration 1" }).textContent(), /I look at it/);
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  await fact(page, "Cost").getByRole("link").click();
  await rows(page, /^Ledger entries of this run/);
  await page.goBack();
  await page.getByRole("link", { name: failed.id, exact: true }).first().click();
  await page.getByText("1 runs, newest first").waitFor();
  await page.context().close();
});

test("a run that is live shows what its agent writes while it writes it, and stops by a key that may", async () => {
  for (const [button, status, code] of [["Cancel", "canceled", null], ["Kill", "failed", "KILLED"]]) {
    const made = await ordered(plain, TALKS);
    const page = await workshop(`#/runs?run=${made.runId}`);
    const output = page.getByRole("region", { name: "Live output" });
    const lines = async () => ((await output.textContent()).match(/line \d+/g) ?? []).length;
    await output.waitFor();
    const seen = await lines();
    await until(async () => (await lines()) > seen + 3, "more output, without a click");
    await page.getByRole("rowheader", { name: "Agent, iteration 1" }).waitFor();
    await page.getByRole("button", { name: button, exact: true }).click();
    await page.getByRole("button", { name: `${button} now` }).click();
    const run = await finished(made.runId);
    assert.deepEqual([run.status, run.error?.code ?? null], [status, code]);
    await page.locator(".lead .state", { hasText: status }).waitFor();
    await page.context().close();
  }
});

test("a failed run starts again, is followed up, and is submitted again with another prompt", async () => {
  const script = "# it's \\ \"quoted\"\nexit 3";
  const made = await ordered(plain, script);
  await finished(made.runId);
  const page = await workshop(`#/runs?run=${made.runId}`);
  await page.getByRole("button", { name: "Start again" }).click();
  await page.getByRole("button", { name: "Start again now" }).click();
  await page.waitForURL((to) => !to.href.includes(made.runId));
  const [again] = (await read(`/v1/runs?workOrderId=${made.id}`)).runs;
  assert.notEqual(again.runId, made.runId);
  assert.ok(page.url().includes(again.runId));
  await finished(again.runId);
  await page.getByText("The run is over.").waitFor();
  await page.getByRole("button", { name: "Follow up" }).click();
  await page.getByLabel("What is left to do").fill("And the rest.");
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForURL((to) => !to.href.includes(again.runId));
  const thread = await read(`/v1/threads/${made.threadId}`);
  assert.deepEqual(thread.turns.map((turn) => turn.turn), [1, 2]);
  assert.ok(page.url().includes(thread.turns[1].runId));
  await finished(thread.turns[1].runId);
  await fact(page, "Thread").getByRole("link").click();
  assert.deepEqual((await rows(page, /^Turns/)).map((cells) => [cells[0], cells[1], cells[2]]), thread.turns.map((turn) => [`Turn ${turn.turn}`, turn.runId, "failed"]));
  await page.goto(`${live.base}/console/#/runs?run=${made.runId}`);
  await page.getByRole("link", { name: "New work order like this" }).click();
  await page.getByLabel("What is to be done").fill("Something else.");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.waitForURL(/run=run_/);
  const id = new URL(page.url().replace("#/", "")).searchParams.get("run");
  const order = await read(`/v1/work-orders/${(await read(`/v1/runs/${id}`)).workOrderId}`);
  assert.deepEqual([order.taskPrompt, order.agent.command, order.workspaceSource.repository], ["Something else.", ["sh", "-c", script], plain]);
  await finished(id);
  await page.context().close();
});

test("a key begins at what it may see, and gets no button for what it may not do", async () => {
  const page = await opened("", service.engineerKey);
  await page.getByText("newest first").waitFor();
  assert.equal(await page.locator("nav a[aria-current]").textContent(), "Runs");
  assert.equal(await page.getByRole("link", { name: "New work order" }).count(), 0);
  await page.getByRole("link", { name: /^Run run_/ }).last().click();
  await page.getByText("The run is over.").waitFor();
  await page.locator("pre.prompt").waitFor();
  assert.equal(await page.getByRole("button", { name: /Start again|Follow up|Cancel/ }).count(), 0);
  await page.getByRole("link", { name: /^Key/ }).click();
  const scopes = Object.fromEntries((await rows(page, /^Scopes/)).map(([name, has]) => [name, has]));
  for (const [name, has] of Object.entries(scopes)) assert.equal(has, ["runs:read", "work-orders:read"].includes(name) ? "yes" : "no", name);
  const version = (await api("/openapi.json")).info.version;
  await page.getByText(version, { exact: true }).waitFor();
  assert.equal(await fact(page, "Version").textContent(), version);
  await page.context().close();
});

test("runs are found by status, tenant, agent, repository, time, cost and id", async () => {
  const page = await workshop("#/runs");
  const shown = () => page.getByRole("link", { name: /^Run run_/ }).evaluateAll((all) => all.map((one) => new URL(one.href.replace("#/", "")).searchParams.get("run")));
  const { runs } = await read("/v1/runs?limit=100");
  const ids = (of) => runs.filter(of).map((run) => run.runId);
  const today = new Date().toISOString().slice(0, 10);
  for (const [filter, of] of [
    ["status=failed", (run) => run.status === "failed"], ["tenant=acme", (run) => run.tenantContext?.tenantId === "acme"], ["repository=project.git", (run) => run.workOrderId === failed.id],
    ["agent=command", () => true], ["agent=codex", () => false], [`from=${today}`, () => true], ["to=2020-01-01", () => false], [`order=${failed.id}`, (run) => run.workOrderId === failed.id],
    [`cost=${failedRun.cost.credits}`, (run) => (run.cost?.credits ?? 0) >= failedRun.cost.credits],
  ]) {
    await page.goto(`${live.base}/console/#/runs?${filter}`);
    await until(async () => (await page.getByText(/newest first|No run is like that/).count()) === 1 && JSON.stringify(await shown()) === JSON.stringify(ids(of)), filter);
  }
  await page.getByLabel("Id of a run or work order").fill(failed.runId);
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("heading", { name: failed.runId }).waitFor();
  await page.context().close();
});

test("what waits in the queue says what it waits for", async () => {
  const made = await call("POST", "/v1/budgets", { name: "None", scope: { tenantId: "waits" }, period: "month", limitCredits: 0.000001, onLimit: "wait" });
  const waits = await ordered(plain, "true", { tenantContext: { tenantId: "waits" } });
  const page = await workshop("#/queue");
  const [row] = (await rows(page, /that wait longest/)).filter((cells) => cells[0] === waits.runId);
  assert.match(row[2], /^a budget that is used up/);
  assert.equal(row[4], "waits");
  await page.context().close();
  await call("POST", `/v1/runs/${waits.runId}/cancel`, {}, 200);
  await call("DELETE", `/v1/budgets/${made.id}`, undefined, 204);
});

/** Nobody listens there. */
const DEAF = "https://127.0.0.1:9/hook";

test("a webhook shows its deliveries with each attempt, and one is delivered again", async () => {
  const { webhook } = await call("POST", "/v1/webhooks", { url: DEAF, events: ["run.created"], description: "ours" });
  const order = await ordered(plain, "true");
  await finished(order.runId);
  const told = async (more = "") => read(`/v1/webhooks/${webhook.id}/deliveries${more}`);
  await until(async () => (await told("?status=abandoned")).total === 1, "a delivery was given up");
  const page = await workshop("#/webhooks");
  await page.getByRole("link", { name: `Webhook ${DEAF}` }).click();
  const [row] = await rows(page, /^Deliveries/);
  const [delivery] = (await told()).deliveries;
  assert.deepEqual(row.slice(0, 3), [delivery.id, "run.created", "abandoned"]);
  for (const attempt of delivery.attempts) assert.ok(row[3].includes(`${attempt.startedAt.slice(0, 10)} ${attempt.startedAt.slice(11, 19)} UTC: ${attempt.error}`), row[3]);
  assert.ok(delivery.attempts.length > 1 && row[3].endsWith(delivery.abandonedReason ?? ""));
  await page.getByRole("button", { name: `Redeliver ${delivery.id}` }).click();
  await page.getByText(/It is delivered again as/).first().waitFor();
  const [again] = (await told()).deliveries;
  assert.deepEqual([again.redeliveryOf, again.runId], [delivery.id, order.runId]);
  const shown = async () => {
    await page.getByRole("button", { name: "Read again" }).click();
    const all = await rows(page, /^Deliveries/);
    return all.length === 2 && all[0][0] === again.id && all[0][2] === "abandoned";
  };
  await until(shown, "the page shows what became of it");
  await page.getByLabel("Status").selectOption("delivered");
  await page.getByText("No delivery is delivered.").waitFor();
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText(/^It was not delivered: /).first().waitFor();
  await call("DELETE", `/v1/webhooks/${webhook.id}`, undefined, 204);
  await page.context().close();
});

test("a schedule shows when it fires and what came of it, and fires by a button", async () => {
  const made = await call("POST", "/v1/schedules", { name: `Nightly ${HOSTILE.tenant}`, cron: "30 2 * * MON-FRI", timezone: "Europe/Berlin", workOrder: { taskPrompt: "Update.", workspaceSource: { type: "git", repository: plain }, agent: { type: "command", command: ["true"] } } });
  const page = await workshop("#/schedules");
  await page.getByRole("link", { name: `Schedule ${made.name}` }).click();
  await page.getByText("It has not fired yet.").waitFor();
  assert.equal(await fact(page, "Next").textContent(), made.next.map((time) => `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`).join(", "));
  await page.getByRole("button", { name: "Fire now" }).click();
  const [row] = await rows(page, /^Firings/);
  const { firings } = await read(`/v1/schedules/${made.id}/firings`);
  assert.deepEqual([row[1], row[3]], ["created", firings[0].workOrderId]);
  const order = await read(`/v1/work-orders/${firings[0].workOrderId}`);
  const run = await finished(order.runId);
  await page.goto(`${live.base}/console/#/runs?run=${order.runId}`);
  await fact(page, "Schedule").getByRole("link", { name: made.id }).click();
  await page.getByRole("heading", { name: made.name }).waitFor();
  assert.equal(Number(await fact(page, "Credits, this month").textContent()), run.cost.credits);
  await call("DELETE", `/v1/schedules/${made.id}`, undefined, 204);
  await page.context().close();
});

/** A label on an issue, as GitHub sends it. */
const labeled = (label, number = 7) => ({ action: "labeled", label: { name: label }, issue: { number, title: HOSTILE.team, body: "It does not work.", html_url: `https://github.com/acme/shop/issues/${number}`, user: { login: "ada", type: "User" }, labels: [{ name: label }] },
  repository: { full_name: "acme/shop", clone_url: "https://github.com/acme/shop.git", html_url: "https://github.com/acme/shop", default_branch: "main", private: true }, sender: { login: "ada", type: "User" } });

test("a delivery to an inbox shows what each trigger made of it, why, and is replayed", async () => {
  const inbox = await call("POST", "/v1/inboxes", { name: "Ours", kind: "github" });
  const trigger = await call("POST", "/v1/triggers", { name: "Label agent", inboxId: inbox.inbox.id, events: ["issue.labeled"], repositories: ["github.com/acme/*"], filter: { labels: ["agent"] }, who: { permission: "write" }, action: "create", workOrder: { taskPrompt: "Resolve.\n{{issue.title}}" } });
  await delivered(inbox, "issues", labeled("bug"));
  await delivered(inbox, "ping", { zen: "x" });
  const page = await workshop("#/triggers");
  assert.deepEqual((await rows(page, /^Triggers/)).map((cells) => cells.slice(0, 4)), [["Label agent", "on", "issue.labeled", "create"]]);
  await page.getByRole("link", { name: "Inbox Ours" }).click();
  const judged = async () => {
    await page.getByRole("button", { name: "Read again" }).click();
    const all = await rows(page, /^Deliveries/);
    return all.every((cells) => cells[4] !== "pending") ? all : null;
  };
  const all = await until(judged, "the sweep has judged both");
  const issue = all.find((cells) => cells[2].includes("7"));
  assert.equal(issue[4], "ignored");
  assert.match(issue[5], /ignored: the filter labels does not hold/);
  assert.match(all.find((cells) => cells !== issue)[5], /ignored: not about this event/);
  await page.getByLabel("Outcome").selectOption("refused");
  await page.getByText("No delivery has this outcome.").waitFor();
  await page.getByLabel("Outcome").selectOption("ignored");
  await page.getByRole("button", { name: /^Replay/ }).first().click();
  await page.getByText("It is judged once more, within a minute.").first().waitFor();
  await page.goto(`${live.base}/console/#/triggers?id=${trigger.id}`);
  await page.getByText("It has created none.").waitFor();
  for (const [name, wanted] of [["Repositories", "github.com/acme/*"], ["Filters", 'labels: ["agent"]'], ["Who may", "permission write"], ["Credits, this month", "0"]]) assert.equal(await fact(page, name).textContent(), wanted);
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  await page.context().close();
});

test("outcomes are the API's, by whatever they are divided", async () => {
  const month = new Date().toISOString().slice(0, 7);
  const next = new Date(Date.UTC(+month.slice(0, 4), +month.slice(5), 1)).toISOString().slice(0, 10);
  for (const by of ["repository", "agent", "tenant"]) {
    const page = await workshop(`#/outcomes?month=${month}&by=${by}`);
    const shown = await rows(page, /^Outcomes by/);
    const told = await read(`/v1/outcomes?from=${month}-01&to=${next}&groupBy=${by}&limit=100`);
    const cells = (row, name) => [name, ...[row.threads, row.withPullRequest, row.open, row.merged, row.closed].map(String), "–", String(row.mergedAsVerified), String(row.credits), "–", "–"];
    assert.deepEqual(shown.slice(0, -1).sort(), told.rows.map((row) => cells(row, row.group[by])).sort());
    assert.deepEqual(shown.at(-1), cells(told.totals, "All"));
    await page.context().close();
  }
});

test("environments, templates and profiles are written, refused with what is wrong, not overwritten, and deleted", async () => {
  for (const [kind, path, name, body, change] of [
    ["environments", "/v1/environments", "tools", { name: "tools", description: "a", variables: { A: "1" } }, (of) => ({ ...of, variables: { A: "2" } })],
    ["templates", "/v1/templates", "our-template", { name: "Ours", description: "a", source: { type: "git", repository: "https://git.example/a.git" }, tags: [], variables: [] }, (of) => ({ ...of, tags: ["b"] })],
    ["profiles", "/api/v1/profiles", "ours", { name: "ours", extends: "default", executionLimits: { maxIterations: 5 } }, (of) => ({ ...of, executionLimits: { maxIterations: 6 } })],
  ]) {
    // A template has an id beside its name, and keeps it.
    const first = kind === "templates" ? { id: name, ...body } : body;
    const page = await workshop("#/setup");
    await page.getByRole("link", { name: `New: ${kind}` }).click();
    const area = page.getByLabel("Definition, as JSON");
    await area.fill("{");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("This is no JSON").waitFor();
    await area.fill(JSON.stringify({ ...first, name: 7 }));
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").getByText("/name").first().waitFor();
    await area.fill(JSON.stringify(first));
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("button", { name: "Save" }).waitFor();
    const one = async () => { const found = await read(`${path}/${name}`); return found.data ?? found; };
    await area.fill(JSON.stringify(change(JSON.parse(await area.inputValue()))));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("It is saved.").first().waitFor();
    const saved = await one();
    const wanted = change(body);
    for (const [member, value] of Object.entries(wanted)) assert.deepEqual(saved[member], value, `${kind}: ${member}`);
    // Somebody else writes it, between what the page has read and what it sends.
    await call("PUT", `${path}/${name}`, { ...wanted, description: "of somebody else" }, 200);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("It was changed meanwhile").waitFor();
    assert.equal((await one()).description, "of somebody else");
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete now" }).click();
    await page.waitForURL(/#\/setup$/);
    await call("GET", `${path}/${name}`, undefined, 404);
    await page.context().close();
  }
});

test("people who use a keyboard, a reader or a phone find no obstacle in the pages for engineers", async () => {
  const inbox = (await read("/v1/inboxes")).inboxes[0];
  const trigger = (await read("/v1/triggers")).triggers[0];
  const { webhook } = await call("POST", "/v1/webhooks", { url: DEAF, events: ["run.created"] });
  const places = [["#/runs", "newest first"], [`#/runs?run=${failed.runId}`, "The run is over."], [`#/submit?from=${failed.id}`, "Submit"], ["#/queue", /Nothing waits|wait longest/], [`#/thread?id=${failed.threadId}`, "Turns, the first"], ["#/triggers", "Label agent"], [`#/triggers?id=${trigger.id}`, "It has created none."],
    [`#/inboxes?id=${inbox.id}`, "Deliveries of the last"], ["#/webhooks", DEAF], [`#/webhooks?id=${webhook.id}`, "Nothing was delivered yet."], ["#/schedules", "There are no schedules"], ["#/outcomes", "Outcomes by repository"], ["#/setup", "Profiles:"], ["#/setup?kind=profiles&name=compared", "With what it extends"], ["#/key", "Scopes that"]];
  for (const [hash, ready] of places) {
    for (const [colorScheme, width] of [["light", 1280], ["dark", 390]]) {
      const page = await workshop(hash, { colorScheme, viewport: { width, height: 800 } });
      await page.getByText(ready).first().waitFor();
      await page.locator(".busy").waitFor({ state: "detached" });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(over, 0, `${hash} ${width}: wider than the screen`);
      const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ["violations"] })`);
      assert.deepEqual(found.violations.map((of) => `${of.id}: ${of.nodes.map((node) => node.html).join(" | ").slice(0, 400)}`), [], `${hash} ${colorScheme} ${width}`);
      await page.context().close();
    }
  }
  await call("DELETE", `/v1/webhooks/${webhook.id}`, undefined, 204);
});
