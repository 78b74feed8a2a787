"""Marks tests that count numbers of the catalogue anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from insight.numbers import NUMBERS

_Test = TypeVar("_Test", bound=Callable[..., Any])


def recounts(*names: str) -> Callable[[_Test], _Test]:
    """Say that a test counts these numbers anew; raise KeyError for one without an entry.

    ``tests/recount/test_catalogue.py`` reads the marks from the text of the tests.
    """
    for name in names:
        NUMBERS[name]
    return lambda test: test
