// Reports of Anthropic (usage_report/messages and cost_report) and OpenAI (usage/completions and costs), as their
// APIs answer them: a file has one answer or several, one after the other, each a page or an array of pages. The
// rules are those of `awo finance reconcile`.

/** Largest files that are read, in bytes, together. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Places of a dollar in a sum; a cent has two fewer. */
const NANO_PLACES = 9;
const CENT_PLACES = 7;

/** @typedef {"anthropic" | "openai"} Provider */
/**
 * What a model was used for. Dollars are billionths, null where a report has none.
 * @typedef {{inputTokens: number, outputTokens: number, usdNano: number | null}} Used
 */
/** @typedef {Map<string, Used>} Rows by `row(period, model)` */
/** @typedef {Record<string, unknown>} Fields */

/** @param {string} period a day or a month @param {string} model */
export const row = (period, model) => JSON.stringify([period, model]);

/** @param {Rows} rows @param {string} at @param {Used} more */
export function add(rows, at, more) {
  const sum = rows.get(at) ?? { inputTokens: 0, outputTokens: 0, usdNano: null };
  sum.inputTokens += more.inputTokens;
  sum.outputTokens += more.outputTokens;
  if (more.usdNano !== null) sum.usdNano = (sum.usdNano ?? 0) + more.usdNano;
  rows.set(at, sum);
}

/** @param {Provider} provider @param {File[]} files @param {string} month @returns {Promise<Rows>} */
export async function read(provider, files, month) {
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  if (bytes > MAX_BYTES) throw new Error(`The files are larger than ${MAX_BYTES} bytes.`);
  /** @type {Rows} */
  const rows = new Map();
  for (const file of files) {
    try {
      for (const page of documents(await file.text()).flat()) addPage(provider, page, month, rows);
    } catch (error) {
      throw new Error(`${file.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return rows;
}

/** The JSON documents of a text, one after the other. @param {string} text @returns {unknown[]} */
function documents(text) {
  const all = [];
  let [depth, begin] = [0, 0];
  for (const token of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]/gs)) {
    if (token[0].length > 1) continue;
    depth += "{[".includes(token[0]) ? 1 : -1;
    if (depth !== 0) continue;
    all.push(parsed(text.slice(begin, token.index + 1)));
    begin = token.index + 1;
  }
  if (text.slice(begin).trim() !== "") all.push(parsed(text.slice(begin)));
  return all;
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("is no JSON");
  }
}

/** @param {unknown} value @returns {Fields} */
const fields = (value) => (typeof value === "object" && value !== null ? /** @type {Fields} */ (value) : {});

/** @param {Provider} provider @param {unknown} page @param {string} month @param {Rows} rows */
function addPage(provider, page, month, rows) {
  const { data } = fields(page);
  if (!Array.isArray(data)) throw new Error("is no answer of a usage or cost report: it has no data");
  for (const bucket of data.map(fields)) {
    const day = dayOf(provider, bucket);
    if (!day.startsWith(`${month}-`)) continue;
    const { results } = bucket;
    if (!Array.isArray(results)) throw new Error("has a bucket without results");
    for (const result of results.map(fields)) {
      const [model, used] = provider === "anthropic" ? anthropic(result) : openai(result);
      add(rows, row(day, plain(model)), used);
    }
  }
}

/** @param {Provider} provider @param {Fields} bucket */
function dayOf(provider, bucket) {
  const at = provider === "anthropic" ? bucket["starting_at"] : bucket["start_time"];
  const time = new Date(typeof at === "number" && provider === "openai" ? at * 1000 : typeof at === "string" && provider === "anthropic" ? at : NaN);
  if (Number.isNaN(time.getTime())) throw new Error(`has a bucket without a start, as ${provider} writes it`);
  return time.toISOString().slice(0, 10);
}

/** @param {unknown} value */
const tokens = (value) => (Number.isSafeInteger(value) ? Number(value) : 0);

/** @param {unknown} value @param {string} why */
function text(value, why) {
  if (typeof value !== "string") throw new Error(why);
  return value;
}

/** Tokens of a usage report, or cents of a cost report. @param {Fields} result @returns {[string, Used]} */
function anthropic(result) {
  if ("amount" in result) {
    const usdNano = units(text(result["amount"], "has an amount that is no text"), CENT_PLACES);
    const type = typeof result["cost_type"] === "string" ? result["cost_type"] : "tokens";
    const model = type === "tokens" ? text(result["model"], "has costs without a model: ask for group_by[]=description") : String(result["model"] ?? type);
    return [model, { inputTokens: 0, outputTokens: 0, usdNano }];
  }
  const written = Object.values(fields(result["cache_creation"])).reduce((/** @type {number} */ sum, value) => sum + tokens(value), 0);
  const inputTokens = tokens(result["uncached_input_tokens"]) + tokens(result["cache_read_input_tokens"]) + written;
  return [text(result["model"], "has usage without a model: ask for group_by[]=model"), { inputTokens, outputTokens: tokens(result["output_tokens"]), usdNano: null }];
}

/** Tokens of a usage report, or dollars of a cost report. @param {Fields} result @returns {[string, Used]} */
function openai(result) {
  if ("amount" in result) {
    const { value, currency } = fields(result["amount"]);
    if (typeof value !== "string" && typeof value !== "number") throw new Error("has an amount without a value");
    if (currency !== "usd") throw new Error("has an amount that is not in usd");
    const item = text(result["line_item"], "has costs without a line item: ask for group_by=line_item");
    return [(item.split(",")[0] ?? item).trim(), { inputTokens: 0, outputTokens: 0, usdNano: units(String(value), NANO_PLACES) }];
  }
  return [text(result["model"], "has usage without a model: ask for group_by=model"), { inputTokens: tokens(result["input_tokens"]), outputTokens: tokens(result["output_tokens"]), usdNano: null }];
}

/** A model's name without its version's date, which one side may name and the other not. @param {string} model */
export const plain = (model) => model.replace(/(?<=.)-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, "");

/** A dollar amount of a report of this service, in billionths. @param {number} usd */
export const nano = (usd) => units(String(usd), NANO_PLACES);

/** A decimal as whole units of so many places; what is beyond them is rounded. @param {string} amount @param {number} places */
function units(amount, places) {
  const parts = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/.exec(amount);
  const digits = (parts?.[2] ?? "") + (parts?.[3] ?? "");
  if (!parts || digits === "" || digits.length > 60) throw new Error(`has the amount ${amount.slice(0, 60)}`);
  const shift = places + Number(parts[4] ?? 0) - (parts[3] ?? "").length;
  const power = 10n ** BigInt(Math.abs(shift));
  const whole = shift >= 0 ? BigInt(digits) * power : (BigInt(digits) + power / 2n) / power;
  const all = Number(whole) * (parts[1] ? -1 : 1);
  if (!Number.isSafeInteger(all)) throw new Error(`has the amount ${amount.slice(0, 60)}`);
  return all;
}
