"""What the catalogue says of one log event."""

from __future__ import annotations

from typing import NamedTuple

#: Fields of a line about an execution.
OF_EXECUTION = ("execution_id", "task_id", "tenant_id", "trace_id", "attempt")


class LogEvent(NamedTuple):
    """One event of the log; a line has exactly its ``fields``, besides those of every line.

    ``message`` says what happened, on the line and on the page; ``advice`` what to do about it.
    ``level`` is empty for an event that has the level of what it passes on.
    """

    name: str
    level: str
    message: str
    advice: str
    fields: tuple[str, ...] = ()
    #: Whether the line has a traceback.
    traceback: bool = False
