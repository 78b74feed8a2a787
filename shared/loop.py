"""The agenda of the one loop: calls stages when they are due and backs off on errors.

Stages are functions of no argument that do one bounded batch and return the seconds until their
next call.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

log = logging.getLogger(__name__)

_FIRST_BACKOFF = 0.2
_LONGEST_BACKOFF = 5.0


@dataclass(slots=True)
class Stage:
    """One named stage; ``next_at`` is monotonic time. An urgent one waits for one other at most."""

    name: str
    run_once: Callable[[], float]
    urgent: bool = False
    next_at: float = 0.0
    failures: int = 0


class Agenda:
    """Runs each stage when it is due; a stage that fails is tried again with backoff.

    The agenda calls ``on_error`` after a failure, to drop connections that may be broken. An
    error of one stage does not stop the others.
    """

    def __init__(self, stages: list[Stage], on_error: Callable[[], None]) -> None:
        self._stages = stages
        self._on_error = on_error

    def run_due(self) -> float:
        """Run every stage that is due, in order; return the seconds until the next one is.

        After each of them, an urgent stage that has become due runs first.
        """
        for stage in self._stages:
            if stage.next_at <= time.monotonic():
                self._run(stage)
                self._run_urgent(stage)
        return max(0.0, min(stage.next_at for stage in self._stages) - time.monotonic())

    def hurry(self, *names: str, within: float = 0.0) -> None:
        """Make stages due ``within`` the given seconds, unless they are backing off."""
        for stage in self._stages:
            if stage.name in names and not stage.failures:
                stage.next_at = min(stage.next_at, time.monotonic() + within)

    def _run_urgent(self, after: Stage) -> None:
        for stage in self._stages:
            if stage.urgent and stage is not after and stage.next_at <= time.monotonic():
                self._run(stage)

    def _run(self, stage: Stage) -> None:
        try:
            stage.next_at = time.monotonic() + stage.run_once()
            stage.failures = 0
        except Exception as error:  # a loop outlives every fault; it is logged
            stage.failures += 1
            wait = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2 ** min(stage.failures - 1, 10))
            stage.next_at = time.monotonic() + wait * random.uniform(0.5, 1.0)  # noqa: S311 - spreads retries, no secret
            log.warning(
                "stage.failed",
                extra={"stage": stage.name, "failures": stage.failures, "reason": str(error)},
                exc_info=stage.failures == 1,
            )
            self._on_error()
