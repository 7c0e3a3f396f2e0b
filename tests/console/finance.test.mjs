// What a person in finance chooses on the page of money: periods, dimensions, days, labels and budgets. Numbers are
// compared with the API's.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { api, card, HOSTILE, micro, money, months, net, opened, rows, service, shown, whole } from "./scene.mjs";

const DAY_MS = 86_400_000;
const [now, month] = months;
/** What the page calls dimensions, where it is not by their names. */
const NAMES = { tenantUser: "user of a tenant", harness: "profile", key: "key, trigger or schedule" };
const day = (time) => new Date(time).toISOString().slice(0, 10);

/** The API's report of some days, by a dimension. */
async function told(from, to, by, more = "") {
  const found = await api(`/v1/usage/report?from=${from}&to=${to}&groupBy=${encodeURIComponent(by)}&limit=100${more}`);
  assert.equal(found.hasMore, false);
  return found;
}

/** First day, the day after the last one, and the same of the period before. */
function quarter(of) {
  const [year, number] = [+of.slice(0, 4), Math.floor((+of.slice(5) - 1) / 3)];
  const at = (months) => day(Date.UTC(year, number * 3 + months, 1));
  return { text: `${year}-Q${number + 1}`, from: at(0), to: at(3), before: at(-3) };
}

test("a quarter, a year and any days are counted as the API counts them, and compared with what was before", async () => {
  const year = now.slice(0, 4);
  const three = quarter(now);
  const [first, last] = [`${month}-05`, `${now}-02`];
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
  for (const [text, from, to, before] of [
    [three.text, three.from, three.to, three.before], [year, `${year}-01-01`, `${+year + 1}-01-01`, `${+year - 1}-01-01`],
    [`${first}..${last}`, first, day(Date.parse(last) + DAY_MS), day(Date.parse(first) - days * DAY_MS)],
  ]) {
    const page = await money(`?month=${text}&by=tenant`);
    const [wanted, earlier] = [await told(from, to, "tenant"), await told(before, from, "tenant")];
    assert.equal(shown(await card(page, "spent")), net(wanted.totals), text);
    assert.equal(shown(await card(page, "before")), net(earlier.totals), text);
    const table = await rows(page, /^Credits by/);
    assert.equal(shown(table.at(-1)[5]), net(wanted.totals));
    for (const row of wanted.rows) assert.equal(shown(table.find((cells) => cells[0] === row.group.tenant)[5]), net(row), text);
    await page.context().close();
  }
  const page = await money(`?month=${month}`);
  await page.getByRole("combobox", { name: "Period" }).selectOption("This quarter");
  await page.waitForURL(new RegExp(three.text));
  await page.getByRole("combobox", { name: "Period" }).selectOption("Days…");
  await page.getByLabel("First day").fill(first);
  await page.getByLabel("Last day").fill(last);
  await page.getByRole("button", { name: "Show these days" }).click();
  await page.getByRole("heading", { name: `${first} to ${last}, credits` }).waitFor();
  await page.getByRole("button", { name: "Period before" }).click();
  await page.getByRole("heading", { name: new RegExp(`to ${day(Date.parse(first) - DAY_MS)}, credits`) }).waitFor();
  await page.context().close();
});

test("costs are divided by each dimension, and a choice of it leads to charges that add up", async () => {
  for (const by of ["model", "tenant", "tenantUser", "repository", "agent", "harness", "key", "outcome", "label:team", "label:project"]) {
    const page = await money(`?month=${month}&by=${by === "tenant" ? "model" : "tenant"}`);
    await page.getByRole("combobox", { name: "Divided by" }).selectOption(by);
    await page.waitForURL(new RegExp(`by=${encodeURIComponent(by)}`));
    // A user of a tenant has a row for each tenant in the answer.
    const sums = {};
    for (const row of (await told(`${month}-01`, `${now}-01`, by)).rows) sums[row.group[by]] = (sums[row.group[by]] ?? 0) + net(row);
    const wanted = Object.entries(sums).filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1]);
    const table = await rows(page, new RegExp(`^Credits by ${NAMES[by] ?? by.replace(":", " ")},`));
    assert.deepEqual(table.slice(0, wanted.length).map((cells) => shown(cells[5])), wanted.map(([, sum]) => sum), by);
    await page.getByRole("button", { name: `Show what ${wanted[0][0]} is made of`, exact: true }).click();
    const orders = await rows(page, /^Work orders/);
    assert.equal(shown(orders.at(-1)[4]), wanted[0][1], by);
    await page.context().close();
  }
});

