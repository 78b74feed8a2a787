// Makes the calls of every peer on Node: one pool of kept connections per receiver.

import { Pool } from "undici";

const HEADERS = { "content-type": "application/json" };

// Returns a function that makes one call and throws for any answer but 200.
export function caller(connections) {
  const pools = new Map();

  function poolOf(origin) {
    let pool = pools.get(origin);
    if (pool === undefined) {
      pool = new Pool(origin, { connections, pipelining: 1 });
      pools.set(origin, pool);
    }
    return pool;
  }

  return async function call({ url, body }) {
    const pathBegin = url.indexOf("/", "http://".length);
    const request = { path: url.slice(pathBegin), method: "POST", headers: HEADERS, body };
    const answer = await poolOf(url.slice(0, pathBegin)).request(request);
    await answer.body.dump();
    if (answer.statusCode !== 200) {
      throw new Error(`${url} answered ${answer.statusCode}`);
    }
  };
}
