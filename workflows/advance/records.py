"""What an advance reads of runs, and what it is going to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from executions.choices import COMPENSATION
from tasks.workflow.fans import Fan


class RunRow(NamedTuple):
    """A run as the ledger has it; the columns are those of ``workflow_runs/read``."""

    id: UUID
    execution_id: UUID
    tenant_id: UUID
    task_id: UUID
    version: int
    partition: int
    take: int
    phase: str
    reason: str
    states: bytes
    takes: bytes
    ends: int
    first_failed: int | None
    sealed_input: bytes | None
    scheduled_for: datetime
    began_at: datetime
    deadline_at: datetime
    root_id: UUID
    depth: int
    parent_run: UUID | None
    parent_step: int | None
    parent_item: int | None
    parent_take: int | None


class Ending(Protocol):
    """What the end of a run needs of it: its id, and the execution of its take."""

    @property
    def id(self) -> UUID:
        """The run."""

    @property
    def execution_id(self) -> UUID:
        """The execution of the take that ends."""


class RunEnd(NamedTuple):
    """The end of a run: its status, why, and the sealed result of one that a step began.

    ``message`` is the error of one that has failed without a failed step.
    """

    row: Ending
    status: str
    reason: str
    result: bytes | None = None
    message: str = ""


class Told(NamedTuple):
    """A row of the inbox: something that has happened to a run."""

    run_id: UUID
    kind: str
    step: int | None
    item: int | None
    take: int | None
    execution_id: UUID | None
    status: str | None
    at: datetime


class Ended(NamedTuple):
    """The facts of an execution that has ended; the last two are sealed, and may be absent."""

    id: UUID
    status: str
    reason: str
    error_code: str
    error_message: str
    started_at: datetime | None
    finished_at: datetime
    result: bytes | None
    response: bytes | None


class Waiting(NamedTuple):
    """What a step waits for: a delay, an event, an approval, or the end of its time."""

    run_id: UUID
    step: int
    item: int
    kind: str
    take: int
    began_at: datetime
    due_at: datetime | None


@dataclass
class FanRow:
    """A fan-out under way; ``sealed_items`` is empty where they are written already."""

    take: int
    fan: Fan
    #: Returns the items, or raises DecryptionFailed: an advance that begins none needs none.
    open_items: Callable[[], list[Any]]
    began_at: datetime | None = None
    sealed_items: bytes = b""
    #: Of one that begins in this advance: the take whose succeeded items it keeps, 0 for none.
    kept_of: int = 0
    #: Of one that begins in this advance: its kept items, which are not written yet.
    kept: set[int] | None = None

    @cached_property
    def items(self) -> list[Any]:
        """The items in their order; raise DecryptionFailed where no key opens them."""
        return self.open_items()

    @property
    def outstanding(self) -> int:
        """How many items have begun and not ended."""
        return self.fan.begun - self.fan.ended


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a step has failed."""

    code: str
    message: str


@dataclass(slots=True)
class StepEnd:
    """The end of a step, or of an item; ``output`` is sealed."""

    step: int
    item: int
    status: str
    reason: str = ""
    place: int = 0
    execution_id: UUID | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    failure: Failure | None = None
    actor: str = ""
    note: str = ""
    output: bytes | None = None


@dataclass(frozen=True, slots=True)
class StepBegin:
    """An execution of a step that begins; ``payload`` is sealed for ``execution_id``."""

    execution_id: UUID
    step: int
    item: int
    payload: bytes
    #: The workflow that it runs, where it is no call.
    child: UUID | None = None

    @property
    def undoes(self) -> bool:
        """Whether it undoes the step."""
        return self.item == COMPENSATION


@dataclass(frozen=True, slots=True)
class NewWait:
    """What a step waits for from now on: until a moment, for some seconds, or for ever."""

    step: int
    kind: str
    seconds: float | None = None
    due_at: datetime | None = None
    name: str = ""
    correlation: str = ""
    #: How many seconds before the begin of the run an event may have come.
    earlier: float = 0.0
    #: Of a fan-out: the item that is decided about before it begins.
    item: int = -1


@dataclass(slots=True)
class Changes:
    """What an advance writes of one run."""

    ends: list[StepEnd] = field(default_factory=list)
    begins: list[StepBegin] = field(default_factory=list)
    waits: list[NewWait] = field(default_factory=list)
    #: Steps that no longer wait for anything.
    settled: set[int] = field(default_factory=set)
    fans: set[int] = field(default_factory=set)
    ended_fans: set[int] = field(default_factory=set)
    #: Steps whose open executions are to be taken back when this has been committed.
    take_back: set[int] = field(default_factory=set)
