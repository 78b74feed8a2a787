// BullMQ's flows: `work` runs the worker, `schedule` starts the runs of a plan.
//
// The plan has the trees of a run. Behind the root of a tree its processor adds the next one. Jobs
// have ids of their own and are kept for a while, so that a step that runs again adds none twice.

import { FlowProducer, Worker } from "bullmq";

import { caller } from "./call.mjs";
import { READY, bodyOf, readPlan, verb } from "./plan.mjs";

const NAME = "steps";
const CONCURRENCY = 200;
const BATCH = 100;

const connection = {
  path: process.env.VALKEY_SOCKET,
  password: process.env.VALKEY_PASSWORD,
  // BullMQ demands it of workers: they wait for work in a blocking command.
  maxRetriesPerRequest: null,
};

// As its guide advises for production: tries with a growing delay, and a bound on kept jobs.
const OPTIONS = {
  attempts: 3,
  backoff: { type: "exponential", delay: 1000 },
  removeOnComplete: { age: 3600, count: 100_000 },
  removeOnFail: { age: 24 * 3600 },
};

function jobOf(run, tree, rest) {
  return {
    name: "step",
    queueName: NAME,
    data: { run, step: tree.step, rest },
    opts: { ...OPTIONS, jobId: `${run.name}-${tree.step}` },
    children: tree.children.map((child) => jobOf(run, child, [])),
  };
}

// Returns the flow of the first tree, whose root has the others.
function flowOf(run, [tree, ...rest]) {
  return jobOf(run, tree, rest);
}

function delay(ms) {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}

async function schedule() {
  const producer = new FlowProducer({ connection });
  await producer.waitUntilReady();
  const plan = readPlan();
  const size = plan.step_ms === 0 ? BATCH : 1;
  for (let begin = 0; begin < plan.count; begin += size) {
    await delay(plan.at_ms + Math.floor(begin * plan.step_ms) - Date.now());
    const flows = [];
    for (let number = begin; number < Math.min(begin + size, plan.count); number += 1) {
      const run = { url: plan.url, number, name: `${plan.at_ms}-${number}` };
      flows.push(flowOf(run, plan.flows));
    }
    await producer.addBulk(flows);
  }
  await producer.close();
}

async function work() {
  const call = caller(CONCURRENCY);
  const producer = new FlowProducer({ connection });
  async function execute({ data: { run, step, rest } }) {
    const number = run.number * 10 + step;
    await call({ url: `${run.url}/hook/${number}`, body: bodyOf(number) });
    if (rest.length > 0) {
      await producer.add(flowOf(run, rest));
    }
  }
  const worker = new Worker(NAME, execute, { connection, concurrency: CONCURRENCY });
  worker.on("error", (error) => console.error(error));
  worker.on("failed", (job, error) => console.error(job?.id, error));
  process.once("SIGTERM", () => worker.close().then(() => process.exit(0)));
  await worker.waitUntilReady();
  console.log(READY);
}

await (verb === "schedule" ? schedule() : work());
