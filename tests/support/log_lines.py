"""Log records of events, held to the catalogue."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from shared.log_events import EVENTS

_PLAIN = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


def lines_of(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    """Return the fields of each line of the event; they must be exactly those of the catalogue."""
    known = EVENTS[event]
    found: list[dict[str, Any]] = []
    for record in caplog.records:
        if record.getMessage() == event:
            fields = {name: value for name, value in vars(record).items() if name not in _PLAIN}
            assert set(fields) == set(known.fields)
            assert record.levelname.lower() == known.level
            found.append(fields)
    return found
