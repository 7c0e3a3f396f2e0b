// The console in a real browser, over the local service with three months of runs. What the page shows is
// compared with what the API and the ledger say, number by number.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { api, card, cells as cellsOf, HOSTILE, ledger, micro, money, months, net, next, opened, report, require, rows, service, shown, whole } from "./scene.mjs";

const { AWO_WRITE_SCREENSHOT } = process.env;
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const STATIC = join(dirname(fileURLToPath(import.meta.url)), "../../functions/console/static");
const PICTURE = join(dirname(fileURLToPath(import.meta.url)), "../../docs/console.png");
/** What all files of the page come to, compressed. */
const MAX_PAGE_BYTES = 250 * 1024;
const MAX_PICTURE_BYTES = 200 * 1024;

test("every number of a month is the API's and the ledger's, by whatever it is divided", async () => {
  for (const [at, month] of months.entries()) {
    for (const by of at === 0 ? ["model", "tenant", "outcome", "label:team", "label:project"] : ["model", "tenant"]) {
      const page = await money(`?month=${month}&by=${encodeURIComponent(by)}`);
      const wanted = await report(month, by);
      const sum = await ledger(month);
      assert.equal(shown(await card(page, "spent")), sum, month);
      const table = await rows(page, /^Credits by/);
      assert.equal(shown(table.at(-1)[5]), sum);
      assert.equal(table.length - 1, wanted.rows.length, by);
      for (const row of wanted.rows) {
        const found = table.find((cells) => cells[0] === row.group[by]);
        assert.ok(found, `${by}: no row of ${row.group[by]}`);
        assert.deepEqual(found.slice(1, 6).map(shown), [micro(row.runs), micro(row.failed), micro(row.credits), micro(row.refunds), net(row)]);
      }
      await page.context().close();
    }
  }
});

test("the month is compared with the one before, and failures and successes have their cost", async () => {
  const [month, last] = months;
  const page = await money(`?month=${month}`);
  const { totals } = await report(month, "outcome");
  assert.equal(shown(await card(page, "before")), await ledger(last));
  const credits = await api("/v1/credits");
  assert.equal(shown(await card(page, "available")), micro(credits.available));
  assert.equal(await card(page, "failed"), `${+((totals.failed / totals.runs) * 100).toFixed(1)} %`);
  assert.equal(shown(await card(page, "each")), Math.round(net(totals) / totals.succeeded));
  assert.match(await card(page, "runway"), /\d+ (days|hours|months)|over 2 years/);
  await page.context().close();
});

test("the chart's days have the report's numbers, by keyboard", async () => {
  const month = months[1];
  const page = await money(`?month=${month}&by=tenant`);
  const { rows: wanted } = await report(month, "tenant", "&bucket=day");
  const days = {};
  for (const row of wanted) (days[row.bucket] ??= []).push(row);
  await page.locator(".chart").focus();
  await page.keyboard.press("Home");
  let seen = 0;
  for (let day = 1; day <= new Date(Date.parse(next(month)) - 1).getUTCDate(); day += 1) {
    const name = `${month}-${String(day).padStart(2, "0")}`;
    const tip = page.locator(".tip");
    assert.equal(await tip.locator("strong").textContent(), name);
    const cells = await cellsOf(tip.locator("tr"));
    const sum = (days[name] ?? []).reduce((all, row) => all + net(row), 0);
    assert.equal(shown(cells.at(-1)[1]), sum, name);
    for (const row of days[name] ?? []) {
      if (net(row) === 0) continue;
      const found = cells.find((of) => of[0] === row.group.tenant);
      assert.equal(shown(found[1]), net(row));
      seen += 1;
    }
    await page.keyboard.press("ArrowRight");
  }
  assert.ok(seen > 10);
  await page.keyboard.press("Enter");
  await page.waitForURL(/day=/);
  await page.context().close();
});

