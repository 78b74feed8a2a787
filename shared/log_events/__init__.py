"""The catalogue of log events: every name with its level, its fields, and what to do about it.

A module of the product logs these and no others; a test reads every call. The reference page
``docs/reference/log-events.md`` is written from this list. Names and fields are promises to
collectors and their rules: a rename breaks them.
"""

from __future__ import annotations

from shared.log_events import of_executions, of_processes, of_web, of_workflows
from shared.log_events.event import LogEvent

#: The event of lines that libraries write.
LIBRARY = "library.logged"
#: The event of output that a process writes past the log.
OUTPUT = "process.wrote"

#: Title of each part of the catalogue -> its events.
PARTS: dict[str, tuple[LogEvent, ...]] = {
    "Executions, tasks and history": of_executions.EVENTS,
    "Workflows": of_workflows.EVENTS,
    "Processes": of_processes.EVENTS,
    "Web, people and alerts": of_web.EVENTS,
}
EVENTS: dict[str, LogEvent] = {one.name: one for part in PARTS.values() for one in part}
