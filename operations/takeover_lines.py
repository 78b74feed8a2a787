"""The text of ``manage.py schedulers takeovers``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shared.commands import shown, shown_id, table

_ID_WIDTH = 40


def takeover_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the takeovers as a table, then what was lost with workers."""
    found = document["takeovers"]
    if not found:
        yield "No partition was without a scheduler for more than a second."
    else:
        columns = ("taken over (UTC)", "lost by", "taken by", "partitions", "unowned for")
        yield from table(columns, [_cells(one) for one in found])
    yield ""
    attempts = sum(one["attempts"] for one in document["lost_attempts"])
    since = _moment(document["since"])
    yield f"attempts lost with workers since {since}: {attempts}"
    for one in document["lost_attempts"]:
        yield f"  {one['by']} {_moment(one['at'])}: {one['attempts']}"
    workers = document["lost_workers"]
    if workers is None:
        yield "workers that fell silent: unknown, Redis cannot be reached"
        return
    yield f"workers that fell silent: {len(workers)}"
    for one in workers:
        yield f"  {shown_id(one['id'], _ID_WIDTH)}, last heard {_moment(one['heard_at'])}"


def _cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    # Of a scheduler that did not release them only the last heartbeat is known.
    bound = "<= " if one["lost_by"] else ""
    former = one["lost_by"] or ("released" if one["taken_by"] else "-")
    return (
        _moment(one["at"]),
        shown(former),
        shown(one["taken_by"] or "-"),
        str(one["partitions"]),
        f"{bound}{one['unowned_seconds']:.1f} s",
    )


def _moment(text: str) -> str:
    return text[:19].replace("T", " ")
