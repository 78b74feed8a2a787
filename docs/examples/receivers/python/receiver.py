"""A receiver of Punctual's webhooks: verifies the signature, drops repeats, answers.

Standard library only. Run it: WEBHOOK_SECRET=whsec_... PORT=9000 python receiver.py
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import threading
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
TOLERANCE_SECONDS = 300  # an older request may be a recorded one that is sent again
MAX_BODY = 1024 * 1024
MAX_IDS = 100_000

# In production a table of your database with webhook-id as its primary key, written in the same
# transaction as what the request changes: this dictionary does not survive a restart.
seen: OrderedDict[str, str] = OrderedDict()
lock = threading.Lock()


def is_genuine(webhook_id, timestamp, signatures, body):
    """Say whether the request was signed with the secret, not long ago."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 12):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    # Of the body exactly as it came: parsing and writing it again changes it.
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    right = b"v1," + base64.b64encode(hmac.digest(SECRET, signed, hashlib.sha256))
    # During a rotation there are several. compare_digest takes the same time however much is right.
    return any(hmac.compare_digest(right, one.encode()) for one in signatures.split(" "))


def handle(webhook_id, body):
    """Do the work; raise what went wrong."""
    print(f"work for {webhook_id}: {body[:200]!r}", flush=True)


class Receiver(BaseHTTPRequestHandler):
    """Answers POST."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY:
            self.close_connection = True
            return self.answer(413, "too large")
        body = self.rfile.read(int(length))
        webhook_id = self.headers.get("webhook-id", "")
        timestamp = self.headers.get("webhook-timestamp", "")
        if not webhook_id or not is_genuine(
            webhook_id, timestamp, self.headers.get("webhook-signature", ""), body
        ):
            return self.answer(401, "signature")  # not retried: only Punctual has the secret
        with lock:
            state = seen.get(webhook_id)
            if state is None:
                seen[webhook_id] = "working"
                if len(seen) > MAX_IDS:
                    seen.popitem(last=False)
        if state == "done":
            return self.answer(200, "repeated")  # 2xx: Punctual may stop sending it
        if state == "working":
            # 503 and not 409: the other call may still fail, so this one must be tried again.
            return self.answer(503, "in progress")
        try:
            handle(webhook_id, body)
        except Exception:
            seen.pop(webhook_id, None)  # the next attempt has to do it
            return self.answer(500, "failed")
        seen[webhook_id] = "done"
        self.answer(200, "done")

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver).serve_forever()
