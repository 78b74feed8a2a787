"""``manage.py keys reseal`` without a tenant: a pass over all stored values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from events import audit
from executions.loop.clocks import database_now
from executions.resealing.columns import COLUMNS
from executions.resealing.open_targets import (
    OPEN_TARGETS,
    Closed,
    close_targets,
    count_open,
    wait_for_processes,
)
from executions.resealing.sealing_anew import Resealed, count_left, seal_anew
from shared.actor import COMMAND
from shared.commands import CONFLICT, PARTIAL, table
from shared.encryption import active_key_id
from tenants.services.data_keys import begin_sealing_targets, give_data_keys

#: In the question before URLs and arguments are sealed.
NO_OLDER = "No process of an older version may run: it could not read URLs and arguments."


def seal_all_anew(command: Any, options: Mapping[str, Any]) -> None:
    """Seal every stored value anew under the key that seals now: its tenant's, or the active one.

    Tenants without a data key get their first one, and URLs and arguments of targets go into the
    sealed parts of their rows.
    """
    active = active_key_id()
    command.confirm(
        options,
        f"Seal all stored values anew under the tenants' data keys and the key {active}? "
        f"{NO_OLDER}",
    )
    given = give_data_keys()
    begun = begin_sealing_targets()
    found = _each_column(command, database_now() if given or begun else None)
    document = {
        "key": active,
        "sealed": sum(one["sealed"] for one in found),
        "left": sum(one["left"] for one in found),
        "unreadable": sum(one["unreadable"] for one in found),
        "columns": found,
        "resealing": None,
    }
    audit.record_of_installation(
        COMMAND,
        "keys.resealed",
        "encryption_key",
        active,
        **{name: document[name] for name in ("sealed", "left", "unreadable")},
    )
    rows = [
        (f"{one['table']}.{one['column']}", one["sealed"], one["unreadable"], one["left"])
        for one in found
        if one["sealed"] or one["left"]
    ]
    command.emit(options, document, table(("COLUMN", "SEALED", "UNREADABLE", "LEFT"), rows))
    if given:
        command.note(f"{given} tenants got their first data key.")
    if given or begun:
        command.note("URLs and arguments are sealed from now on: no older version can read them.")
    _conclude(command, document)


def _each_column(command: Any, begun_at: datetime | None) -> list[dict[str, Any]]:
    """Seal every column anew, then what lies in clear; return the result of each.

    ``begun_at`` is since when targets are sealed; None where that is not new.
    """
    results, closed = [], []
    with command.progress("columns", len(COLUMNS) + len(OPEN_TARGETS)) as bar:
        for number, column in enumerate(COLUMNS, start=1):
            *_, result = Resealed(column), *seal_anew(column)
            results.append(result)
            bar.update(number)
        if begun_at is not None:
            wait_for_processes(begun_at)
        for number, step in enumerate(OPEN_TARGETS, start=len(COLUMNS) + 1):
            *_, moved = Closed(), *close_targets(step)
            closed.append((step.title, moved))
            bar.update(number)
    found = [_described(result) for result in results]
    left = zip(closed, count_open(), strict=True)
    return [*found, *(_of_targets(title, moved, rest) for (title, moved), rest in left)]


def _conclude(command: Any, document: Mapping[str, Any]) -> None:
    """Say what is left and whether repeating helps; leave with the exit code of it."""
    repeatable = document["left"] - document["unreadable"]
    if repeatable:
        command.note(
            f"{repeatable} values still have another key, because other sessions used them or "
            "stored them meanwhile. Repeat the command; keep the other keys."
        )
    if document["unreadable"]:
        command.note(
            f"{document['unreadable']} values open with no configured key; repeating does not "
            "help. See `manage.py keys list`: put a missing key back. Otherwise the values were "
            "altered."
        )
    if document["left"]:
        command.leave(PARTIAL if repeatable else CONFLICT)
    command.note(
        "All stored values have the keys that seal now. Messages in flight may have another one: "
        "see docs/howto/rotate-the-encryption-key.md before you remove a key."
    )


def _of_targets(title: str, moved: Closed, left: int) -> dict[str, Any]:
    table_name, _, column = title.partition(".")
    return {
        "table": table_name,
        "column": column,
        "sealed": moved.done,
        "unreadable": min(moved.unreadable, left),
        "left": left,
    }


def _described(result: Resealed) -> dict[str, Any]:
    left = count_left(result.column)
    return {
        "table": result.column.table,
        "column": result.column.name,
        "sealed": result.done,
        # One that the pass could not open may have been replaced, or have left, since.
        "unreadable": min(result.unreadable, left),
        "left": left,
    }
