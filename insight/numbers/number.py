"""What the catalogue says of one number."""

from __future__ import annotations

from typing import NamedTuple

NOW = "this moment"
HOUR = "the last 60 minutes: the one under way and the 59 before it"
DAY = "a day in UTC; of today what has ended so far"
ALWAYS = "since its beginning"
OF_TARGETS = "30 days in UTC up to today, since the task has a target"
OF_BUDGET = "30 days up to now, from a full hour; for a burn rate its window"

EXACT = "exact"
SCANNED = "exact while `exact` is true; else at least (20,000 open rows of a kind are read)"
TO_10_000 = "exact to 10,000, which says at least that"
RECORDED = "exact; an outcome counts once its recorder has written it"
COUNTED = (
    "exact, once a recorder has written it; of the API without the last minute of a web process "
    "that was killed, and up to a minute late"
)
SAID = "as the process said it last"
BUCKET = "the upper bound of a bucket; 60,000 ms also covers more"
PLAN = "exact for schedules as they are now; at least where `complete` is false"


class Number(NamedTuple):
    """A number that people or programs are shown, and where.

    ``answers`` are fields of the API's answers (``Component.field``), ``pages`` names of numbers in
    the console (``data-number``), ``commands`` fields of what commands print with ``--json``
    (``command-verb path``, with ``*``); a command that prints an answer of the API needs no entry
    of its own.
    """

    name: str
    counts: str
    window: str
    exact: str
    answers: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
