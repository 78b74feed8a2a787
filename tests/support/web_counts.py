"""Counts of web processes that no other test has touched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shared import web_counts
from shared.redis_client import client


@contextmanager
def counts_of_their_own() -> Iterator[None]:
    """Begin without a count within the block, and leave none."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    web_counts._counts.clear()
    web_counts._unanswered.clear()
    client().delete(web_counts._key())
