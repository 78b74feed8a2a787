"""What the model of the core loop consists of: ledger, Redis, processes, and what is watched.

Plain tuples, so that a state is a value: two ways to the same state are one state. The moves from
one to the next stand in ``protocol`` and ``faults``; how far they lead, in ``explorer``.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

PENDING, QUEUED, RUNNING, RETRYING = "PENDING", "QUEUED", "RUNNING", "RETRYING"
SUCCEEDED, FAILED, CANCELLED = "SUCCEEDED", "FAILED", "CANCELLED"
FINAL = frozenset({SUCCEEDED, FAILED, CANCELLED})

NONE: frozenset[int] = frozenset()
_Item = TypeVar("_Item")


class Setup(NamedTuple):
    """How large the model is, and which bug is planted."""

    schedulers: int = 2
    workers: int = 2
    recorders: int = 2
    executions: int = 1
    #: How many crashes, pauses, flushes and leases that end too early, together.
    faults: int = 1
    #: How many edits and cancels.
    changes: int = 1
    max_attempts: int = 2
    #: Whether requests may fail, and workers announce starts; both only widen the graph.
    failures: bool = True
    announcements: bool = True
    planted: str = ""
    #: Whether processes of a kind are told apart: only where somebody reads the trace.
    named: bool = False


class Row(NamedTuple):
    """One row of the ledger."""

    status: str = PENDING
    token: int = 0
    incarnation: int = 0
    attempt: int = 0
    cancelling: bool = False
    #: Held by the transaction of an edit or a cancel.
    locked: bool = False
    #: Its lease is over although its message is not lost.
    late: bool = False


class Message(NamedTuple):
    """What travels to a worker."""

    token: int
    incarnation: int
    attempt: int


class Entry(NamedTuple):
    """One entry of the outcome stream."""

    position: int
    verb: str
    token: int


class Mark(NamedTuple):
    """What the start guard knows of a token: ``started`` or ``voided``."""

    token: int
    what: str


class Scheduler(NamedTuple):
    """A scheduler: the epoch it believes to own under, and what it is in the middle of."""

    paused: bool = False
    epoch: int = 0
    doing: tuple[str | int, ...] = ()
    #: Token that it believes lost, and the end of the stream when it noticed.
    barrier: tuple[int, ...] = ()


class Job(NamedTuple):
    """What a worker has of one token: ``held``, ``going`` (marked), ``sent``."""

    token: int
    incarnation: int
    attempt: int
    phase: str = "held"
    announced: bool = False


class Worker(NamedTuple):
    """A worker and its memory."""

    paused: bool = False
    jobs: tuple[Job, ...] = ()


class Recorder(NamedTuple):
    """A recorder: the batch it has read, and whether it has done the first of the two steps."""

    paused: bool = False
    halfway: bool = False
    batch: tuple[Entry, ...] = ()


class Caller(NamedTuple):
    """Somebody who edits or cancels: what the guard answered, and nothing is committed yet."""

    verb: str = ""
    execution: int = 0
    started: bool = False


class State(NamedTuple):
    """Everything at one moment."""

    # PostgreSQL
    rows: tuple[Row, ...] = ()
    epoch: int = 0
    lease_free: bool = True
    #: Token -> execution, by position: tokens come from one sequence and never repeat.
    tokens: tuple[int, ...] = ()
    # Redis; incarnation 0: the value is gone
    incarnation: int = 0
    incarnations: int = 0
    queue: tuple[Message, ...] = ()
    marks: tuple[Mark, ...] = ()
    stream: tuple[Entry, ...] = ()
    delivered: int = 0
    appended: int = 0
    # Processes
    schedulers: tuple[Scheduler, ...] = ()
    workers: tuple[Worker, ...] = ()
    recorders: tuple[Recorder, ...] = ()
    caller: Caller = Caller()
    # How much may still happen
    faults: int = 0
    changes: int = 0
    # Watched, and known to nobody: tokens
    begun: frozenset[int] = NONE
    sent: frozenset[int] = NONE
    #: Between whose start and report a worker stopped, or Redis forgot.
    excused: frozenset[int] = NONE
    #: Whose attempt is recorded; of these, whose own outcome asked for another one.
    recorded: frozenset[int] = NONE
    retried: frozenset[int] = NONE
    withdrawn: frozenset[int] = NONE
    #: The invariant that the last move broke.
    broken: str = ""

    def mark_of(self, token: int) -> str:
        """Return what the guard knows of a token, '' for nothing."""
        return next((mark.what for mark in self.marks if mark.token == token), "")

    def execution_of(self, token: int) -> int:
        return self.tokens[token - 1]

    def row_of(self, token: int) -> Row:
        return self.rows[self.execution_of(token)]

    def with_row(self, execution: int, row: Row) -> State:
        return self._replace(rows=put(self.rows, execution, row))


class Move(NamedTuple):
    """One step of one actor: who, what, and what is the case after it."""

    actor: str
    verb: str
    token: int
    state: State
    is_fault: bool = False

    def __str__(self) -> str:
        what = f"{self.actor}: {self.verb}"
        return f"{what} (token {self.token})" if self.token else what


def first(setup: Setup) -> State:
    """Return the state in which nothing has happened."""
    return State(
        schedulers=(Scheduler(),) * setup.schedulers,
        workers=(Worker(),) * setup.workers,
        recorders=(Recorder(),) * setup.recorders,
        faults=setup.faults,
        changes=setup.changes,
    )


def put(items: tuple[_Item, ...], place: int, item: _Item) -> tuple[_Item, ...]:
    """Return the items with one of them replaced."""
    return (*items[:place], item, *items[place + 1 :])
