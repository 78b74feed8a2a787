"""The Celery application of the Celery peers, and the program that publishes for them.

``python -m bench.peers.workers.celery_app publish-eta`` (or ``publish``) reads a plan from its
standard input; ``hold`` and ``release`` end and begin the consuming of the running worker.
"""

from __future__ import annotations

import importlib
import os
import sys
from datetime import UTC, datetime
from functools import cache
from typing import Any

from celery import Celery, signals

from bench.peers.plan import READY, Plan, body

_QUEUE = "celery"
#: One worker runs, and its answer is awaited for ``timeout`` seconds.
_REPLY: dict[str, Any] = {"reply": True, "timeout": 10.0, "limit": 1}

# Not the current application: tests load this module beside that of the product.
app = Celery("peers", broker=os.environ.get("BROKER_URL", "memory://"), set_as_current=False)
app.conf.update(
    task_ignore_result=True,
    # Short tasks, of which many wait: Celery's guide advises 50 to 150.
    worker_prefetch_multiplier=64,
    # Above every ETA of a run: what is held longer would be delivered again.
    broker_transport_options={"visibility_timeout": 3600},
    broker_connection_retry_on_startup=True,
)


@cache
def _pool() -> Any:
    """Return this process's connections: after the fork, each has its own."""
    # By name: it is here with Celery's neighbours, not as a requirement of this checkout.
    urllib3 = importlib.import_module("urllib3")
    return urllib3.PoolManager(maxsize=1)


def call(url: str, text: str) -> None:
    """Make one call; raise for any answer but 200, so that the task fails."""
    headers = {"Content-Type": "application/json"}
    answer = _pool().request("POST", url, body=text.encode(), headers=headers)
    if answer.status != 200:
        raise RuntimeError(f"{url} answered {answer.status}")


# Of this application alone: a shared task would be registered with that of the product too.
call_task = app.task(name="peers.call", shared=False)(call)


def publish(plan: Plan, *, eta: bool) -> None:
    """Publish one message a call, with its due time as the ETA or without one."""
    with app.producer_or_acquire() as producer:
        for number in range(plan.count):
            due = datetime.fromtimestamp(plan.due_ms(number) / 1000, UTC) if eta else None
            arguments = (plan.url_of(number), body(number))
            call_task.apply_async(arguments, eta=due, producer=producer)


def hold() -> list[Any]:
    """Let the running worker take nothing any more; return its answers."""
    return _answers(app.control.cancel_consumer(_QUEUE, **_REPLY))


def release() -> list[Any]:
    """Let the running worker take what is in the queue; return its answers."""
    return _answers(app.control.add_consumer(_QUEUE, **_REPLY))


def _answers(replies: list[Any] | None) -> list[Any]:
    """Return the answers; RuntimeError without one: it is unknown then what the worker does."""
    if not replies:
        raise RuntimeError("no worker answers")
    return replies


def _say_ready(**_: Any) -> None:
    print(READY, flush=True)


signals.worker_ready.connect(_say_ready)
signals.beat_init.connect(_say_ready)


def main(verb: str) -> None:
    """Do what the command line says."""
    if verb == "hold":
        hold()
    elif verb == "release":
        release()
    else:
        publish(Plan.from_line(sys.stdin.read()), eta=verb == "publish-eta")


if __name__ == "__main__":
    main(sys.argv[1])
