// A receiver of Punctual's webhooks: verifies the signature, drops repeats, answers.
// Node's own modules only. Run it: WEBHOOK_SECRET=whsec_... PORT=9000 node receiver.js
"use strict";
const crypto = require("node:crypto");
const http = require("node:http");

const SECRET = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
const TOLERANCE_SECONDS = 300; // an older request may be a recorded one that is sent again
const MAX_BODY = 1024 * 1024;
const MAX_IDS = 100_000;

// In production a table of your database with webhook-id as its primary key, written in the same
// transaction as what the request changes: this map does not survive a restart.
const seen = new Map();

function isGenuine(id, timestamp, signatures, body) {
  if (!/^[0-9]{1,11}$/.test(timestamp)) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  // Of the body exactly as it came: parsing and writing it again changes it.
  const right = crypto.createHmac("sha256", SECRET).update(`${id}.${timestamp}.`).update(body).digest();
  // During a rotation there are several. timingSafeEqual takes the same time however much is right.
  return signatures.split(" ").some((one) => {
    const given = Buffer.from(one.startsWith("v1,") ? one.slice(3) : "", "base64");
    return given.length === right.length && crypto.timingSafeEqual(given, right);
  });
}

async function handle(id, body) {
  console.log(`work for ${id}: ${body.subarray(0, 200)}`);
}

async function receive(headers, body) {
  const id = headers["webhook-id"] || "";
  const timestamp = headers["webhook-timestamp"] || "";
  if (!id || !isGenuine(id, timestamp, headers["webhook-signature"] || "", body)) {
    return [401, "signature"]; // not retried: only Punctual has the secret
  }
  if (seen.get(id) === "done") return [200, "repeated"]; // 2xx: Punctual may stop sending it
  // 503 and not 409: the other call may still fail, so this one must be tried again.
  if (seen.get(id) === "working") return [503, "in progress"];
  seen.set(id, "working");
  if (seen.size > MAX_IDS) seen.delete(seen.keys().next().value); // the oldest
  try {
    await handle(id, body);
  } catch {
    seen.delete(id); // the next attempt has to do it
    return [500, "failed"];
  }
  seen.set(id, "done");
  return [200, "done"];
}

http
  .createServer((request, response) => {
    const pieces = [];
    let size = 0;
    request.on("data", (piece) => {
      size += piece.length;
      if (size > MAX_BODY) return request.destroy();
      pieces.push(piece);
    });
    request.on("end", async () => {
      const [status, text] = await receive(request.headers, Buffer.concat(pieces));
      response.writeHead(status).end(text);
    });
  })
  .listen(Number(process.env.PORT || 9000), "127.0.0.1");
