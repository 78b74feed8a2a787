"""Which events of the log a run of the tests has caused: a whole run must cause each.

That each line has exactly its fields, the calls themselves show (``test_log_events``). What
processes write that tests start is read from their output.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import Any

import pytest

from shared.log_events import EVENTS, LIBRARY

#: Events that only the long tests cause, or none can without breaking the machine, and why.
NOT_CAUSED: dict[str, str] = {}
#: Loggers with events below the level of other lines.
_QUIET = (
    "shared.clock_watch",
    "shared.web_counts",
    "notifications.consumers",
    "notifications.channel_layer",
)
_NAME = re.compile(r"\b[a-z_]+\.[a-z_]+\b")
_KEY = "log_events"
_seen: set[str] = set()


def begin() -> None:
    """Note every event that this process logs from now on."""
    make = logging.getLogRecordFactory()

    def noting(name: str, level: int, path: str, line: int, msg: object, *rest: Any) -> Any:
        if isinstance(msg, str) and msg in EVENTS:
            _seen.add(msg)
        return make(name, level, path, line, msg, *rest)

    logging.setLogRecordFactory(noting)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.DEBUG)


def note_output(text: str) -> None:
    """Note the events in what a process has written."""
    _seen.update(EVENTS.keys() & set(_NAME.findall(text)))


def note_all(names: Iterable[str]) -> None:
    """Note events that another process of the run has caused."""
    _seen.update(names)


def hand_over(config: pytest.Config) -> None:
    """Leave what was noted to the process that leads the run, if there is another."""
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if output is not None:
        output[_KEY] = sorted(_seen)


def take(output: dict[str, Any]) -> None:
    """Take what a process of the run has noted."""
    note_all(output.get(_KEY, ()))


def missing(config: pytest.Config) -> list[str]:
    """Return the events that a whole run has not caused; none for a part of the tests."""
    whole = (
        not hasattr(config, "workeroutput")
        and config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and config.option.markexpr == "not slow"
        and not config.option.keyword
    )
    return sorted(EVENTS.keys() - _seen - NOT_CAUSED.keys() - {LIBRARY}) if whole else []
