// The service that the tests look at, a browser, and what both say. Each file of tests has its own.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";

/** With `FILES`, a folder, scripts and style are its files instead of those in the program. */
const { CHROMIUM, FILES, SEED, TOOLS } = process.env;
export const require = createRequire(join(TOOLS, "package.json"));
const { chromium } = require("playwright-core");
/** How long a machine that is busy with other things may take for what takes a second. */
const PATIENCE_MS = 30_000;
export const HOSTILE = { tenant: '=<img src=x onerror="hacked=1">', team: "</script><script>hacked=2</script>" };

/** What no page may do: everything of these is a failure at the end. */
const faults = [];

const seeded = spawn(SEED, { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: seeded.stdout })[Symbol.asyncIterator]();
export const service = JSON.parse((await lines.next()).value);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
const now = new Date();
/** This month, and the two before it. */
export const months = [0, 1, 2].map((back) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7));

after(async () => {
  await browser.close();
  seeded.stdin.end();
  assert.deepEqual(faults, []);
});

/** What the API answers to a key. */
export async function api(path, accept = "application/json", key = service.key, base = service.baseUrl) {
  const answer = await fetch(base + path, { headers: { authorization: `Bearer ${key}`, accept } });
  assert.equal(answer.status, 200, path);
  return accept === "application/json" ? answer.json() : answer.text();
}

export const micro = (number) => Math.round(number * 1e6);
export const net = (row) => micro(row.credits) - micro(row.refunds);
export const next = (month) => new Date(Date.UTC(+month.slice(0, 4), +month.slice(5), 1)).toISOString().slice(0, 10);
/** A number of the page as whole millionths. */
export const shown = (text) => micro(Number(text.replaceAll(",", "").replace(" %", "")));

export async function report(month, by, more = "") {
  const found = await api(`/v1/usage/report?from=${month}-01&to=${next(month)}&groupBy=${encodeURIComponent(by)}&limit=100${more}`);
  assert.equal(found.hasMore, false);
  return found;
}

/** Deductions less refunds of a month, by the ledger's own entries. */
export async function ledger(month) {
  let [sum, cursor] = [0, ""];
  do {
    const page = await api(`/v1/credits/usage?startDate=${month}-01&endDate=${next(month)}&limit=100${cursor}`);
    for (const entry of page.transactions) sum += { deduction: 1, refund: -1, purchase: 0 }[entry.type] * micro(entry.amount);
    cursor = page.nextCursor ? `&cursor=${page.nextCursor}` : "";
  } while (cursor);
  return sum;
}

/** A page with a key entered, whose every fault is noted. */
export async function opened(hash = "#/money", key = service.key, { base = service.baseUrl, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  if (FILES) {
    await page.route(/console\/(?!uplot)[a-z_]+\.(js|css)$/, (route) => {
      const name = basename(new URL(route.request().url()).pathname);
      return route.fulfill({ body: readFileSync(join(FILES, name)), contentType: name.endsWith(".js") ? "text/javascript" : "text/css" });
    });
  }
  page.setDefaultTimeout(PATIENCE_MS);
  await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const isOfStatus = /status of (400|401|403|404|409|500)|net::ERR_FAILED/.test(message.text());
    if (message.type() === "error" && !isOfStatus) faults.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (!["data:", "blob:"].includes(url.protocol) && url.origin !== base) faults.push(`another host: ${url}`);
    if (request.url().includes("org_live_")) faults.push(`a key in an address: ${url}`);
  });
  await page.goto(`${base}/console/${hash}`);
  if (key) {
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Open" }).click();
  }
  return page;
}

/** A page of money that has all its numbers. */
export async function money(where = "", key = service.key, options = {}) {
  const page = await opened(`#/money${where}`, key, options);
  await whole(page);
  return page;
}

export async function whole(page) {
  await page.locator("#card-spent").waitFor();
  await page.locator("main table").first().waitFor();
  await page.locator(".busy").waitFor({ state: "detached" });
}

/** The rows of a table by its caption, each a list of cells; totals come last. */
export async function rows(page, caption) {
  const table = page.locator("table", { has: page.locator("caption", { hasText: caption }) });
  await table.waitFor();
  return cells(table.locator("tbody tr, tfoot tr"));
}

/** The cells of some rows: a number that is shown with two places has all of them behind it. */
export const cells = (rows) => rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.querySelector("data")?.value ?? cell.textContent)));

export const card = (page, id) => page.locator(`#card-${id} .value`).evaluate((of) => of.querySelector("data")?.value ?? of.textContent ?? "");
