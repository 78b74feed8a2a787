"""Does as operators wish: takes no new work while the worker is to be quiet, and ends when told to.

The worker's loop brings the wish with each heartbeat. Schedulers send nothing more from the moment
of the wish; the worker becomes quiet with the second heartbeat that brings it, so that what they
had sent until then has arrived and runs. Messages that still come are handed back.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from wire.worker_wishes import NO_WISH, Wish, Word
from worker.runner import Runner

log = logging.getLogger("executions.workers.heeding")


class Heeding:
    """The wish that one worker knows; lives on its event loop.

    ``intake(reads)`` makes the worker read the queues of its pool or leave them to others; it may
    be called again. ``claim_end(wish)`` returns whether the wish still is the latest one, after
    which no other can follow. ``end`` ends the process in order.
    """

    def __init__(
        self,
        runner: Runner,
        is_empty: Callable[[], bool],
        claim_end: Callable[[Wish], Awaitable[bool]],
        end: Callable[[], None],
    ) -> None:
        self.wish = NO_WISH
        self.quiet = False
        self.intake: Callable[[bool], None] = lambda _: None
        self._runner = runner
        self._is_empty = is_empty
        self._claim_end = claim_end
        self._end = end
        self._stops = False

    def stop(self) -> None:
        """Note that the process stops by a signal: from now on it heeds no wish."""
        self._stops, self.quiet = True, False

    async def heed(self, wish: Wish) -> bool:
        """Do as is wished; return whether the worker has become quiet, or takes work again."""
        seen, self.wish = wish.version == self.wish.version, wish
        if self._stops:
            return False
        changed = self.quiet is wish.takes_work and (seen or wish.takes_work)
        if changed:
            self._change(quiet=not wish.takes_work)
        # Each time: Celery may have been about to connect anew, and have missed it.
        self.intake(not self.quiet)
        if self.quiet and wish.word == Word.DRAIN and self._is_empty():
            await self._end_if_still_wished(wish)
        return changed

    def _change(self, *, quiet: bool) -> None:
        self.quiet = quiet
        if quiet:
            log.info("worker.quiet")
            self._runner.stop_taking()
        else:
            log.info("worker.resumed")
            self._runner.take_again()

    async def _end_if_still_wished(self, wish: Wish) -> None:
        if await self._claim_end(wish):
            log.info("worker.drained")
            self._end()
