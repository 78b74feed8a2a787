"""What an edit changes, field by field; secrets are compared, and shown masked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shared.commands import shown

_VALUE_WIDTH = 60


def changes(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    shown_before: Mapping[str, Any],
    shown_after: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """Yield each field that differs by its path; the last two are the same with secrets masked."""
    for path in _differences(before, after):
        was, now = (_at(whole, path) for whole in (shown_before, shown_after))
        yield {"path": ".".join(path), "before": was, "after": now}


def show_payload(found: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the changes show a payload of before, alone or within a part that went."""
    return any(
        "payload" in change["path"].split(".") or isinstance(change["before"], Mapping)
        for change in found
    )


def change_lines(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each change."""
    if not found:
        yield "no change"
    for change in found:
        before, after = (shown(str(change[key]), _VALUE_WIDTH) for key in ("before", "after"))
        yield f"{change['path']}: {before} → {after}"


def _differences(before: Any, after: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            yield from _differences(before.get(key), after.get(key), (*path, key))
        return
    yield path


def _at(whole: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        whole = whole.get(key) if isinstance(whole, dict) else None
    return whole
