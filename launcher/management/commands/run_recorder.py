"""``manage.py run_recorder``: writes outcomes; any number of recorders share the stream.

A thread beside the loop does what follows from events: live updates, alerts, wake-ups.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connections

from executions.broker import publish
from executions.complete.stage import Recorder
from executions.dispatch.handing_on import HandingOn
from launcher.news import News
from shared.clock_watch import ClockWatch
from shared.garbage import collect_seldom
from shared.interpreter import take_short_turns
from shared.loop import Agenda, Stage
from shared.redis_client import ConnectionFailed
from tenants.services import active_signing_secrets
from workflows.stages import hand_steps_on

log = logging.getLogger("scheduler_site.management.commands.run_recorder")

_TIDY_SECONDS = 3600.0


class Command(BaseCommand):
    """Record until stopped; a batch that has begun is committed and acknowledged first."""

    help = "Turn outcomes of workers into states, attempts, retries and dead letters."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the recorder's loop until SIGTERM or Ctrl-C; a second signal ends it at once."""
        stopped = threading.Event()

        def ask_to_stop(number: int, frame: object) -> None:
            if stopped.is_set():
                raise SystemExit(128 + number)
            stopped.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, ask_to_stop)
        name = os.environ.get("PROCESS_NAME", "recorder")
        recorder = Recorder(f"{name}@{socket.gethostname()}:{os.getpid()}")
        hand_steps_on(HandingOn(publish, active_signing_secrets, recorder.offset))
        news = News()
        agenda = Agenda(
            [
                Stage("complete", lambda: _complete(recorder, news)),
                Stage("tidy", lambda: _tidy(recorder)),
            ],
            on_error=connections.close_all,
        )
        news.start()
        ClockWatch("recorder").start()
        collect_seldom()
        take_short_turns()
        while not stopped.is_set():
            stopped.wait(agenda.run_due())
        log.info("recorder.stopped")
        news.stop()
        _leave(recorder)


def _complete(recorder: Recorder, news: News) -> float:
    counts = recorder.run_once()
    if counts.done:
        news.hurry()
    recorder.stream.gather(counts.next_in)
    return 0.0


def _tidy(recorder: Recorder) -> float:
    recorder.stream.forget_the_gone()
    return _TIDY_SECONDS


def _leave(recorder: Recorder) -> None:
    try:
        recorder.stream.leave()
    except ConnectionFailed as error:
        # An idle consumer in the group costs nothing; other recorders remove it.
        log.warning("recorder.without_redis", extra={"reason": type(error).__name__})
