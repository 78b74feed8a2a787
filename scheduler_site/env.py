"""Typed readers of environment variables.

Called by the settings only. Every reader refuses a value that it cannot use and names the
variable, so that a typing mistake stops the start instead of being ignored.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}


def text(name: str, default: str = "") -> str:
    """Return the variable, or what the file named by ``<NAME>_FILE`` holds, or the default."""
    path = os.environ.get(f"{name}_FILE")
    if name not in os.environ and path:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE: {error.strerror}: {path}") from error
    return os.environ.get(name, default)


def boolean(name: str, default: bool) -> bool:
    """Return the variable as a truth value; raise ImproperlyConfigured for any other word."""
    value = os.environ.get(name)
    if value is None:
        return default
    if value.lower() in _TRUE:
        return True
    if value.lower() in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be true or false, not {value!r}")


def integer(name: str, default: int, *, minimum: int = 0, maximum: int = 2**31) -> int:
    """Return the variable as a whole number within the bounds."""
    return _number(name, default, int, minimum, maximum)


def decimal(name: str, default: float, *, minimum: float = 0.0, maximum: float = 1e9) -> float:
    """Return the variable as a number within the bounds."""
    return _number(name, default, float, minimum, maximum)


def words(name: str, default: str = "") -> tuple[str, ...]:
    """Return the comma- or space-separated words of the variable."""
    return tuple(os.environ.get(name, default).replace(",", " ").split())


def programs(name: str) -> dict[str, str]:
    """Return the variable's ``name=/absolute/path`` words as path by name."""
    found: dict[str, str] = {}
    for word in words(name):
        key, _, path = word.partition("=")
        if not key or not path.startswith("/") or key in found:
            raise ImproperlyConfigured(
                f"{name} must be words NAME=/absolute/path, each name once, not {word!r}"
            )
        found[key] = path
    return found


def _number(name: str, default: T, kind: Callable[[str], T], minimum: T, maximum: T) -> T:
    raw = os.environ.get(name)
    if raw is None or raw == "":
        return default
    try:
        value = kind(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a number, not {raw!r}") from error
    if not minimum <= value <= maximum:  # type: ignore[operator]  # int or float, both ordered
        raise ImproperlyConfigured(f"{name} must be between {minimum} and {maximum}, not {raw}")
    return value
