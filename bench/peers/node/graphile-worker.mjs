// Graphile Worker: `work` runs it, `schedule` adds the jobs of a plan in bulk.
// It takes the database from DATABASE_URL.

import { Logger, makeWorkerUtils, run } from "graphile-worker";

import { caller } from "./call.mjs";
import { READY, batches, readPlan, verb } from "./plan.mjs";

const CONCURRENCY = 200;

const preset = {
  worker: {
    concurrentJobs: CONCURRENCY,
    // Jobs wait for no connection: the local queue fetches for all, and completion is batched. So
    // many have its own performance figures.
    maxPoolSize: 25,
    // Jobs that come due are found by polling only.
    pollInterval: 100,
    // Its performance figures are with these three.
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    // By default every finished job is a line of its own.
    logger: new Logger(() => (level, message) => {
      if (level === "error" || level === "warning") {
        console.error(message);
      }
    }),
  },
};

async function schedule() {
  const utils = await makeWorkerUtils({ preset });
  for (const items of batches(readPlan())) {
    const jobs = items.map(({ dueMs, data }) => ({
      identifier: "call",
      payload: data,
      runAt: new Date(dueMs),
    }));
    await utils.addJobs(jobs);
  }
  await utils.release();
}

async function work() {
  const runner = await run({ preset, taskList: { call: caller(CONCURRENCY) } });
  console.log(READY);
  await runner.promise;
}

await (verb === "schedule" ? schedule() : work());
