// BullMQ: `work` runs the worker, `schedule` adds the delayed jobs of a plan in bulk.

import { Queue, Worker } from "bullmq";

import { caller } from "./call.mjs";
import { READY, batches, readPlan, verb } from "./plan.mjs";

const NAME = "webhooks";
const CONCURRENCY = 200;

const connection = {
  path: process.env.VALKEY_SOCKET,
  password: process.env.VALKEY_PASSWORD,
  // BullMQ demands it of workers: they wait for work in a blocking command.
  maxRetriesPerRequest: null,
};

async function schedule() {
  const queue = new Queue(NAME, { connection });
  for (const items of batches(readPlan())) {
    const timestamp = Date.now();
    const jobs = items.map(({ dueMs, data }) => ({
      name: "call",
      data,
      opts: {
        timestamp,
        delay: Math.max(0, dueMs - timestamp),
        removeOnComplete: true,
        removeOnFail: true,
      },
    }));
    await queue.addBulk(jobs);
  }
  await queue.close();
}

async function work() {
  const call = caller(CONCURRENCY);
  const worker = new Worker(NAME, (job) => call(job.data), {
    connection,
    concurrency: CONCURRENCY,
  });
  worker.on("error", (error) => console.error(error));
  process.once("SIGTERM", () => worker.close().then(() => process.exit(0)));
  await worker.waitUntilReady();
  console.log(READY);
}

await (verb === "schedule" ? schedule() : work());
