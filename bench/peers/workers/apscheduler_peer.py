"""APScheduler 3: a scheduler with its job store in PostgreSQL; plans come by standard input.

Runs in the peers' own environment. Jobs may start however late they are: by default those more
than a second late are dropped, which is not what is compared.
"""

from __future__ import annotations

import importlib
import os
import sys
from datetime import UTC, datetime
from functools import cache
from typing import Any

from bench.peers.plan import READY, Plan, body

_THREADS = 50


@cache
def _pool() -> Any:
    # By name: it is installed in the peers' environment, not in that of this checkout.
    urllib3 = importlib.import_module("urllib3")
    return urllib3.PoolManager(maxsize=_THREADS, block=True)


def call(url: str, text: str) -> None:
    """Make one call; raise for any answer but 200."""
    headers = {"Content-Type": "application/json"}
    answer = _pool().request("POST", url, body=text.encode(), headers=headers)
    if answer.status != 200:
        raise RuntimeError(f"{url} answered {answer.status}")


def make_scheduler(url: str) -> Any:
    """Return the scheduler on a database of this libpq URL."""
    background = importlib.import_module("apscheduler.schedulers.background")
    store = importlib.import_module("apscheduler.jobstores.sqlalchemy").SQLAlchemyJobStore
    executor = importlib.import_module("apscheduler.executors.pool").ThreadPoolExecutor
    return background.BackgroundScheduler(
        jobstores={"default": store(url=sqlalchemy_url(url))},
        executors={"default": executor(_THREADS)},
        job_defaults={"misfire_grace_time": None},
        timezone=UTC,
    )


def sqlalchemy_url(url: str) -> str:
    """Return a libpq URL as SQLAlchemy spells it for psycopg 3."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1)


def add(scheduler: Any, plan: Plan) -> None:
    """Add a job for each call; paused meanwhile, so that it is not woken by each."""
    # A name by which the job store finds the function again, also from a program's own module.
    function = "bench.peers.workers.apscheduler_peer:call"
    scheduler.pause()
    for number in range(plan.count):
        due = datetime.fromtimestamp(plan.due_ms(number) / 1000, UTC)
        scheduler.add_job(function, "date", run_date=due, args=(plan.url_of(number), body(number)))
    scheduler.resume()


def main() -> None:
    """Take plans until the standard input ends."""
    scheduler = make_scheduler(os.environ["DATABASE_URL"])
    scheduler.start()
    print(READY, flush=True)
    for line in sys.stdin:
        plan = Plan.from_line(line)
        add(scheduler, plan)
        print(plan.receipt, flush=True)
    scheduler.shutdown(wait=False)


if __name__ == "__main__":
    main()
