"""Stage 4: outcomes become states, attempts, retries and dead letters, in batches.

Recorders run it and share the outcome stream. They acknowledge a batch after its transaction has
committed: a recorder that dies before leaves it to another, and the token makes the repeat
harmless. Reports on a locked row stay pending and are read again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from executions.complete.outcome_reports import NONSENSE, Said, understand
from executions.complete.outcome_stream import Entry, OutcomeConsumer, set_aside
from executions.complete.recording import record_in_batches
from executions.loop import refusals
from executions.loop.clocks import ClockOffset
from executions.loop.counts import Counts
from shared.conf import conf
from wire import outcomes, start_guard

log = logging.getLogger("executions.engine.complete")

#: Entries per read. An entry is at most about a megabyte.
_ENTRIES = 40
#: Wait for the next batch, per outcome of the last one: hardly any wait after a single outcome.
_GATHER_EACH_SECONDS = 0.02
#: After this many failures in a row it takes one entry at a time: the batch may be too large.
_SMALLER_AFTER = 3


@dataclass(slots=True)
class Recorder:
    """One of the recorders."""

    name: str
    block_seconds: float = 2.0
    offset: ClockOffset = field(default_factory=ClockOffset)
    stream: OutcomeConsumer = field(init=False)
    _failures: int = 0

    def __post_init__(self) -> None:
        self.stream = OutcomeConsumer(self.name, self.block_seconds)

    def run_once(self) -> Counts:
        """Record one batch of outcomes; block a moment when there is none."""
        entries = self.stream.read(_ENTRIES if self._failures < _SMALLER_AFTER else 1)
        if not entries:
            return Counts(done=0, next_in=0.0)
        # Back to zero only at the end: every error below counts.
        self._failures += 1
        offset = self.offset.at_least()
        said = [list(_understood(entry, offset)) for entry in entries]
        result = record_in_batches(list(chain.from_iterable(said)))
        late = [
            entry
            for entry, told in zip(entries, said, strict=True)
            if result.locked and any(one.execution_id in result.locked for one in told)
        ]
        self.stream.postpone(late)
        self.stream.acknowledge([entry for entry in entries if entry not in late])
        start_guard.settle(result.settled)
        refusals.note(refusals.OUTCOMES, result.refused)
        self._failures = 0
        gather = _gather_seconds(sum(map(len, said)))
        return Counts(done=result.done, next_in=gather, refused=result.refused)


def _gather_seconds(count: int) -> float:
    """Return how long to gather the next outcomes: a batch of any size costs much."""
    if count >= conf().outcome_batch:
        return 0.0
    return min(conf().recorder_gather_seconds, count * _GATHER_EACH_SECONDS)


def _understood(entry: Entry, offset: float) -> Iterator[Said]:
    """Yield the reports of an entry; set invalid ones aside."""
    if entry.data is None:
        return  # recorded and deleted by another recorder
    try:
        frames = outcomes.split(entry.data)
    except NONSENSE as error:
        set_aside(entry.data, f"no entry of outcomes: {error!r}")
        return
    for frame in frames:
        try:
            yield understand(outcomes.decode(frame), offset)
        except NONSENSE as error:
            set_aside(frame, f"no outcome: {error!r}")
