"""The handlers of a process, by name; filled by importing the modules that register them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_handlers: dict[str, Callable[..., Any]] = {}


class Permanent(Exception):
    """Raised by a handler when trying again cannot help: the execution fails at once."""


def handler(name: str) -> Callable[[F], F]:
    """Register a function ``f(context, payload)``, sync or async, under a name.

    Its return value is the execution's result: JSON of at most 64 KiB. ValueError when another
    function has the name.
    """

    def register(function: F) -> F:
        known = _handlers.get(name)
        if known is not None and _place(known) != _place(function):
            raise ValueError(
                f"two handlers are named {name!r}: {_place(known)}, {_place(function)}"
            )
        _handlers[name] = function
        return function

    return register


def find(name: str) -> Callable[..., Any] | None:
    """Return the handler of the name, if one is registered."""
    return _handlers.get(name)


def _place(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"
