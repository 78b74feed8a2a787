"""What :mod:`bench.mutations` plants: one bug, the edits that make it, the tests that find it."""

from __future__ import annotations

from typing import NamedTuple


class Edit(NamedTuple):
    """One text of one file, and what stands there instead.

    ``block``: where in the file to look, where the text stands there more than once.
    """

    path: str
    old: str
    new: str
    block: str = ""


class Mutation(NamedTuple):
    """One bug: the edits that plant it, and the tests that are to find it."""

    name: str
    what: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


def one(
    name: str, what: str, tests: tuple[str, ...], path: str, old: str, new: str, block: str = ""
) -> Mutation:
    """Return a mutation of one edit."""
    return Mutation(name, what, (Edit(path, old, new, block),), tests)
