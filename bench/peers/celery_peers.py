"""Celery as it is mostly used for this: with an ETA, from a full queue, and under beat.

All with Valkey as the broker, two prefork processes, one connection pool in each, results
ignored: for a receiver that answers at once the fastest of its pools on two cores (threads and
gevent were slower). Prefetching follows Celery's advice for short tasks; those with an ETA are held
by the worker anyway, so the visibility timeout stays above the longest wait.
"""

from __future__ import annotations

import sys
import threading
from importlib import metadata
from typing import ClassVar

from bench.peers.peer import Peer
from bench.peers.plan import Plan
from bench.peers.programs import run_script
from bench.peers.servers import POSTGRESQL, VALKEY

_APP = "bench.peers.workers.celery_app"
_BEAT_APP = "bench.peers.workers.beat_app"
_WORKER = [
    *(sys.executable, "-m", "celery", "--app", _APP, "--quiet", "worker", "--pool", "prefork"),
    *("--concurrency", "2", "--loglevel", "WARNING"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
]
#: Beat looks for changes every five seconds, and then reads its whole schedule.
_BEAT_LOOK_SECONDS = 7.0


class CeleryEta(Peer):
    """One message a webhook, each with its ETA, published ahead."""

    name = "celery-eta"
    servers: ClassVar[tuple[str, ...]] = (VALKEY,)
    pace = 800.0

    def workers(self) -> dict[str, list[str]]:
        """Return the worker."""
        return {"worker": _WORKER}

    def scheduling(self) -> list[str]:
        """Return the publisher."""
        return [sys.executable, "-m", _APP, "publish-eta"]

    def versions(self) -> dict[str, str]:
        """Return Celery's version and that of its HTTP client."""
        return {name: metadata.version(name) for name in ("celery", "kombu", "urllib3")}


class CeleryBacklog(CeleryEta):
    """One message a webhook, without an ETA; the worker begins when all are in the queue."""

    name = "celery"
    timed = False

    def schedule(self, plan: Plan) -> None:
        """Stop the worker's consumer, then publish everything."""
        self._say("hold")
        super().schedule(plan)

    def scheduling(self) -> list[str]:
        """Return the publisher."""
        return [sys.executable, "-m", _APP, "publish"]

    def release(self) -> None:
        """Let the worker consume."""
        self._say("release")

    def _say(self, word: str) -> None:
        run_script([sys.executable, "-m", _APP, word], self.environment)


class DjangoCeleryBeat(CeleryEta):
    """An entry of the database scheduler for each webhook: clocked, one-off, enabled."""

    name = "django-celery-beat"
    servers: ClassVar[tuple[str, ...]] = (POSTGRESQL, VALKEY)
    pace = 60.0

    def prepare(self) -> None:
        """Make the tables."""
        self.environment["DJANGO_SETTINGS_MODULE"] = "bench.peers.workers.beat_settings"
        run_script([sys.executable, "-m", "django", "migrate", "--no-input"], self.environment)

    def workers(self) -> dict[str, list[str]]:
        """Return beat and the worker."""
        beat = [sys.executable, "-m", "celery", "--app", _BEAT_APP, "--quiet", "beat"]
        scheduler = "django_celery_beat.schedulers:DatabaseScheduler"
        return {
            **super().workers(),
            "scheduler": [*beat, "--scheduler", scheduler, "--loglevel", "WARNING"],
        }

    def schedule(self, plan: Plan) -> None:
        """Write the entries and wait until beat has read them."""
        super().schedule(plan)
        threading.Event().wait(_BEAT_LOOK_SECONDS)

    def scheduling(self) -> list[str]:
        """Return the program that writes the entries."""
        return [sys.executable, "-m", "bench.peers.workers.beat_entries"]

    def versions(self) -> dict[str, str]:
        """Return the versions, beat's and Django's too."""
        names = ("django-celery-beat", "django")
        return super().versions() | {name: metadata.version(name) for name in names}
