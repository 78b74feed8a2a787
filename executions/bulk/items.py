"""The order for a bulk job's step, and the result of each of its items."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from events import audit
from executions.choices import ItemOutcome
from executions.triggering.triggers import Override
from shared.actor import Actor
from shared.exceptions import Conflict, InvalidInput, NotFound, PunctualError

log = logging.getLogger("executions.services.bulk_items")


@dataclass(frozen=True, slots=True)
class Order:
    """The order for a step, opened once from its job."""

    job_id: UUID
    tenant_id: UUID
    actor: Actor
    options: Mapping[str, Any]
    override: Override | None
    now: datetime


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one item."""

    outcome: str
    code: str = ""
    message: str = ""
    result_id: UUID | None = None


def refused(item: Any, error: Exception) -> Result:
    """Return the result of an item whose action raised this error."""
    if isinstance(error, Conflict | NotFound):
        return Result(ItemOutcome.SKIPPED, error.code, error.message[:200])
    if isinstance(error, InvalidInput):
        message = error.errors[0].message if error.errors else error.message
        return Result(ItemOutcome.FAILED, error.code, message[:200])
    if isinstance(error, PunctualError):
        return Result(ItemOutcome.FAILED, error.code, error.message[:200])
    # One unreadable item must not block all others for ever.
    log.error("bulk_item.failed", extra={"item_id": str(item)}, exc_info=error)
    return Result(ItemOutcome.FAILED, "internal", "See the log.")


class Batch:
    """Results and audit entries of the items of one batch, in the items' order."""

    def __init__(self, item_ids: Sequence[UUID]) -> None:
        self._changes: dict[UUID, list[audit.Change]] = {item_id: [] for item_id in item_ids}
        self._refused: dict[UUID, Result] = {}

    @property
    def open(self) -> list[UUID]:
        """Return the items that were not refused so far, in order of their ids."""
        return sorted(self._changes.keys() - self._refused.keys())

    def refuse(self, item_id: UUID, error: Exception) -> None:
        """Note the error for which an item is left as it is."""
        self._refused[item_id] = refused(item_id, error)

    def require(self, there: Iterable[UUID], missing: str) -> None:
        """Refuse the items that are not among these, as ``missing``."""
        for item_id in set(self.open) - set(there):
            self.refuse(item_id, NotFound(f"There is no such {missing}."))

    def note(self, *changes: audit.Change) -> None:
        """Note audit entries, each of the item that is the change's object."""
        for change in changes:
            self._changes[UUID(str(change.object_id))].append(change)

    @property
    def results(self) -> list[Result]:
        """Return the result of each item."""
        done = Result(ItemOutcome.DONE)
        return [self._refused.get(item_id, done) for item_id in self._changes]

    @property
    def changes(self) -> list[audit.Change]:
        """Return the changes to audit, item by item."""
        return [change for changes in self._changes.values() for change in changes]
