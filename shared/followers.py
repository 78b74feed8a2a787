"""Followers of what a lower package does: apps above register what they do after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from django.db import transaction

T = TypeVar("T")


class Followers(Generic[T]):
    """Functions that are called with what has happened, once its transaction has committed."""

    def __init__(self) -> None:
        self._called: list[Callable[[T], None]] = []

    def follow(self, follower: Callable[[T], None]) -> None:
        """Register a function, once; its failure is logged and reaches no caller."""
        if follower not in self._called:
            self._called.append(follower)

    def tell(self, what: T) -> None:
        """Call each follower after the commit of the current transaction."""
        for follower in self._called:
            transaction.on_commit(lambda follower=follower: follower(what), robust=True)  # type: ignore[misc]  # bound now
