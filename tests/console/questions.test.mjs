// The fifteen questions of docs/finance.md, asked as a person in finance would: with a key for credits and
// budgets, in the browser. Each answer is compared with `awo`'s, and with DuckDB's over the export where that
// can know it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

import { api, card, HOSTILE, micro, money, months, net, next, opened, rows, service, shown } from "./scene.mjs";

const { SEED, FOCUS_PYTHON } = process.env;
const AWO = join(dirname(SEED), "awo");
const SUMS = join(dirname(fileURLToPath(import.meta.url)), "../focus/check.py");
const MAX_OUTPUT = 64 * 1024 * 1024;
/** The page's forecast is in whole credits, and its clock runs on. */
const FORECAST_CREDITS = 2;

// Last month is whole, and has a month before it.
const [, month, monthBefore] = months;
const folder = mkdtempSync(join(tmpdir(), "awo-questions-"));
let duckdb;

after(() => rmSync(folder, { recursive: true, force: true }));

/** What a program printed, and how it ended. */
function ran(program, args, environment = {}) {
  return new Promise((done) => {
    execFile(program, args, { cwd: folder, env: { ...process.env, ...environment }, maxBuffer: MAX_OUTPUT }, (error, stdout, stderr) => {
      done({ code: error ? error.code : 0, stdout, stderr });
    });
  });
}

/** What `awo` answers with the key of the finance team. */
async function awo(line, codes = [0]) {
  const found = await ran(AWO, line.split(" "), { AWO_URL: service.baseUrl, AWO_API_KEY: service.financeKey });
  assert.ok(codes.includes(found.code), `awo ${line}: ${found.code} ${found.stderr}`);
  return found.stdout;
}

const json = async (line, codes) => JSON.parse(await awo(`${line} --json`, codes));
const costs = (more = "", of = month) => json(`finance report --from ${of}-01 --to ${next(of)}${more}`);
/** The month on the page, as the finance team sees it. */
const page = (where = "", of = month) => money(`?month=${of}${where}`, service.financeKey);
/** A line of the command's text. */
const line = (text, name) => text.split("\n").find((one) => one.startsWith(name)) ?? "";
const first = (text) => micro(Number(/-?\d+(\.\d+)?/.exec(text)[0]));

/** The net credits of each group on the page. */
async function divided(where, caption = /^Credits by/) {
  const open = await page(where);
  const table = await rows(open, caption);
  await open.context().close();
  return Object.fromEntries(table.slice(0, -1).map((cells) => [cells[0], shown(cells[5])]).filter(([, credits]) => credits !== 0));
}

/** The net credits of each group of a command's report. */
const groups = (found, by) => Object.fromEntries(found.rows.map((row) => [row.group[by], net(row)]).filter(([, credits]) => credits !== 0));

/** DuckDB's sums of the month's export, as `[[group, credits], …]` by what they are divided by; null without DuckDB. */
async function sums() {
  if (!FOCUS_PYTHON) {
    console.log("questions: without DuckDB (make test-console installs it where a Python of 3.12 or later is)");
    return null;
  }
  if (!duckdb) {
    await awo(`finance export --month ${month} --out focus.csv`);
    const found = await ran(FOCUS_PYTHON, [SUMS, "--sums", join(folder, "focus.csv")]);
    assert.equal(found.code, 0, found.stderr);
    duckdb = JSON.parse(found.stdout);
  }
  return duckdb;
}