test("a day that is chosen is marked and its charges stand above everything else; an empty one says so", async () => {
  const { rows: all } = await told(`${month}-01`, `${now}-01`, "model", "&bucket=day");
  const used = all.find((row) => net(row) > 0).bucket;
  const page = await money(`?month=${month}&day=${used}&model=${encodeURIComponent(all.find((row) => row.bucket === used && net(row) > 0).group.model)}`);
  await rows(page, /^Work orders/);
  const [charges, cards] = [await page.locator("table", { has: page.locator("caption", { hasText: /^Work orders/ }) }).boundingBox(), await page.locator("#card-spent").boundingBox()];
  assert.ok(charges.y < cards.y && charges.y < 500, `${charges.y} ${cards.y}`);
  await page.getByRole("heading", { name: new RegExp(`^${used} · `) }).waitFor();
  await page.context().close();
  const booked = new Set(all.map((row) => row.bucket));
  const empty = Array.from({ length: 28 }, (_, at) => `${month}-${String(at + 1).padStart(2, "0")}`).find((one) => !booked.has(one));
  const other = await money(`?month=${month}&day=${empty}`);
  assert.deepEqual(await other.getByText(`Nothing was booked on ${empty}.`).count(), 2);
  assert.equal(await other.locator("table", { has: other.locator("caption", { hasText: /^Credits by/ }) }).count(), 0);
  await other.context().close();
});

