"""Form of the requirements files, and imports that they must cover."""

from __future__ import annotations

import ast
import re
import sys

from tests.support.syntax import parse

_PINNED = re.compile(
    r"^(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(\[[a-z,]+\])?==(?P<version>[^\s;*,]+)( ; [^#]+)?$"
)
_HEADING = "# --- What the above need"


def requirement_form(text: str) -> list[str]:
    """Refuse a line without an exact version, and a direct one without its comment above."""
    breaches = []
    direct = True
    before = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(_HEADING):
            direct = False
        elif line and not line.startswith(("#", "-r ")):
            if not _PINNED.match(line):
                breaches.append(f"{number}: {line!r} is not pinned with ==")
            if direct and not before.startswith("# "):
                breaches.append(f"{number}: {line!r} does not say what it is for")
        before = line
    return breaches


def pins(text: str) -> dict[str, str]:
    """Return the pinned versions by normal name."""
    found = (_PINNED.match(line) for line in text.splitlines())
    return {normal(match["name"]): match["version"] for match in found if match}


def direct_names(text: str) -> set[str]:
    """Return the normal names above the heading of what is only needed by others."""
    return set(pins(text.split(_HEADING)[0]))


def double_lines(text: str, other: str) -> list[str]:
    """Refuse a package that stands in both files, or twice in one."""
    names = [
        normal(match["name"])
        for line in [*text.splitlines(), *other.splitlines()]
        if (match := _PINNED.match(line))
    ]
    return sorted({name for name in names if names.count(name) > 1})


def third_party(source: str, first_party: set[str]) -> set[str]:
    """Return the top-level packages that a module imports from outside the checkout."""
    found: set[str] = set()
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found - first_party - set(sys.stdlib_module_names)


def normal(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
