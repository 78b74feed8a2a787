"""Checks that ask no server: Python, packages, zone database, settings of this process."""

from __future__ import annotations

import platform
import re
import sys
import zoneinfo
from importlib import metadata
from pathlib import Path

import django
from django.conf import settings

from operations.doctor.finding import Finding, bad, good, odd

_REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements.txt"
_LOWEST_PYTHON = (3, 11)
# A pin with a marker holds for some versions of Python only.
_PIN = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?==([\w.+!-]+)")


def python_version() -> Finding:
    """Check that Punctual supports the version of this Python."""
    evidence = f"Python {platform.python_version()}, Django {django.get_version()}"
    if sys.version_info[:2] < _LOWEST_PYTHON:
        return bad("python", evidence, "Use Python 3.11 or later.")
    return good("python", evidence)


def packages() -> Finding:
    """Check that the installed packages are the pinned ones."""
    pins = pinned_versions()
    wrong = [
        f"{name} {installed(name)} instead of {version}"
        for name, version in pins.items()
        if installed(name) != version
    ]
    if wrong:
        return odd("packages", ", ".join(wrong), "Run `make setup` to install requirements.txt.")
    return good("packages", f"{len(pins)} packages as pinned")


def zone_database() -> Finding:
    """Check that times come from the pinned zone database and never from the system's copy."""
    found, pinned = installed("tzdata"), pinned_versions()["tzdata"]
    if zoneinfo.TZPATH:
        return bad(
            "zone database",
            f"zones are read from {zoneinfo.TZPATH[0]}",
            "Unset PYTHONTZPATH; the package tzdata must be the only source.",
        )
    if found != pinned:
        evidence = f"tzdata {found}, pinned is {pinned}"
        return bad("zone database", evidence, "Run `make setup` on every machine.")
    return good("zone database", f"tzdata {found}, as pinned")


def debug_mode() -> Finding:
    """Check that error pages do not show details to clients."""
    if settings.DEBUG:
        return bad("debug mode", "DEBUG is on", "Unset DEBUG.")
    if "*" in settings.ALLOWED_HOSTS:
        return odd("debug mode", "every Host header is taken", "Name the hosts in ALLOWED_HOSTS.")
    return good("debug mode", "off")


def pinned_versions() -> dict[str, str]:
    """Return package -> version of the pins in requirements.txt that hold for every Python."""
    lines = _REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return {found[1]: found[2] for line in lines if (found := _PIN.fullmatch(line.strip()))}


def installed(name: str) -> str:
    """Return the version of a package, or that it is missing."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"
