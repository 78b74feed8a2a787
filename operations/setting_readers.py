"""Readers of settings: functions that return the value that is in force in this process."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from launcher.plan import read_options
from shared import env
from shared.conf import conf


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable. ``stored`` is its key in the files of the data directory, if it has one."""

    name: str
    default: str
    help: str
    read: Callable[[], Any]
    secret: bool = False
    stored: str = ""


def django_setting(name: str) -> Callable[[], Any]:
    """Return a reader of one of Django's settings."""
    return lambda: getattr(settings, name)


def knob(name: str) -> Callable[[], Any]:
    """Return a reader of a knob."""
    return lambda: getattr(conf(), name)


def lists(name: str) -> Callable[[], Any]:
    """Return a reader of a knob that has a list for each key, as ``key=a,b``."""
    return lambda: [f"{key}={','.join(items)}" for key, items in getattr(conf(), name).items()]


def option(name: str) -> Callable[[], Any]:
    """Return a reader of an option of ``up``."""
    return lambda: getattr(read_options(), name)


def variable(name: str) -> Callable[[], Any]:
    """Return a reader of the variable itself; None where it is empty."""
    return lambda: env.text(name) or None


def keys(name: str) -> Callable[[], str]:
    """Return a reader of a knob that has keys, as ``ID:BASE64`` words."""

    def words() -> str:
        found = getattr(conf(), name).items()
        return " ".join(f"{key_id}:{b64encode(key).decode()}" for key_id, key in found)

    return words
