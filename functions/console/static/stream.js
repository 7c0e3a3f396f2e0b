// The events of a run, as the service sends them while they happen.

import { fetched, reason } from "./api.js";

/** After how long a stream that broke off begins again. */
const AGAIN_MS = 3_000;
const LAST = ["run.completed", "run.failed", "run.cancelled"];

/** @typedef {{sequence: number, type: string, timestamp: string, data: Record<string, unknown>}} TimelineEvent */

/**
 * Hands over each event once, until the run is over.
 * @param {string} id @param {AbortSignal} signal @param {(event: TimelineEvent) => void} seen
 * @param {(state: string) => void} said how the stream is
 */
export async function follow(id, signal, seen, said) {
  let last = 0;
  said("Waiting for events");
  while (!signal.aborted) {
    try {
      const answer = await fetched(`/v1/runs/${encodeURIComponent(id)}/events`, { after: String(last) }, { accept: "text/event-stream", signal, live: true });
      said("Live");
      for await (const event of events(answer)) {
        if (event.sequence <= last) continue;
        last = event.sequence;
        seen(event);
        if (LAST.includes(event.type)) return said("The run is over.");
      }
    } catch (error) {
      if (signal.aborted) return;
      said(`${reason(error)} The page tries again.`);
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

/** The events of a stream, as `text/event-stream` has them. @param {Response} answer @returns {AsyncGenerator<TimelineEvent>} */
async function* events(answer) {
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (unread + value).split("\n\n");
    unread = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n");
      if (data) yield JSON.parse(data);
    }
  }
}
