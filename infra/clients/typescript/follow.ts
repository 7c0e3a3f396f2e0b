// Waits for a run and follows its events, beside the generated client. Both survive connections that break, a
// service that restarts and 429: after five attempts in a row without progress the last error is thrown.
//
//   const run = await wait(runsApi, order.runId, { timeoutMs: 1_800_000 });
//   for await (const event of follow(runsApi, order.runId)) console.log(event.sequence, event.type);
import type { RunsApi } from "./apis/RunsApi";
import type { Run } from "./models/Run";
import { type TimelineEvent, TimelineEventFromJSON } from "./models/TimelineEvent";
import { ResponseError } from "./runtime";

const TERMINAL = ["succeeded", "failed", "canceled"];
const LAST_EVENTS = ["run.completed", "run.failed", "run.cancelled"];
const MAX_ATTEMPTS = 5;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1_000, 10_000];
// The stream has a comment every 15 s; one that is silent for so long is broken.
const SILENCE_LIMIT_MS = 60_000;

/** The run did not end in time; it continues. */
export class RunTimeout extends Error {}

/** A deadline, and the attempts in a row that brought nothing. */
class Patience {
  attempts = 0;
  private readonly began = Date.now();

  constructor(private readonly timeoutMs = Infinity) {}

  /** Milliseconds until the deadline, at most `limit`. */
  left(limit: number): number {
    const left = Math.min(limit, this.began + this.timeoutMs - Date.now());
    if (left <= 0) throw new RunTimeout("the run did not end in time; it continues");
    return left;
  }

  async pause(ms: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.left(ms)));
  }

  /** Pauses before another attempt, or throws what no other attempt can repair. */
  async failed(error: unknown): Promise<void> {
    if (error instanceof RunTimeout) throw error;
    const response = error instanceof ResponseError ? error.response : undefined;
    const lasting = response !== undefined && response.status !== 429 && response.status < 500;
    if (++this.attempts >= MAX_ATTEMPTS || lasting) throw error;
    const stated = 1_000 * Number(response?.headers.get("Retry-After") ?? 0) || FIRST_PAUSE_MS * 2 ** (this.attempts - 1);
    await this.pause(Math.min(Math.max(stated, FIRST_PAUSE_MS), LONGEST_PAUSE_MS));
  }
}

/** The run once it has ended. Rejects with RunTimeout after `timeoutMs`; the run continues. */
export async function wait(runs: RunsApi, id: string, options: { timeoutMs?: number } = {}): Promise<Run> {
  const patience = new Patience(options.timeoutMs);
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    try {
      const run = await runs.getRun({ id }, { signal: AbortSignal.timeout(patience.left(SILENCE_LIMIT_MS)) });
      if (TERMINAL.includes(run.status)) return run;
      patience.attempts = 0;
      await patience.pause(pause);
    } catch (error) {
      await patience.failed(error);
    }
  }
}

/** Each event after the sequence `after` once, in order, until the run has ended. */
export async function* follow(runs: RunsApi, id: string, options: { after?: number; timeoutMs?: number } = {}):
    AsyncGenerator<TimelineEvent> {
  const patience = new Patience(options.timeoutMs);
  for (let after = options.after ?? 0; ; ) {
    const [abort, began] = [new AbortController(), Date.now()];
    const guard = () => setTimeout(() => abort.abort(), patience.left(SILENCE_LIMIT_MS));
    let [timer, rest] = [guard(), ""];
    try {
      const { raw } = await runs.listRunEventsRaw({ id, lastEventID: after }, async ({ init }) => (
        { headers: { ...init.headers, Accept: "text/event-stream" }, signal: abort.signal }));
      if (raw.status === 204) return;
      const pieces = raw.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
        clearTimeout(timer);
        timer = guard();
        if (Date.now() - began > LONGEST_PAUSE_MS) patience.attempts = 0;
        const lines = (rest + piece.value).split("\n");
        rest = lines.pop()!;
        for (const line of lines.filter((text) => text.startsWith("data:"))) {
          const event = TimelineEventFromJSON(JSON.parse(line.slice(5)));
          [patience.attempts, after] = [0, event.sequence];
          yield event;
          if (LAST_EVENTS.includes(event.type)) return;
        }
      }
      throw new Error("the stream of events ends before the run"); // as it does after 14 minutes
    } catch (error) {
      await patience.failed(error);
    } finally {
      clearTimeout(timer);
      abort.abort();
    }
  }
}