test("a click leads from a tenant to its work orders, runs and ledger entry, which add up", async () => {
  const month = months[1];
  const page = await money(`?month=${month}&by=tenant`);
  const tenant = HOSTILE.tenant;
  const wanted = (await report(month, "tenant")).rows.find((row) => row.group.tenant === tenant);
  await page.getByRole("button", { name: `Show what ${tenant} is made of` }).click();
  await page.waitForURL(/tenant=/);
  let level = await rows(page, /^Work orders/);
  assert.equal(shown(level.at(-1)[4]), net(wanted));
  const sums = level.slice(0, -1).reduce((all, row) => all + shown(row[4]), 0);
  assert.equal(sums, net(wanted));
  const [order] = level[0];
  const cost = shown(level[0][4]);
  await page.getByRole("button", { name: `Work order ${order}` }).click();
  level = await rows(page, /^Runs of this work order/);
  assert.equal(shown(level.at(-1)[4]), cost);
  await page.getByRole("button", { name: `Run ${level[0][0]}` }).click();
  level = await rows(page, /^Ledger entries of this run/);
  const [entry] = level.find((row) => shown(row[4]) > 0);
  await page.getByRole("button", { name: `Entry ${entry}` }).click();
  const meters = await rows(page, /^What this entry is for/);
  const fields = Object.fromEntries(await rows(page, `Ledger entry ${entry}`));
  assert.equal(shown(meters.at(-1)[4]), shown(fields["Amount, credits"]));
  assert.equal(fields["Tenant"], tenant);
  const capped = shown(fields["Not covered by the hold, credits"]);
  assert.equal(shown(fields["Models, credits"]) + shown(fields["Compute, credits"]) - capped, shown(fields["Amount, credits"]));
  await page.goBack();
  await rows(page, /^Ledger entries of this run/);
  await page.context().close();
});

test("filters of labels, outcomes and models leave what the API counts with them", async () => {
  const month = months[1];
  for (const [by, value] of [["label:team", HOSTILE.team], ["outcome", "failed"], ["model", "gpt-5"]]) {
    const filter = `${encodeURIComponent(by)}=${encodeURIComponent(value)}`;
    const page = await money(`?month=${month}&by=tenant&${filter}`);
    const wanted = await report(month, "tenant", `&${filter}`);
    const table = await rows(page, /^Credits by/);
    assert.equal(shown(table.at(-1)[5]), net(wanted.totals), by);
    const level = await rows(page, /^Work orders/);
    assert.equal(shown(level.at(-1)[4]), net(wanted.totals), by);
    await page.context().close();
  }
});

test("nothing that clients call things does anything", async () => {
  const page = await money(`?month=${months[1]}&by=label:team`);
  await page.getByRole("rowheader", { name: HOSTILE.team }).first().waitFor();
  await page.goto(`${service.baseUrl}/console/#/runs`);
  await page.getByText("newest first").waitFor();
  await page.getByRole("link", { name: /^Run run_/ }).nth(3).click();
  await page.getByText("Timeline").waitFor();
  await page.locator("ol li").first().waitFor();
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  assert.equal(await page.locator("main img, main svg, main script, main iframe").count(), 0);
  await page.context().close();
});

test("the key stays in the tab's session storage and goes in a header to the service alone", async () => {
  const page = await opened("", null);
  const sent = [];
  page.on("request", (request) => sent.push([new URL(request.url()).pathname, request.headers()["authorization"]]));
  await page.getByLabel("API key").fill(service.moneyKey);
  await page.getByRole("button", { name: "Open" }).click();
  await whole(page);
  assert.ok(sent.length > 5);
  for (const [path, header] of sent) if (path.startsWith("/v1/")) assert.equal(header, `Bearer ${service.moneyKey}`, path);
  const stored = await page.evaluate(() => [JSON.stringify(localStorage), document.cookie, location.href, JSON.stringify(sessionStorage)]);
  assert.deepEqual(stored.slice(0, 3).map((of) => of.includes("org_live_")), [false, false, false]);
  assert.ok(stored[3].includes(service.moneyKey));
  await page.getByRole("button", { name: "Forget the key" }).click();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await page.getByLabel("API key").waitFor();
  await page.context().close();
});

test("a key sees what its scopes allow, and the page says why not more", async () => {
  const page = await money("", service.moneyKey);
  assert.ok(shown(await card(page, "spent")) > 0);
  for (const title of ["Budgets", "Statements"]) {
    const part = page.locator("section", { has: page.getByRole("heading", { name: title }) });
    const text = await part.last().textContent();
    assert.match(text, /may not see it|does not have it|There are none|Month/, title);
  }
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByText("This key may not see it").first().waitFor();
  await page.context().close();
  const other = await opened("#/money", service.runsKey);
  await other.getByRole("alert").first().waitFor();
  await other.getByRole("link", { name: "Runs" }).click();
  await other.getByText("newest first").waitFor();
  await other.context().close();
  const wrong = await opened("#/money", `${service.key.slice(0, -1)}~`);
  await wrong.getByText("does not know this key").waitFor();
  await wrong.getByRole("button", { name: "Enter another key" }).click();
  await wrong.getByLabel("API key").waitFor();
  await wrong.context().close();
});

