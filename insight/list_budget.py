"""The time that reading a list may take, and the refusal that says how to narrow the list.

A filter or an order that no index serves reads every row of its window. It may take two seconds;
then PostgreSQL cancels the statement, and the caller is told what to add to the filter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from django.db import OperationalError, transaction
from psycopg.errors import QueryCanceled

from shared.exceptions import FieldError, InvalidInput
from shared.sql import run

#: Of each statement that a list is read by.
BUDGET_MS = 2000
_GIVEN_MS = BUDGET_MS

TASKS_ADVICE = "Add a term to the filter, for instance created:-24h."

_Found = TypeVar("_Found")


class TooWide(InvalidInput):
    """Reading this list takes over two seconds, because the filter leaves too many rows to read."""

    code = "window_too_wide"

    def __init__(self, advice: str) -> None:
        message = f"{(type(self).__doc__ or '').splitlines()[0]} {advice}"
        super().__init__([FieldError("?filter", self.code, message)], message)
        self.advice = advice


class OutOfTime(Exception):
    """A statement was cancelled after its time."""


def within(milliseconds: int, read: Callable[[], _Found]) -> _Found:
    """Return what is read, each statement within the time; raise OutOfTime."""
    with _naming_the_end(), transaction.atomic():
        run("dispatch/limit_time", {"milliseconds": milliseconds})
        found = read()
        run("dispatch/limit_time_no_more")
    return found


def until(milliseconds: int, reads: Sequence[Callable[[], _Found]]) -> list[_Found]:
    """Return what is read in order until the time is over; the rest is left out.

    No reading begins after that time, and no statement takes longer than it.
    """
    found: list[_Found] = []
    end = time.monotonic() + milliseconds / 1000
    with suppress(OutOfTime), _naming_the_end(), transaction.atomic():
        run("dispatch/limit_time", {"milliseconds": milliseconds})
        for read in reads:
            if time.monotonic() >= end:
                break
            found.append(read())
        run("dispatch/limit_time_no_more")
    return found


def read_list(read: Callable[[], _Found], *, advice: str, unlimited: bool = False) -> _Found:
    """Return a page of a list; raise TooWide with the advice where it takes too long.

    ``read`` makes the conditions of the filter, too: some look up rows by themselves.
    ``unlimited``: an index serves the page, which saves the statements that set the limit.
    """
    if unlimited:
        return read()
    try:
        return within(_GIVEN_MS, read)
    except OutOfTime as error:
        raise TooWide(advice) from error


@contextmanager
def _naming_the_end() -> Iterator[None]:
    """Raise OutOfTime in place of the error of a statement that was cancelled."""
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        raise OutOfTime from error


def advice_for(*, bounded: bool) -> str:
    """Return what to add to a filter of executions that takes too long."""
    if not bounded:
        return "Narrow the window: add scheduled:-24h to the filter."
    return "Narrow the window, for instance with scheduled:-1h, or add a term to the filter."
