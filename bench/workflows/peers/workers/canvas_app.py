"""Celery's canvas: chains and chords with Valkey as the broker and as the result backend.

``python -m bench.workflows.peers.workers.canvas_app`` starts the runs of a plan that it reads from
its standard input. A group that a task follows is a chord, which Celery makes of it by itself.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from celery import Celery, chain, group

from bench.peers.plan import body
from bench.peers.workers.celery_app import call
from bench.workflows.peers.shapes import Runs, levels, number_of
from bench.workflows.peers.starting import start_each

_VALKEY = os.environ.get("BROKER_URL", "memory://")
#: A killed worker's messages come back after this long. By default an hour, which is longer than
#: the report waits; it has to be longer than any task takes and than any message is prefetched.
VISIBILITY_SECONDS = 30

# Not the current application: tests load this module beside that of the product.
app = Celery(
    "canvas",
    broker=_VALKEY,
    backend=_VALKEY.replace("memory://", "cache+memory://"),
    set_as_current=False,
)
app.conf.update(
    # Celery's guide advises both where a task may run twice and must not get lost.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    # Short tasks, of which many wait: the guide advises 50 to 150.
    worker_prefetch_multiplier=64,
    broker_transport_options={
        "visibility_timeout": VISIBILITY_SECONDS,
        # Kombu looks for such messages every ten seconds only with this; by default every hundred.
        "unacked_restore_throttle": 1,
    },
    broker_connection_retry_on_startup=True,
)
# Of this application alone: a shared task would be registered with that of the product too.
step = app.task(name="canvas.step", shared=False)(call)


def canvas(runs: Runs, run: int) -> Any:
    """Return a run: a chain whose links are tasks, or groups of tasks."""
    links = []
    for level in levels(runs.shape):
        numbers = [number_of(run, one) for one in level]
        calls = [step.si(runs.url_of(number), body(number)) for number in numbers]
        links.append(calls[0] if len(calls) == 1 else group(calls, app=app))
    return chain(*links, app=app)


def main() -> None:
    """Start the runs of the plan."""
    runs = Runs.from_line(sys.stdin.read())
    start_each(runs, lambda run: canvas(runs, run).apply_async())


if __name__ == "__main__":
    app.set_current()
    main()
