"""A browser in words, from its User-Agent: "Firefox on Linux"."""

from __future__ import annotations

import re

#: In this order: most browsers name others, too.
_BROWSERS = (
    ("Edge", r"\bEdgA?(?:iOS)?/"),
    ("Opera", r"\bOPR/"),
    ("Samsung Internet", r"\bSamsungBrowser/"),
    ("Firefox", r"\b(?:Firefox|FxiOS)/"),
    ("Chrome", r"\b(?:Chrome|CriOS|HeadlessChrome)/"),
    ("Safari", r"\bSafari/"),
)
_SYSTEMS = (
    ("iPhone", r"\biPhone\b"),
    ("iPad", r"\biPad\b"),
    ("Android", r"\bAndroid\b"),
    ("Windows", r"\bWindows\b"),
    ("macOS", r"\bMac OS X\b|\bMacintosh\b"),
    ("ChromeOS", r"\bCrOS\b"),
    ("Linux", r"\bLinux\b"),
)
_PROGRAM = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,29}")


def device_words(user_agent: str) -> str:
    """Return browser and system in words; of a program its name."""
    browser, system = _first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent)
    if browser:
        return f"{browser} on {system}" if system else browser
    program = _PROGRAM.match(user_agent)
    name = program[0] if program and program[0] != "Mozilla" else "Unknown browser"
    return f"{name} on {system}" if system else name


def _first(table: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for name, pattern in table if re.search(pattern, text)), "")
