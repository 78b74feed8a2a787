"""What the lists of the console understand, as far as saved views need to know it.

The lists are pages of a higher layer: their app registers the one reader of their queries when it
is loaded (``dashboard.apps``), so that every door to saved views judges queries alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class _Reader:
    read: Callable[[str, str], str] = lambda of, query: query
    names: Callable[[str], frozenset[str]] = lambda of: frozenset()


_reader = _Reader()


def register(read: Callable[[str, str], str], names: Callable[[str], frozenset[str]]) -> None:
    """Set how queries are read, and which parameters a list has."""
    _reader.read, _reader.names = read, names


def read(of: str, query: str) -> str:
    """Return a query as views keep it; raise InvalidInput where the list refuses it."""
    return _reader.read(of, query)


def names_of(of: str) -> frozenset[str]:
    """Return the names of a list's parameters."""
    return _reader.names(of)
