// One whole scenario with the generated TypeScript client.
import {
  AuditApi, Configuration, CreditsApi, follow, ProfilesApi, ResponseError, RunsApi, RunTimeout, wait, WebhooksApi,
  WorkOrdersApi,
} from "awo-client";

const configuration = new Configuration({
  basePath: process.env.AWO_URL!,
  accessToken: process.env.AWO_API_KEY!,
});
const orders = new WorkOrdersApi(configuration);
const runs = new RunsApi(configuration);
const profiles = new ProfilesApi(configuration);
const webhooks = new WebhooksApi(configuration);

function check(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

async function main() {
  await profiles.createProfile({
    createProfileRequest: {
      name: "typescript-client",
      _extends: "ci-focused",
      loopStrategy: { type: "fixed", baseIterations: 2 },
      executionLimits: { maxCredits: 50 },
    },
  });
  const resolved = await profiles.getProfile({ name: "typescript-client", resolve: true });
  check("configHash" in resolved.data && resolved.data.configHash.length === 64, resolved);

  const created = await orders.createWorkOrder({
    idempotencyKey: "typescript-1",
    createWorkOrderRequest: {
      taskPrompt: "Write the missing file.",
      workspaceSource: { type: "git", repository: process.env.AWO_REPOSITORY! },
      harness: "typescript-client",
      agent: { type: "command", command: ["sh", "-c", "echo done > fixed.txt"] },
      metadata: { client: "typescript" },
    },
  });
  const flaky = new RunsApi(new Configuration({
    basePath: process.env.AWO_FLAKY_URL!,
    accessToken: process.env.AWO_API_KEY!,
  }));
  const followed = [];
  for await (const event of follow(flaky, created.runId, { timeoutMs: 120_000 })) followed.push(event);
  const run = await wait(flaky, created.runId, { timeoutMs: 120_000 });
  check(run.status === "succeeded" && run.verified, run);

  const { events } = await runs.listRunEvents({ id: run.runId });
  check(followed.every((event, index) => event.sequence === index + 1), followed);
  check(followed.length === events.length && followed.at(-1)?.type === "run.completed", followed);
  for await (const event of follow(runs, run.runId, { after: events.length - 1 })) {
    check(event.sequence === events.length, event);
  }
  const last = events[events.length - 1];
  // The type of an event says what its data is.
  check(last.type === "run.completed" && last.data.verified, last);
  const finished = events.find((event) => event.type === "agent.finished");
  check(finished?.type === "agent.finished" && finished.data.completed, finished);
  check((await runs.getRunDiff({ id: run.runId })).diff.includes("fixed.txt"), "the diff");
  check((await orders.listWorkOrders({ limit: 1 })).total >= 1, "the list");
  check((await new CreditsApi(configuration).getCredits()).available > 0, "credits");
  check((await new AuditApi(configuration).getRunAudit({ runId: run.runId })).data.snapshotsCount === 1, "audit");

  const webhook = await webhooks.createWebhook({
    createWebhookRequest: { url: "https://hooks.example.com/typescript", events: ["run.completed"] },
  });
  const rotated = await webhooks.rotateWebhookSecret({ id: webhook.webhook.id });
  check(rotated.secret !== webhook.secret, "a new secret");
  await webhooks.deleteWebhook({ id: webhook.webhook.id });

  const nowhere = await wait(runs, created.runId.slice(0, -4) + "0000").catch((error: unknown) => error);
  check(nowhere instanceof ResponseError && nowhere.response.status === 404, String(nowhere));
  const sleeping = await orders.createWorkOrder({
    createWorkOrderRequest: {
      taskPrompt: "Sleep.",
      workspaceSource: { type: "git", repository: process.env.AWO_REPOSITORY! },
      agent: { type: "command", command: ["sh", "-c", "sleep 600"] },
    },
  });
  const late = await wait(runs, sleeping.runId, { timeoutMs: 1_000 }).catch((error: unknown) => error);
  check(late instanceof RunTimeout, String(late));
  const never = (async () => {
    for await (const _ of follow(runs, sleeping.runId, { timeoutMs: 1_000 }));
  })();
  check(await never.catch((error: unknown) => error) instanceof RunTimeout, "a run that sleeps has ended");
  await runs.cancelRun({ id: sleeping.runId });
  check((await wait(runs, sleeping.runId, { timeoutMs: 120_000 })).status === "canceled", "canceled");

  const unknown = await orders.getWorkOrder({ id: created.id.slice(0, -4) + "0000" }).then(
    () => { throw new Error("an unknown work order was found"); },
    (error: unknown) => error,
  );
  check(unknown instanceof ResponseError && unknown.response.status === 404, String(unknown));
  const body = await unknown.response.json();
  check(body.error.code === "WORK_ORDER_NOT_FOUND", body);
  console.log(`typescript: ${created.id} succeeded, ${events.length} events`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
