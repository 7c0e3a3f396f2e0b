// Calls of the API. The key lives in this tab's sessionStorage and leaves it in the Authorization header of
// calls to where this page came from, and in nothing else.

/** @typedef {import("./api.types.js").paths} paths */

const STORED = "awo-key";
/** How long a call may take, and how often one that may pass is tried. */
const TIME_MS = 40_000;
const TRIES = 3;
/** Most pages of a list that are read. */
export const MAX_PAGES = 100;

/** An error that an answer reports. */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The address of the service: this page stands in its folder `console/`. */
const base = new URL("..", document.baseURI).href.replace(/\/$/, "");

export function key() {
  return sessionStorage.getItem(STORED);
}

/** @param {string | null} text */
export function setKey(text) {
  if (text) sessionStorage.setItem(STORED, text);
  else sessionStorage.removeItem(STORED);
}

/**
 * @param {string} path
 * @param {Record<string, string>} query
 * @param {{accept?: string, signal?: AbortSignal, live?: boolean, full?: boolean}} [how] `live` for a stream that
 *   goes on, `full` where 503 is an answer, too
 * @returns {Promise<Response>}
 */
export async function fetched(path, query, how = {}) {
  const url = new URL(base + path);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const signals = [...(how.live ? [] : [AbortSignal.timeout(TIME_MS)]), ...(how.signal ? [how.signal] : [])];
  const request = {
    headers: { authorization: `Bearer ${key() ?? ""}`, accept: how.accept ?? "application/json" },
    signal: AbortSignal.any(signals),
    /** @type {RequestCredentials} */ credentials: "omit",
    /** @type {RequestCache} */ cache: "no-store",
  };
  for (let tries = 1; ; tries += 1) {
    const answer = await fetch(url, request);
    if (answer.ok || (how.full && answer.status === 503)) return answer;
    const mayPass = answer.status === 429 || answer.status >= 502;
    if (!mayPass || tries >= TRIES) throw await failure(answer);
    const after = Number(answer.headers.get("retry-after") ?? 1);
    await new Promise((done) => setTimeout(done, Math.min(Math.max(after, 1), 10) * 1000));
  }
}

/** @param {Response} answer */
async function failure(answer) {
  const text = await answer.text();
  try {
    const { error } = JSON.parse(text);
    /** @type {{path: string, message: string}[]} */
    const fields = error.details?.errors ?? [];
    const more = fields.map((field) => ` ${field.path}: ${field.message}.`).join("");
    return new ApiError(answer.status, error.code, `${error.message}${more}`);
  } catch {
    return new ApiError(answer.status, "", `The service answered ${answer.status}.`);
  }
}

/**
 * Reads something as the API's document describes it.
 * @template {keyof paths} P
 * @param {P} route the path in the document
 * @param {Record<string, string>} [query]
 * @param {{path?: Record<string, string>, signal?: AbortSignal}} [how]
 * @returns {Promise<import("./api.answers.js").Answer<P>>}
 */
export async function get(route, query = {}, how = {}) {
  const path = route.replace(/\{(\w+)\}/g, (_, /** @type {string} */ name) => encodeURIComponent(how.path?.[name] ?? ""));
  const answer = await fetched(path, query, how.signal ? { signal: how.signal } : {});
  return answer.json();
}

/** A text that no other call has. */
function unique() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * One thing that somebody wants done: made again with the same body, after an answer that did not arrive, it is not done
 * twice.
 * @returns {(path: string, body?: unknown) => Promise<Record<string, unknown>>}
 */
export function intention() {
  let [last, once] = ["", ""];
  return async (path, body = {}) => {
    const text = `${path} ${JSON.stringify(body)}`;
    if (text !== last) [last, once] = [text, unique()];
    const made = await post(path, body, once);
    last = "";
    return made;
  };
}

/**
 * Asks the service to do something. A call that may have arrived is not made again.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {string} [once] the `Idempotency-Key`
 * @returns {Promise<Record<string, unknown>>} the resource, without the envelope that `/api/v1` has
 */
export async function send(method, path, body, once) {
  const answer = await fetch(base + path, {
    method,
    headers: { authorization: `Bearer ${key() ?? ""}`, accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }), ...(once ? { "idempotency-key": once } : {}) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIME_MS),
    credentials: "omit",
    cache: "no-store",
  });
  if (!answer.ok) throw await failure(answer);
  if (answer.status === 204) return {};
  const found = await answer.json();
  if (!path.startsWith("/api/v1/")) return found;
  // A slow kill answers 200 before it knows how it ended.
  if (found.success === false) throw new ApiError(answer.status, found.error.code, found.error.message);
  return found.data ?? {};
}

/** @param {string} path @param {unknown} [body] @param {string} [once] */
export const post = (path, body = {}, once) => send("POST", path, body, once);

/**
 * Reads all pages of a report.
 * @param {Record<string, string>} query
 * @param {AbortSignal} [signal]
 */
export async function report(query, signal) {
  const how = signal ? { signal } : {};
  const first = await get("/v1/usage/report", { ...query, limit: "100" }, how);
  let cursor = first.nextCursor;
  for (let page = 1; cursor && page < MAX_PAGES; page += 1) {
    const next = await get("/v1/usage/report", { ...query, limit: "100", cursor }, how);
    first.rows.push(...next.rows);
    cursor = next.nextCursor;
  }
  if (cursor) throw new ApiError(0, "", "There are too many rows to show: choose a filter or another grouping.");
  return first;
}

/**
 * What a key may not see, or the service does not have, is no failure of the page.
 * @template T
 * @param {Promise<T>} wanted
 * @returns {Promise<{value: T} | {missing: string}>}
 */
export async function optional(wanted) {
  try {
    return { value: await wanted };
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return { missing: `This key may not see it: ${error.message}` };
    if (error instanceof ApiError && error.status === 404) return { missing: "This service does not have it." };
    throw error;
  }
}

/** The text for people. @param {unknown} error */
export function reason(error) {
  if (error instanceof DOMException && error.name === "TimeoutError") return "The service took too long to answer.";
  if (error instanceof ApiError) return error.message;
  if (error instanceof TypeError) return "The service cannot be reached.";
  return error instanceof Error ? error.message : String(error);
}