test("what changed most since the month before is named, with how much of it is more runs and how much dearer ones", async () => {
  const page = await money(`?month=${month}&by=model`);
  const sums = async (from, to) => Object.fromEntries((await told(from, to, "model")).rows.map((row) => [row.group.model, { spent: net(row), runs: row.runs }]));
  const [is, was] = [await sums(`${month}-01`, `${now}-01`), await sums(`${months[2]}-01`, `${month}-01`)];
  const nothing = { spent: 0, runs: 0 };
  const all = [...new Set([...Object.keys(is), ...Object.keys(was)])].map((name) => [name, is[name] ?? nothing, was[name] ?? nothing]);
  const wanted = all.sort((a, b) => Math.abs(b[1].spent - b[2].spent) - Math.abs(a[1].spent - a[2].spent)).slice(0, 3);
  const lines = page.locator("section", { has: page.getByRole("heading", { name: "What changed most" }) }).locator("li");
  await lines.nth(2).waitFor();
  assert.equal(await lines.count(), 3);
  for (const [at, [name, one, before]] of wanted.entries()) {
    const line = lines.nth(at);
    assert.ok((await line.textContent()).startsWith(name), name);
    const [difference, volume, price, each] = await line.locator("data").evaluateAll((found) => [found[0], found[1], found.at(-1), found[2]].map((of) => Number(of?.value)));
    assert.equal(micro(difference), Math.abs(one.spent - before.spent), name);
    if (one.runs === 0 || before.runs === 0) continue;
    assert.equal(Math.round(each * 1e6), Math.round(one.spent / one.runs), name);
    const signs = [...(await line.textContent()).matchAll(/\(([−+])/g)].map((sign) => (sign[1] === "−" ? -1 : 1));
    assert.equal(micro(volume) * signs[0] + micro(price) * signs[1], one.spent - before.spent, name);
  }
  await page.context().close();
});

test("a day that costs several times a usual one is named, and leads to its charges", async () => {
  const page = await money(`?month=${month}&by=model`);
  const days = {};
  for (const row of (await told(`${month}-01`, `${now}-01`, "model", "&bucket=day")).rows) days[row.bucket] = (days[row.bucket] ?? 0) + net(row);
  const amounts = Object.values(days).filter((spent) => spent > 0).sort((a, b) => a - b);
  const median = amounts[Math.floor(amounts.length / 2)];
  const wanted = Object.entries(days).filter(([, spent]) => spent >= 3 * median).sort((a, b) => b[1] - a[1]).slice(0, 3);
  assert.ok(wanted.length > 0);
  const lines = page.getByRole("list", { name: "Days that stand out" }).getByRole("listitem");
  await lines.first().waitFor();
  assert.deepEqual(await lines.getByRole("button").allTextContents(), wanted.map(([name]) => name));
  assert.deepEqual((await lines.locator("data").evaluateAll((all) => all.map((one) => Number(one.value)))).map(micro), wanted.map(([, spent]) => spent));
  await lines.first().getByRole("button").click();
  await page.getByRole("heading", { name: wanted[0][0] }).waitFor();
  await page.context().close();
});

test("declared labels are offered, and one that is none is told from one without charges", async () => {
  const page = await money(`?month=${month}`);
  const { labels } = await told(`${month}-01`, `${now}-01`, "model");
  assert.deepEqual(labels, ["team", "project"]);
  const offered = await page.getByRole("combobox", { name: "Divided by" }).locator("option").evaluateAll((all) => all.map((one) => one.value));
  assert.deepEqual(offered.filter((one) => one.startsWith("label:")), labels.map((one) => `label:${one}`));
  await page.context().close();
  const typo = await money(`?month=${month}&by=label:taem`);
  await typo.getByText("taem is no declared cost label. These are: team, project.").waitFor();
  await typo.context().close();
});

test("credits have two places, all of them on demand, and dollars beside them; a filter leaves out what is the organization's", async () => {
  const page = await money(`?month=${month}`);
  const [{ totals }, { creditsPerUsd }] = [await told(`${month}-01`, `${now}-01`, "outcome"), await api("/v1/prices")];
  const spent = net(totals) / 1e6;
  const data = page.locator("#card-spent data");
  assert.equal(await data.textContent(), new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(spent));
  assert.equal(await data.getAttribute("title"), `${new Intl.NumberFormat("en", { maximumFractionDigits: 6 }).format(spent)} credits`);
  const usd = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
  assert.ok((await page.locator("#card-spent .note").textContent()).startsWith(`≈ ${usd.format(spent / creditsPerUsd)};`));
  assert.equal(await card(page, "models"), usd.format(totals.modelUsd));
  await page.context().close();
  const filtered = await money(`?month=${month}&tenant=acme`);
  assert.deepEqual([await filtered.locator("#card-available").count(), await filtered.locator("#card-runway").count(), await filtered.locator("#card-spent").count()], [0, 0, 1]);
  await filtered.context().close();
});

test("the end of a month is checked on one page, and packed into one file of the API's answers", async () => {
  const page = await money();
  await page.getByRole("link", { name: `The end of ${month}` }).click();
  const statement = await api(`/v1/statements/${month}`);
  const state = async () => Object.fromEntries((await rows(page, /^What to look at/)).map((cells) => [cells[0], cells.slice(1)]));
  const told = await state();
  assert.deepEqual([told["Closed"][0], told["Unchanged"][0]], ["yes", "yes"]);
  assert.ok(told["Unchanged"][1].includes(statement.hash));
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download the package" }).click()]);
  assert.equal(download.suggestedFilename(), `close-${month}.zip`);
  const folder = mkdtempSync(join(tmpdir(), "awo-close-"));
  // Python's reader checks the sum of each file.
  execFileSync("python3", ["-m", "zipfile", "-e", await download.path(), folder]);
  const query = `from=${month}-01&to=${now}-01&groupBy=model&bucket=day`;
  const wanted = { [`statement-${month}.csv`]: [`/v1/statements/${month}`, "text/csv"], [`statement-${month}.html`]: [`/v1/statements/${month}`, "text/html"], [`focus-${month}.csv`]: [`/v1/exports/focus?month=${month}`, "text/csv"], [`costs-${month}.csv`]: [`/v1/usage/report?${query}`, "text/csv"] };
  const names = Object.keys(wanted);
  assert.deepEqual(readdirSync(folder).sort(), [...names, `statement-${month}.json`, `check-${month}.txt`].sort());
  for (const [name, [path, accept]] of Object.entries(wanted)) assert.equal(readFileSync(join(folder, name), "utf8"), await api(path, accept), name);
  assert.deepEqual(JSON.parse(readFileSync(join(folder, `statement-${month}.json`), "utf8")), statement);
  const check = readFileSync(join(folder, `check-${month}.txt`), "utf8");
  assert.match(check, /^They agree\.$/m);
  for (const name of [...names, `statement-${month}.json`]) assert.ok(check.includes(`${createHash("sha256").update(readFileSync(join(folder, name))).digest("hex")}  ${name}\n`), name);
  rmSync(folder, { recursive: true });
  await page.getByText(`close-${month}.zip is saved.`).first().waitFor();
  await page.getByRole("row", { name: /^The export adds up/ }).getByText("yes").waitFor();
  await page.goto(`${service.baseUrl}/console/#/close?month=${now}`);
  await page.getByRole("heading", { name: `The end of ${now}` }).waitFor();
  await page.getByRole("table", { name: `What to look at, ${now}` }).waitFor();
  assert.equal((await state())["Closed"][0], "no");
  await page.route("**/v1/statements?limit=100*", async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    for (const one of body.statements) one.rows[0].credits += 0.000001;
    await route.fulfill({ response: answer, json: body });
  });
  await page.goto(`${service.baseUrl}/console/#/close?month=${month}`);
  await page.getByText("its content is not what was hashed").waitFor();
  assert.equal((await state())["Unchanged"][0], "no");
  await page.context().close();
});

