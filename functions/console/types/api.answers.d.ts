// What GET answers, by its path in the API's document.

import type { paths } from "./api.types.js";

export type Answer<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { "application/json": infer Body } } } };
}
  ? Body
  : never;
