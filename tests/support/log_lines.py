"""Log records of events, held to the catalogue.

A test that causes a line has the mark ``logs``: ``@pytest.mark.logs("house.kept", workers=1)``.
While such a test runs, records are kept. It fails unless each event has a line with the level and
exactly the fields of the catalogue, and one of these lines the values that are given.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from shared.log_events import EVENTS

_PLAIN = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def kept() -> Iterator[list[logging.LogRecord]]:
    """Keep every record of every level while the block runs."""
    root, handler = logging.getLogger(), _Kept()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield handler.records
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def held_to_catalogue(
    records: Iterable[logging.LogRecord], event: str, values: Mapping[str, Any]
) -> None:
    """Fail unless the event has lines as the catalogue says, and one with these values."""
    found = _lines(records, event)
    assert found, f"no line of {event}"
    assert any(values.items() <= line.items() for line in found), f"{event}: {found}"


def lines_of(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    """Return the fields of each line of the event; they must be exactly those of the catalogue."""
    return _lines(caplog.records, event)


def _lines(records: Iterable[logging.LogRecord], event: str) -> list[dict[str, Any]]:
    known = EVENTS[event]
    found: list[dict[str, Any]] = []
    for record in records:
        if record.getMessage() == event:
            fields = {name: value for name, value in vars(record).items() if name not in _PLAIN}
            assert set(fields) == set(known.fields)
            assert record.levelname.lower() == known.level
            assert bool(record.exc_info) == known.traceback
            found.append(fields)
    return found
