"""The reference page of the log events, rendered from their catalogue.

``docs/reference/log-events.md`` is this text; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping

from shared.log_events import PARTS
from shared.log_events.event import LogEvent
from shared.log_events.fields import OF_EVENTS, OF_EVERY_LINE, OF_THE_WORK

_HEAD = """# Log events

Written from `shared/log_events`; a test holds this page to it, and every log call to the list.
With `LOG_JSON=true` each line of every process is one JSON object with one of these events:
[how to read and ship them](../howto/read-the-log.md). Names and fields are promises: a rename is a
breaking change. No field holds a payload, a header, an answer or a secret; what looks like a secret
is `[redacted]`, also within a traceback.

A line ends at its first line break, is pure ASCII and has at most 15,000 bytes; longer texts are
cut at their begin. Lines below `LOG_LEVEL` are not written.
"""
_WORK = """
Lines that are written during the work on a request, or on an execution in a worker, also have
those of these fields that are known:
"""


def render_log_events() -> str:
    """Return the page as Markdown: fields of every line, then each event by its part."""
    lines = [_HEAD, "## Fields of every line", "", *_fields(OF_EVERY_LINE)]
    lines += [_WORK, *_fields(OF_THE_WORK), ""]
    lines += ["Lines with a traceback have it in `exception`.", ""]
    for title, events in PARTS.items():
        lines += [f"## {title}", ""]
        for event in events:
            lines += _part(event)
    lines += ["## Fields of single events", "", *_fields(OF_EVENTS), ""]
    return "\n".join(lines)


def _fields(fields: Mapping[str, str]) -> list[str]:
    rows = [f"| `{name}` | {meaning} |" for name, meaning in fields.items()]
    return ["| Field | What it holds |", "|---|---|", *rows]


def _part(event: LogEvent) -> list[str]:
    fields = ", ".join(f"`{name}`" for name in event.fields) or "none of its own"
    also = "; with a traceback" if event.traceback else ""
    return [
        f"### {event.name}",
        "",
        f"{(event.level or 'any level').capitalize()}. Fields: {fields}{also}.",
        "",
        event.message,
        "",
        f"What to do: {event.advice}",
        "",
    ]