test("a budget is made, edited and deleted by a key that may, the worst is first, and its forecast has a day", async () => {
  const page = await money();
  await page.getByRole("button", { name: "New budget" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Ours");
  await page.getByLabel("Limit, credits").fill("0");
  // The browser refuses what is no limit.
  await page.getByRole("button", { name: "Create" }).click();
  assert.equal((await api("/v1/budgets")).total, 3);
  await page.getByLabel("Limit, credits").fill("7.5");
  await page.getByLabel("At the limit").selectOption("alert");
  await page.getByLabel("Tenant", { exact: true }).fill("acme");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "Ours" }).waitFor();
  const one = async () => (await api("/v1/budgets?limit=100")).budgets.find((of) => of.name.startsWith("Ours"));
  const made = await one();
  assert.deepEqual([made.limitCredits, made.period, made.onLimit, made.scope, made.alertsAt], [7.5, "month", "alert", { tenantId: "acme" }, [50, 80, 100]]);
  await page.getByRole("button", { name: "Edit Ours" }).click();
  await page.getByLabel("Name", { exact: true }).fill(`Ours ${HOSTILE.tenant}`);
  // Above what is used, and below the forecast, if there is room between them.
  const [used, forecast] = [made.spentCredits + made.reservedCredits, made.forecastCredits];
  const between = Math.round(((used + forecast) / 2) * 1e6) / 1e6;
  await page.getByLabel("Limit, credits").fill(String(between));
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: `Ours ${HOSTILE.tenant}` }).waitFor();
  const edited = await one();
  assert.deepEqual([micro(edited.limitCredits), edited.id], [micro(between), made.id]);
  const budget = page.locator(".budget", { has: page.getByRole("heading", { name: "Ours" }) });
  const verdict = await budget.locator("strong").textContent();
  if (used < between && between < forecast) assert.match(verdict, /^At this rate it is reached on \d{4}-\d\d-\d\d\.$|^The forecast is above the limit\.$/);
  else assert.equal(verdict, "The limit is reached.");
  assert.equal(await page.locator(".budget h3").first().textContent(), "Payments");
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  await budget.getByRole("button", { name: /^Edit/ }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete now" }).click();
  await page.getByRole("heading", { name: `Ours ${HOSTILE.tenant}` }).waitFor({ state: "detached" });
  assert.equal((await api("/v1/budgets")).total, 3);
  await page.context().close();
  const reader = await opened("#/money", service.financeKey);
  await whole(reader);
  await reader.getByRole("heading", { name: "Payments" }).waitFor();
  assert.equal(await reader.getByRole("button", { name: /^(New budget|Edit)/ }).count(), 0);
  await reader.context().close();
});
