// pg-boss: `work` runs two workers, `schedule` inserts the jobs of a plan in bulk.

import PgBoss from "pg-boss";

import { caller } from "./call.mjs";
import { READY, batches, readPlan, verb } from "./plan.mjs";

const QUEUE = "webhooks";
const WORKERS = 2;
const CONNECTIONS = 200;
// The shortest interval that pg-boss allows; behind a full batch it is not waited for.
const OPTIONS = { batchSize: 500, pollingIntervalSeconds: 0.5 };

const working = verb === "work";
const boss = new PgBoss({
  host: process.env.PGHOST,
  user: process.env.PGUSER,
  password: process.env.PGPASSWORD,
  database: process.env.PGDATABASE,
  // Maintenance is the worker's; no program here uses cron.
  supervise: working,
  schedule: false,
});
boss.on("error", (error) => console.error(error));
await boss.start();

async function schedule() {
  for (const items of batches(readPlan())) {
    const jobs = items.map(({ dueMs, data }) => ({
      name: QUEUE,
      data,
      startAfter: new Date(dueMs),
    }));
    await boss.insert(jobs);
  }
  await boss.stop({ graceful: false });
}

async function work() {
  const call = caller(CONNECTIONS);
  await boss.createQueue(QUEUE);
  for (let number = 0; number < WORKERS; number += 1) {
    const worker = await boss.work(QUEUE, OPTIONS, async (jobs) => {
      if (jobs.length === OPTIONS.batchSize) {
        // More may be due: with a batch an interval alone, the interval would be the limit.
        boss.notifyWorker(worker);
      }
      await Promise.all(jobs.map((job) => call(job.data)));
    });
  }
  process.once("SIGTERM", () => boss.stop({ graceful: false }).then(() => process.exit(0)));
  console.log(READY);
}

await (working ? work() : schedule());
