// Where one is in the console: behind the # of the address, which a browser sends nowhere.

/** @typedef {(place: HTMLElement, where: URLSearchParams, signal: AbortSignal) => Promise<void>} Page */

/** Goes to a page. @param {string} page @param {Record<string, string>} where */
export function go(page, where) {
  const text = new URLSearchParams(where).toString();
  location.hash = `/${page}${text ? `?${text}` : ""}`;
}