/** Compares the groups of the page with DuckDB's, which names what is not there by nothing. */
async function agrees(found, by, none) {
  const of = await sums();
  if (!of) return;
  const said = of[by].map(([name, credits]) => [(name ?? none).replace(/^'(?=[=+\-@])/, ""), micro(Number(credits))]);
  assert.deepEqual(found, Object.fromEntries(said.filter(([, credits]) => credits !== 0)), by);
}

test("1: what was spent this month, and the month before", async () => {
  for (const of of months.slice(0, 2)) {
    const open = await page("", of);
    assert.equal(shown(await card(open, "spent")), net((await costs("", of)).totals), of);
    await open.context().close();
  }
  const open = await page();
  assert.equal(shown(await card(open, "before")), net((await costs("", monthBefore)).totals));
  const of = await sums();
  if (of) assert.equal(shown(await card(open, "spent")), micro(Number(of.usage[0][0])));
  await open.context().close();
});

test("2: who is over budget", async () => {
  const open = await page();
  const { budgets } = await json("finance budgets");
  const isOver = budgets.filter((one) => one.spentCredits + one.reservedCredits >= one.limitCredits).map((one) => one.name);
  assert.ok(isOver.length > 0);
  const bars = open.locator(".budget", { has: open.locator(".bad") }).getByRole("heading");
  assert.deepEqual(await bars.allTextContents(), isOver);
  await open.context().close();
});

for (const [number, question, by, inDuckdb, none] of [
  [3, "what each team spent", "label:team", "byTeam", "(none)"],
  [4, "what each customer spent", "tenant", "byTenant", "(none)"],
  [5, "which model costs most", "model", "byModel", "(compute)"],
  [7, "what failed runs cost", "outcome", "byOutcome", "(none)"],
]) {
  test(`${number}: ${question}`, async () => {
    const found = await divided(`&by=${encodeURIComponent(by)}`);
    const told = await costs(` --by ${by}`);
    assert.deepEqual(found, groups(told, by));
    assert.equal(Math.max(...Object.values(found)), Object.values(found)[0], "the largest is first");
    await agrees(found, inDuckdb, none);
    if (number !== 7) return;
    const open = await page();
    assert.match(await open.locator("#card-failed .note").textContent(), new RegExp(`^${told.totals.failed} of ${told.totals.runs} runs`));
    await open.context().close();
  });
}

test("6: what happened on an expensive day", async () => {
  const open = await page("&by=tenant");
  const days = await costs(" --bucket day --by tenant");
  const sum = (day) => days.rows.filter((row) => row.bucket === day).reduce((all, row) => all + net(row), 0);
  const day = days.rows.map((row) => row.bucket).reduce((most, one) => (sum(one) > sum(most) ? one : most));
  await open.locator(".chart").focus();
  await open.keyboard.press("Home");
  for (let at = 1; at < Number(day.slice(8)); at += 1) await open.keyboard.press("ArrowRight");
  await open.keyboard.press("Enter");
  await open.waitForURL(new RegExp(`day=${day}`));
  const table = await rows(open, `Credits by tenant, ${day}`);
  assert.equal(shown(table.at(-1)[5]), sum(day));
  const orders = await rows(open, /^Work orders/);
  assert.equal(shown(orders.at(-1)[4]), sum(day));
  const of = await sums();
  if (of) assert.equal(micro(Number(of.byDay.find(([name]) => name === day)[1])), sum(day));
  await open.context().close();
});

test("8, 9 and 10: what a result costs, where the month will end, and how long the credits last", async () => {
  const open = await page("", months[0]);
  const text = await awo(`finance report --from ${months[0]}-01 --to ${next(months[0])}`);
  const each = await card(open, "each");
  if (each === "–") assert.equal(line(text, "per result"), "");
  else assert.equal(shown(each), first(line(text, "per result")));
  const forecast = shown(/([\d,.]+) by the month's end/.exec(await open.locator("#card-spent .note").textContent())[1]);
  assert.ok(Math.abs(forecast - first(line(text, "forecast"))) <= FORECAST_CREDITS * 1e6, `${forecast}: ${text}`);
  const balance = await json("credits");
  assert.equal(shown(await card(open, "available")), micro(balance.available));
  assert.match(await card(open, "runway"), /\d+ (days|hours|months)|over 2 years|–/);
  await open.context().close();
  const whole = await page();
  assert.equal(shown(await card(whole, "each")), first(line(await awo(`finance report --from ${month}-01 --to ${next(month)}`), "per result")));
  await whole.context().close();
});

test("11: what a charge is for", async () => {
  const open = await page(`&by=tenant&tenant=acme`);
  const [order] = (await rows(open, /^Work orders/))[0];
  await open.getByRole("button", { name: `Work order ${order}` }).click();
  const [run] = (await rows(open, /^Runs of this work order/))[0];
  await open.getByRole("button", { name: `Run ${run}` }).click();
  const [id, , , , credits] = (await rows(open, /^Ledger entries of this run/)).find((cells) => shown(cells[4]) > 0);
  const { transactions } = await json(`credits --transactions --from ${month}-01 --to ${next(month)} --limit 100`);
  const entry = transactions.find((one) => one.id === id);
  assert.deepEqual([entry.runId, entry.workOrderId, micro(entry.amount)], [run, order, shown(credits)]);
  await open.context().close();
});

test("12: what changed since a month was closed", async () => {
  const open = await page();
  const booked = await rows(open, /^Booked later/);
  const all = [];
  for (const of of months) for (const one of (await json(`finance statements ${of}`)).corrections) all.push([of, one.month, micro(one.credits), one.runId]);
  assert.ok(all.some(([at, about]) => at !== about));
  assert.deepEqual(booked.map((cells) => [cells[0], cells[1], shown(cells[3]), cells[4]]), all);
  await open.context().close();
});

test("13: all of it in a spreadsheet", async () => {
  const open = await page();
  const [download] = await Promise.all([open.waitForEvent("download"), open.getByRole("button", { name: "All charges as FOCUS 1.2" }).click()]);
  await awo(`finance export --month ${month} --out again.csv`);
  assert.equal(readFileSync(await download.path(), "utf8"), readFileSync(join(folder, "again.csv"), "utf8"));
  await open.context().close();
});

/** A provider's answers about the month, made from our own report: `change` makes them differ. */
async function provided(provider, change = (used) => used) {
  const { rows: ours } = await api(`/v1/usage/report?from=${month}-01&to=${next(month)}&groupBy=model&bucket=day&limit=100`);
  const begin = provider === "anthropic" ? "claude" : "gpt-";
  const [usage, cost] = [{ data: [] }, { data: [] }];
  for (const row of ours.filter((one) => one.group.model.startsWith(begin))) {
    const of = change({ model: row.group.model, input: row.inputTokens, cached: row.cachedInputTokens, output: row.outputTokens, usd: row.modelUsd });
    const at = provider === "anthropic" ? { starting_at: `${row.bucket}T00:00:00Z` } : { start_time: Date.parse(row.bucket) / 1000 };
    const [used, paid] = provider === "anthropic"
      ? [{ model: `${of.model}-20250929`, uncached_input_tokens: of.input - of.cached, cache_read_input_tokens: of.cached, cache_creation: {}, output_tokens: of.output },
         { amount: (of.usd * 100).toFixed(7), currency: "USD", cost_type: "tokens", model: `${of.model}-20250929` }]
      : [{ model: of.model, input_tokens: of.input, input_cached_tokens: of.cached, output_tokens: of.output },
         { amount: { value: of.usd, currency: "usd" }, line_item: `${of.model}, input` }];
    usage.data.push({ ...at, results: [used] });
    cost.data.push({ ...at, results: [paid] });
  }
  assert.ok(usage.data.length > 3, provider);
  writeFileSync(join(folder, "usage.json"), JSON.stringify(usage));
  // Two answers, one after the other, the second as an array of pages.
  writeFileSync(join(folder, "cost.json"), `{"data": []}\n[${JSON.stringify(cost)}]`);
}

for (const [name, provider, change, finding] of [
  ["agrees", "anthropic", undefined, "agrees"],
  ["agrees", "openai", undefined, "agrees"],
  ["has other prices", "anthropic", (used) => ({ ...used, usd: used.usd * 0.9 }), "prices-differ"],
  ["has more calls than came through the service", "openai", (used) => ({ ...used, output: used.output * 2 }), "calls-elsewhere"],
  ["has fewer calls", "openai", (used) => ({ ...used, input: used.cached }), "calls-unknown"],
]) {
  test(`14: a provider's invoice (${provider}) that ${name}`, async () => {
    await provided(provider, change);
    const code = finding === "agrees" ? 0 : 1;
    const told = await json(`finance reconcile --month ${month} --provider ${provider} --file usage.json --file cost.json`, [code]);
    assert.deepEqual([...new Set(told.models.map((one) => one.finding))], [finding]);
    const open = await opened(`#/invoice?month=${month}`, service.financeKey);
    await open.getByLabel("Provider").selectOption(provider);
    await open.getByLabel("Files of its report").setInputFiles(["usage.json", "cost.json"].map((file) => join(folder, file)));
    await open.getByRole("button", { name: "Compare" }).click();
    await open.getByText(finding === "agrees" ? `${month} agrees.` : `${month} does not agree.`).first().waitFor();
    const number = (value) => (value === null || value === undefined ? "–" : new Intl.NumberFormat("en", { maximumFractionDigits: 9 }).format(value));
    const signed = (value) => new Intl.NumberFormat("en", { signDisplay: "exceptZero", minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value);
    const off = (ours, theirs) => signed(theirs === 0 ? (ours === 0 ? 0 : 100) : ((ours - theirs) * 100) / theirs);
    const [input, output] = ["inputTokens", "outputTokens"];
    const cells = (one, first) => [first, ...[input, output].flatMap((of) => [number(one.ours[of]), number(one.theirs[of]), off(one.ours[of], one.theirs[of])]),
      number(one.ours.usd), number(one.theirs.usd), signed(one.usdErrorPercent), one.finding];
    assert.deepEqual(await rows(open, /^Models in/), told.models.map((one) => cells(one, one.model)));
    const differ = told.days.filter((one) => one.finding !== "agrees");
    if (differ.length > 0) assert.deepEqual(await rows(open, /^Days that differ/), differ.map((one) => cells(one, `${one.period} ${one.model}`)));
    await open.context().close();
  });
}

test("14: a file that is no report is named, with what is wrong with it, and nothing of it leaves the browser", async () => {
  const open = await opened("#/invoice", service.financeKey);
  const sent = [];
  open.on("request", (request) => sent.push(request.method() + (request.postData() ?? "")));
  for (const [content, why] of [["no json", "is no JSON"], ["{}", "it has no data"], ['{"data": [{"starting_at": 1, "results": []}]}', "without a start"], [`{"data": "${HOSTILE.tenant.replaceAll('"', "'")}"}`, "it has no data"]]) {
    const files = [{ name: "<img src=x onerror='hacked=6'>.json", mimeType: "application/json", buffer: Buffer.from(content) }];
    await open.getByLabel("Files of its report").setInputFiles(files);
    await open.getByRole("button", { name: "Compare" }).click();
    const alert = open.getByRole("alert").getByText(why);
    await alert.waitFor();
    assert.match(await alert.textContent(), /onerror/);
  }
  assert.deepEqual([...new Set(sent)], []);
  assert.equal(await open.evaluate(() => globalThis.hacked), undefined);
  await open.context().close();
});

test("15: closed months are what they were, and what the reports say", async () => {
  const open = await page();
  await open.getByRole("button", { name: "Check closed months" }).click();
  const told = await json("finance verify");
  assert.deepEqual(told.faults, []);
  await open.getByText(told.months === 1 ? "1 closed month is what it was." : `${told.months} closed months are what they were.`).first().waitFor();
  await open.context().close();
  const changed = await page();
  await changed.route("**/v1/statements?limit=100*", async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    for (const one of body.statements) one.rows[0].credits += 0.000001;
    await route.fulfill({ response: answer, json: body });
  });
  await changed.getByRole("button", { name: "Check closed months" }).click();
  await changed.getByText("its content is not what was hashed").first().waitFor();
  await changed.context().close();
});
