"""The common parts of one call's bodies: read once, and shared by their definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from tasks.field_reader import Errors

Part = dict[str, Any]


class Repeats:
    """Parts of bodies by their JSON, for bodies of one tenant that are read at one time.

    A part with errors is not kept, so that each body gets its own errors.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, bytes], Part] = {}

    def read(
        self,
        part: str,
        written: Any,
        errors: Errors,
        whole: Callable[[], Part],
        own: Callable[[], Mapping[str, Any]] | None = None,
    ) -> Part:
        """Return the part that ``whole`` reads, or an earlier one of the same JSON.

        With ``own``, which reads the fields that ``written`` leaves out, each part gets its own.
        """
        key = (part, orjson.dumps(written))
        kept = self._kept.get(key)
        if kept is not None:
            return kept if own is None else {**kept, **own()}
        before = errors.count
        read = whole()
        if errors.count == before and not errors.full:
            self._kept[key] = read
        return read
