// The plan that every peer gets, on standard input, and the items that it describes.

import { readFileSync } from "node:fs";

const BODY_BYTES = 500;
const FRAME_BYTES = '{"number":,"text":""}'.length;
const BATCH = 1000;

// What a worker prints when it takes work.
export const READY = "this peer is ready";

export const verb = process.argv[2];

export function readPlan() {
  return JSON.parse(readFileSync(0, "utf8"));
}

// What a call sends.
export function bodyOf(number) {
  const padding = BODY_BYTES - FRAME_BYTES - String(number).length;
  return JSON.stringify({ number, text: "x".repeat(padding) });
}

function itemOf(plan, number) {
  return {
    dueMs: plan.at_ms + Math.floor(number * plan.step_ms),
    data: {
      url: `${plan.url}/hook/${number}`,
      body: bodyOf(number),
    },
  };
}

// Yields all items in order, at most a thousand at a time.
export function* batches(plan) {
  for (let begin = 0; begin < plan.count; begin += BATCH) {
    const size = Math.min(BATCH, plan.count - begin);
    yield Array.from({ length: size }, (_, index) => itemOf(plan, begin + index));
  }
}
