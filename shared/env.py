"""Typed readers of environment variables.

Called by the settings only. Every reader refuses a value that it cannot use and names the
variable, so that a typing mistake stops the start instead of being ignored.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")
Items = tuple[str, ...]
IsItem = Callable[[str], bool]

#: Variables that Punctual sets for a program begin with it.
OWN_VARIABLES = "PUNCTUAL_"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

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


def secret(name: str, *, shortest: int) -> str:
    """Return the variable or the content of its file, as :func:`text`; empty, or not guessable."""
    found = text(name)
    if found and (len(found) < shortest or not found.isascii() or not found.isprintable()):
        raise ImproperlyConfigured(
            f"{name} must be at least {shortest} visible ASCII characters; "
            "`openssl rand -hex 32` makes some"
        )
    return found


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


def networks(name: str) -> tuple[str, ...]:
    """Return the addresses and networks (CIDR) of the variable, each as a network."""
    found = []
    for word in words(name):
        try:
            found.append(str(ip_network(word, strict=False)))
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name} must be IP addresses or networks such as 10.0.0.0/8, not {word!r}"
            ) from error
    return tuple(found)


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


def lists(name: str, known: Collection[str], item: str, is_item: IsItem) -> dict[str, Items]:
    """Return the variable's ``NAME=ITEM,ITEM`` words, which blanks part, as items by known name.

    ``item`` is what the message calls one.
    """
    found: dict[str, Items] = {}
    for word in os.environ.get(name, "").split():
        key, mark, given = word.partition("=")
        items = tuple(given.split(","))
        if not mark or key in found or not all(map(is_item, items)):
            raise ImproperlyConfigured(
                f"{name} must be words NAME={item},{item}, each name once, not {word!r}"
            )
        if key not in known:
            raise ImproperlyConfigured(f"{name} names {key!r}, which ALLOWED_COMMANDS does not")
        found[key] = items
    return found


def variables(name: str, known: Collection[str]) -> dict[str, Items]:
    """Return lists of names of environment variables; ours are not among them."""
    return lists(name, known, "VARIABLE", _is_variable)


def tenants(name: str, known: Collection[str]) -> dict[str, Items]:
    """Return lists of ids of tenants."""
    return lists(name, known, "ID-OF-A-TENANT", _is_id)


def tiers(
    name: str, bounds: Mapping[str, tuple[int, int]], *, longest: int
) -> dict[str, dict[str, int]]:
    """Return the variable's JSON object of named sets of limits; ``bounds`` has those there are."""
    raw = text(name).strip()
    try:
        found = json.loads(raw) if raw else {}
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not JSON: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        example = json.dumps({"small": {next(iter(bounds)): 1}})
        raise ImproperlyConfigured(f"{name} must be an object of objects, such as {example}")
    for tier, limits in found.items():
        if re.fullmatch(rf"[a-z0-9][a-z0-9_-]{{0,{longest - 1}}}", tier) is None:
            raise ImproperlyConfigured(
                f"{name}: the tier {tier!r} is not 1 to {longest} of a-z, 0-9, _ and -"
            )
        for quota, limit in limits.items():
            if quota not in bounds:
                raise ImproperlyConfigured(
                    f"{name}: {tier} names {quota!r}; there are {', '.join(bounds)}"
                )
            low, high = bounds[quota]
            if type(limit) is not int or not low <= limit <= high:
                raise ImproperlyConfigured(
                    f"{name}: {quota} of {tier} must be a whole number from {low} to {high}"
                )
    return found


def _is_variable(word: str) -> bool:
    return _VARIABLE.fullmatch(word) is not None and not word.startswith(OWN_VARIABLES)


def _is_id(word: str) -> bool:
    # The one spelling in which ids are compared.
    try:
        return str(UUID(word)) == word
    except ValueError:
        return False


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
