"""``manage.py keys``: the keys of the encryption at rest, and sealing anew under the active one.

Exit codes: 0 done; 1 not confirmed; 2 wrong use; 4 there is no key, or none that opens the values
that are left; 5 no database; 6 done in part, repeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from operations.resealing.columns import COLUMNS
from operations.resealing.sealing_anew import Resealed, all_counts, counts_by_key, seal_anew
from shared.command_parser import Verb
from shared.commands import CONFLICT, PARTIAL, VerbCommand, table
from shared.conf import conf


def _list(command: Any, options: Mapping[str, Any]) -> None:
    configured, counts = list(conf().encryption_keys), all_counts()
    keys = [
        {
            "id": key,
            "active": key == configured[0] if configured else False,
            "configured": key in configured,
            "values": counts.get(key, 0),
        }
        for key in [*configured, *sorted(set(counts) - set(configured))]
    ]
    lines = table(
        ("KEY", "STATE", "VALUES"), [(key["id"], _state(key), key["values"]) for key in keys]
    )
    command.emit(options, {"keys": keys}, lines)


def _state(key: Mapping[str, Any]) -> str:
    if not key["configured"]:
        return "missing"
    return "active" if key["active"] else "opens"


def _reseal(command: Any, options: Mapping[str, Any]) -> None:
    active = next(iter(conf().encryption_keys), "")
    command.confirm(options, f"Seal all stored values anew under the key {active}?")
    results = []
    with command.progress("columns", len(COLUMNS)) as bar:
        for number, column in enumerate(COLUMNS, start=1):
            *_, result = seal_anew(column)
            results.append(result)
            bar.update(number)
    found = [_described(result, active) for result in results]
    document = {
        "key": active,
        "sealed": sum(one["sealed"] for one in found),
        "left": sum(one["left"] for one in found),
        "unreadable": sum(one["unreadable"] for one in found),
        "columns": found,
    }
    rows = [
        (f"{one['table']}.{one['column']}", one["sealed"], one["unreadable"], one["left"])
        for one in found
        if one["sealed"] or one["left"]
    ]
    command.emit(options, document, table(("COLUMN", "SEALED", "UNREADABLE", "LEFT"), rows))
    _conclude(command, document)


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
        f"All stored values have the key {document['key']}. Messages in flight may have another "
        "one: see docs/howto/rotate-the-encryption-key.md before you remove a key."
    )


def _described(result: Resealed, active: str) -> dict[str, Any]:
    counts = counts_by_key(result.column)
    left = sum(counts.values()) - counts.get(active, 0)
    return {
        "table": result.column.table,
        "column": result.column.name,
        "sealed": result.done,
        # One that the pass could not open may have been replaced, or have left, since.
        "unreadable": min(result.unreadable, left),
        "left": left,
    }


class Command(VerbCommand):
    """List the keys of the encryption at rest, and seal stored values anew."""

    help = "List the keys of the encryption at rest, and seal stored values anew."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb("list", "the keys, and how many stored values each has sealed", ("keys list",), _list),
        Verb(
            "reseal",
            "seal every stored value anew under the active key; exit code 6: repeat, 4: no key "
            "opens what is left",
            ("keys reseal --yes",),
            _reseal,
            dangerous=True,
        ),
    )
