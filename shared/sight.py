"""A switch for what the one who asks may see, stated once for a request by its door."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token


class Sight:
    """Shows something, or hides it, for the request under way; without a word it shows."""

    def __init__(self, name: str) -> None:
        self._hidden: ContextVar[bool] = ContextVar(name, default=False)

    @contextmanager
    def within(self, allowed: bool) -> Iterator[None]:
        """Show it, or hide it, within the block."""
        token = self.begin(allowed)
        try:
            yield
        finally:
            self.end(token)

    def begin(self, allowed: bool) -> Token[bool]:
        """Show it, or hide it, until :meth:`end` is called with the result."""
        return self._hidden.set(not allowed)

    def end(self, token: Token[bool]) -> None:
        """Go back to what held before."""
        self._hidden.reset(token)

    def is_hidden(self) -> bool:
        """Return whether it is hidden here."""
        return self._hidden.get()