test("an empty month, a slow service and a failure each say what they are, and a try again works", async () => {
  const empty = await money("?month=2020-01");
  await empty.getByText("Nothing was charged in this month").waitFor();
  assert.equal(shown(await card(empty, "spent")), 0);
  await empty.context().close();
  const page = await opened("#/money", null);
  let [release, fails] = [() => {}, true];
  const held = new Promise((done) => (release = done));
  await page.route("**/v1/usage/report*", async (route) => {
    await held;
    return fails ? route.fulfill({ status: 500, contentType: "application/json", body: '{"error":{"code":"INTERNAL_ERROR","message":"It did not work.","details":{}}}' }) : route.continue();
  });
  await page.getByLabel("API key").fill(service.key);
  await page.getByRole("button", { name: "Open" }).click();
  await page.locator(".chart .busy").waitFor();
  release();
  await page.locator(".chart").getByText("It did not work.").waitFor();
  fails = false;
  await page.locator(".chart").getByRole("button", { name: "Try again" }).click();
  await whole(page);
  await page.context().close();
});

test("downloads are what the API gives", async () => {
  const month = months[2];
  const page = await money(`?month=${month}&by=tenant`);
  for (const [button, path] of [
    ["This report as CSV", `/v1/usage/report?from=${month}-01&to=${next(month)}&groupBy=tenant&bucket=day`],
    ["All charges as FOCUS 1.2", `/v1/exports/focus?month=${month}`],
  ]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button }).click()]);
    const text = readFileSync(await download.path(), "utf8");
    assert.equal(text, await api(path, "text/csv"), button);
    assert.ok(text.split("\n").length > 5);
  }
  await page.context().close();
});

test("budgets have bars and statements their months, with the API's numbers, and what was booked later", async () => {
  const page = await money();
  const { budgets } = await api("/v1/budgets?limit=100");
  assert.equal(budgets.length, 3);
  for (const of of budgets) {
    const number = (value) => new Intl.NumberFormat("en", { maximumFractionDigits: 6 }).format(value);
    const said = `${of.name}: ${number(of.spentCredits)} spent and ${number(of.reservedCredits)} reserved of ${number(of.limitCredits)}`;
    const bar = page.getByRole("meter", { name: said });
    const used = of.spentCredits + of.reservedCredits;
    assert.deepEqual([Number(await bar.getAttribute("aria-valuenow")), Number(await bar.getAttribute("aria-valuemax"))], [used, Math.max(used, of.limitCredits)]);
    const figures = page.locator(".budget", { has: bar }).locator("data");
    const all = await figures.evaluateAll((found) => found.map((one) => Number(one.value)));
    assert.deepEqual([...all.slice(0, 3), all[4]], [of.spentCredits, of.reservedCredits, of.limitCredits, of.remainingCredits]);
    // The clock runs on between the page's forecast and this one.
    assert.ok(Math.abs(all[3] - of.forecastCredits) <= 1, of.name);
  }
  const isOver = budgets.filter((of) => of.spentCredits + of.reservedCredits >= of.limitCredits).map((of) => of.name);
  assert.deepEqual(isOver, ["Payments"]);
  assert.deepEqual(await page.locator(".budget", { has: page.locator(".bad") }).getByRole("heading").allTextContents(), isOver);
  assert.equal(await page.locator(".budget h3").first().textContent(), "Payments", "the worst is first");
  const { statements } = await api("/v1/statements");
  assert.deepEqual(statements.map((of) => of.month), months);
  const shownMonths = await rows(page, /^Statements by month/);
  const told = statements.map((of) => [of.month, of.status, ...[of.openingBalance, of.purchases, of.deductions, of.refunds, of.closingBalance].map(micro)]);
  assert.deepEqual(shownMonths.map((row) => [row[0], row[1], ...row.slice(2, 7).map(shown)]), told);
  assert.equal(statements.at(-1).status, "closed");
  const later = statements.flatMap((of) => of.corrections.map((one) => [of.month, one.month, one.type, micro(one.credits), one.runId, one.id]));
  assert.ok(later.some(([at, about]) => at !== about));
  assert.deepEqual((await rows(page, /^Booked later/)).map((row) => [...row.slice(0, 3), shown(row[3]), ...row.slice(4)]), later);
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  await page.context().close();
});

