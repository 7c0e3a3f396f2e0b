// Answers of the API as files.

import { fetched, reason } from "./api.js";
import { announce, h, problem, save } from "./dom.js";

/** A button that saves an answer as a file. @param {string} text @param {string} path @param {Record<string, string>} query @param {string} accept @param {string} name */
export function download(text, path, query, accept, name) {
  const button = h("button", { type: "button", onclick: async () => {
    button.disabled = true;
    try {
      const answer = await fetched(path, query, { accept });
      const blob = await answer.blob();
      const broke = accept === "text/csv" && (await blob.slice(-200).text()).includes("# incomplete");
      if (broke) throw new Error("The file broke off. Please try again.");
      save(new Blob([blob], { type: accept === "text/html" ? "application/octet-stream" : accept }), name);
      announce(`${name} is saved.`);
    } catch (error) {
      button.after(problem("Nothing was saved.", reason(error), null));
    } finally {
      button.disabled = false;
    }
  } }, text);
  return button;
}
