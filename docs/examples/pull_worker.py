"""A worker that leases work from a pool of Punctual; needs only the standard library.

    PUNCTUAL_URL=http://127.0.0.1:8000 PUNCTUAL_KEY=... python pull_worker.py batch-etl

It leases one execution at a time, beats in the background, and ends it with complete or fail; on
SIGINT or SIGTERM it hands back unstarted work.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import urllib.request

URL = os.environ["PUNCTUAL_URL"].rstrip("/")
KEY = os.environ["PUNCTUAL_KEY"]
NAME = f"{socket.gethostname()}-{os.getpid()}"
VERSION = "1.0"
LEASE_SECONDS = 30
stopping = threading.Event()


def generate_invoices(payload, last_progress, report):
    """Do the work; ``report`` sends its progress and raises when the work has to end."""
    for number in range((last_progress or {}).get("done", 0), payload["count"]):
        report({"done": number + 1, "of": payload["count"]})
    return {"invoices": payload["count"]}


HANDLERS = {"generate_invoices": generate_invoices}


def call(path, body, headers):
    """Post JSON and return the answer; OSError for a refusal or a broken connection."""
    headers = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def say(lease, verb, body):
    """Call as the holder of the lease; a call whose answer is lost may be sent again."""
    path = f"/v1/executions/{lease['execution']['id']}/{verb}"
    return call(path, body, {"X-Execution-Token": lease["token"]})


def beat(lease, said, ended, told_to_stop):
    """Keep the lease until the work has ended, and check whether it has to end."""
    while True:
        try:
            if say(lease, "heartbeat", dict(said))["cancel_requested"]:
                told_to_stop.set()
        except OSError as error:
            if getattr(error, "code", 0) == 409:  # stale_lease: the work is no longer ours
                told_to_stop.set()
        if ended.wait(LEASE_SECONDS / 3):
            return


def run(lease):
    """Run one lease to its end and report its outcome."""
    said, ended, told_to_stop = {}, threading.Event(), threading.Event()
    beats = threading.Thread(target=beat, args=(lease, said, ended, told_to_stop))
    beats.start()

    def report(progress):
        said["progress"] = progress
        if told_to_stop.is_set():
            raise InterruptedError("cancelled, or the lease is over")

    try:
        handler = HANDLERS[lease["handler"]]
        verb, body = "complete", {"result": handler(lease["payload"], lease["progress"], report)}
    except Exception as error:  # every error of the work is reported; the policy decides on a retry
        verb, body = "fail", {"error": repr(error)[:1000], "retry": not isinstance(error, KeyError)}
    ended.set()
    beats.join()
    say(lease, verb, body)


def main(pool):
    """Lease and run until told to stop."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    ask = {"worker": NAME, "max": 1, "lease_seconds": LEASE_SECONDS, "wait_seconds": 5}
    ask |= {"version": VERSION, "capacity": 1}
    key = {"Authorization": f"Bearer {KEY}"}
    while not stopping.is_set():
        try:
            for lease in call(f"/v1/pools/{pool}/lease", ask, key)["leases"]:
                say(lease, "release", {}) if stopping.is_set() else run(lease)
        except OSError as error:
            print(error, file=sys.stderr)
            stopping.wait(1)


if __name__ == "__main__":
    main(sys.argv[1])