test("people who use a keyboard, a reader or a phone find no obstacle, in the light and in the dark", async () => {
  const places = [["", null], ["#/money", service.key], [`#/money?month=${months[1]}&by=tenant&tenant=acme`, service.key], ["#/invoice", service.key], [`#/close?month=${months[1]}`, service.key], ["#/runs", service.key]];
  for (const colorScheme of ["light", "dark"]) {
    for (const [hash, key] of places) {
      for (const width of [1200, 360]) {
        const page = await opened(hash, key, { colorScheme, viewport: { width, height: 800 } });
        if (hash.startsWith("#/money")) await whole(page);
        else await page.getByText({ "": "stays in this tab", "#/invoice": "sent nowhere", "#/close": "What to look at", "#/runs": "newest first" }[hash.split("?")[0]]).waitFor();
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.equal(over, 0, `${hash} ${width}: wider than the screen`);
        // The page's policy allows no script that is handed over; the browser's own tools may.
        const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ["violations"] })`);
        const violations = found.violations.map((of) => `${of.id}: ${of.nodes.map((node) => node.html).join(" | ").slice(0, 400)}`);
        assert.deepEqual(violations, [], `${hash} ${colorScheme} ${width}`);
        await page.context().close();
      }
    }
  }
});

test("the keyboard reaches everything, in the order in which it is read", async () => {
  const page = await money(`?month=${months[1]}`);
  await page.evaluate(() => document.body.focus());
  const reached = [];
  for (let at = 0; at < 60; at += 1) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? ""));
  }
  for (const name of ["Skip to the content", "Money", "Invoice", "Runs", "Outcomes", "Triggers", "Schedules", "Webhooks", "Setup", "Documents", "Forget the key", "Month before", "Next month", "All charges"]) {
    assert.ok(reached.includes(name), `${name} is not reached: ${reached.join(" · ")}`);
  }
  assert.ok(reached.some((name) => name.startsWith("Chart:")) && reached.some((name) => name.startsWith("Show what")));
  await page.context().close();
});

test("the files are small, strictly governed and known again", async () => {
  const page = await fetch(`${service.baseUrl}/console/`);
  const policy = page.headers.get("content-security-policy");
  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  const html = await page.text();
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|\son\w+=|style=/);
  const names = ["uplot.css", "uplot.js", ...readdirSync(STATIC).filter((name) => /\.(js|css)$/.test(name))];
  let bytes = gzipSync(html).length;
  for (const name of names) {
    const answer = await fetch(`${service.baseUrl}/console/${name}`);
    assert.equal(answer.status, 200, name);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    bytes += gzipSync(await answer.text()).length;
    const again = await fetch(`${service.baseUrl}/console/${name}`, { headers: { "if-none-match": answer.headers.get("etag") } });
    assert.equal(again.status, 304, name);
  }
  assert.ok(bytes <= MAX_PAGE_BYTES, `${bytes} bytes`);
  const bare = await fetch(`${service.baseUrl}/console`, { redirect: "manual" });
  assert.deepEqual([bare.status, bare.headers.get("location")], [308, "console/"]);
  assert.equal((await fetch(`${service.baseUrl}/console/../Cargo.toml`)).status, 401);
  assert.equal((await fetch(`${service.baseUrl}/console/other.js`)).status, 404);
  console.log(`console: ${bytes} bytes compressed`);
});

test("the first page is usable soon, and has its picture taken", async () => {
  const page = await money(`?month=${months[1]}&by=model`, service.key, { colorScheme: "light" });
  const began = Date.now();
  await page.reload();
  await whole(page);
  console.log(`console: all numbers after ${Date.now() - began} ms`);
  const options = AWO_WRITE_SCREENSHOT ? { path: PICTURE } : {};
  await page.screenshot({ ...options, clip: { x: 0, y: 0, width: 1200, height: 1150 }, fullPage: true, animations: "disabled" });
  assert.ok(statSync(PICTURE).size < MAX_PICTURE_BYTES, "AWO_WRITE_SCREENSHOT=1 takes docs/console.png anew");
  await page.context().close();
});
