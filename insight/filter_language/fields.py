"""The fields of each list that can be filtered, and how their values are read.

The reference page, the suggestions and the messages of errors are made of these declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from executions.choices import Status, Trigger
from insight.filter_language import values
from tasks.choices import TaskStatus, TaskType


@dataclass(frozen=True, slots=True)
class Kind:
    """How a field's values are written."""

    form: str
    #: Returns what conditions read; raises ValueError with a sentence.
    read: Callable[[str], Any]
    #: Beginnings that a person may go on from, where the values are not listed.
    examples: tuple[str, ...] = ()


def _without_pattern(text: str) -> str:
    if "*" in text:
        raise ValueError("This field takes no *; give the whole text.")
    return text


TEXT = Kind("a text; `*` is any text", values.pattern)
EXACT = Kind("a text", _without_pattern)
CHOICE = Kind("one of its words", str.lower)
NUMBER = Kind(
    "a whole number, a comparison or a range",
    lambda text: values.read_range(text, values.number),
    (">1", ">=3", "2..5"),
)
RESPONSE = Kind(
    "an HTTP status, a class such as `5xx`, a comparison or a range",
    lambda text: values.read_range(text, values.response_status),
    ("5xx", "4xx", "503", "429", ">=400"),
)
DURATION = Kind(
    "a duration (`250ms`, `1.5s`, `2m`, `1h30m`, `3d`), mostly in a comparison or a range",
    lambda text: values.read_range(text, values.duration_ms),
    (">100ms", ">1s", ">30s", ">5m", "1s..10s"),
)
TIMES = Kind(
    "a time: a day in UTC, RFC 3339, `now`, `today`, `yesterday`, `tomorrow`, `-2h` (two hours "
    "ago) or `+2h` (ahead); a range of them includes both days. `-2h` alone: from then on",
    values.read_times,
    ("-1h", "-24h", "today", "yesterday", "-7d..-1d"),
)
HOST = Kind("a host, with its port unless that is 80 or 443; `*` is any text", values.host)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a list. ``listed`` are its words, where it has a fixed set of them."""

    name: str
    kind: Kind
    meaning: str
    example: str
    listed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The fields of one list, and what free text is looked for in."""

    name: str
    fields: Mapping[str, Field]
    free_text: str


def _vocabulary(name: str, free_text: str, *fields: Field) -> Vocabulary:
    return Vocabulary(name, {field.name: field for field in fields}, free_text)


def _words(words: list[str]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)


_TASK = Field(
    "task", TEXT, "The name of the task, in any case, or its id.", 'task:"nightly report*"'
)
_LABEL = Field(
    "label", EXACT, "A label of the task: its key, or `key:value`.", "label:team:billing"
)

EXECUTIONS = _vocabulary(
    "executions",
    "the task's name or labels, or the error",
    Field("status", CHOICE, "The state.", "status:failed,retrying", _words(Status.values)),
    _TASK,
    _LABEL,
    Field("host", HOST, "The destination that the webhook calls.", "host:*.example.com"),
    Field("pool", EXACT, "The worker pool.", "pool:default"),
    Field("worker", TEXT, "The worker of the latest attempt.", "worker:worker@*"),
    Field("trigger", CHOICE, "The cause.", "trigger:manual", _words(Trigger.values)),
    Field("http", RESPONSE, "The HTTP status of the latest answer.", "http:5xx"),
    Field("error", TEXT, "The error code.", "error:timeout_*"),
    Field("attempt", NUMBER, "The number of the latest attempt.", "attempt:>3"),
    Field("delay", DURATION, "The start delay of the latest attempt.", "delay:>1s"),
    Field(
        "duration",
        DURATION,
        "From the first start to the end; only of ended executions.",
        "duration:>30s",
    ),
    Field(
        "scheduled",
        TIMES,
        "The nominal time; of runs outside of the schedule the time at which they were made, as "
        "`since` and `until` of the API read it.",
        "scheduled:2026-11-20..2026-11-21",
    ),
)
TASKS = _vocabulary(
    "tasks",
    "the name or the labels",
    Field("status", CHOICE, "The state.", "status:paused", _words(TaskStatus.values)),
    _TASK,
    _LABEL,
    Field("type", CHOICE, "The type of the schedule.", "type:recurring", _words(TaskType.values)),
    Field("owner", EXACT, "The owner.", "owner:ann@example.com"),
    Field("host", HOST, "The destination that the webhook calls.", "host:api.example.com"),
    Field("pool", EXACT, "The worker pool.", "pool:default"),
    Field("priority", NUMBER, "The priority; the lower number goes first.", "priority:<=2"),
    Field("created", TIMES, "The time of creation.", "created:-7d"),
)
DEAD_LETTERS = _vocabulary(
    "dead_letters",
    "the task's name or labels, the error or the note",
    _TASK,
    _LABEL,
    Field("host", HOST, "The destination that the task calls now.", "host:api.example.com"),
    Field("cause", TEXT, "The cause: the error code, with the HTTP status.", "cause:http_status:*"),
    Field("http", RESPONSE, "The HTTP status that it failed with.", "http:503"),
    Field("error", TEXT, "The error code.", "error:timeout_*"),
    Field("attempt", NUMBER, "How many attempts there were.", "attempt:>3"),
    Field("resolution", TEXT, "The word by which it was resolved.", "resolution:fixed"),
    Field("created", TIMES, "The time at which it failed for good.", "created:-24h"),
)
VOCABULARIES: Mapping[str, Vocabulary] = {
    one.name: one for one in (EXECUTIONS, TASKS, DEAD_LETTERS)
}
