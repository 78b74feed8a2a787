"""Which files the architecture rules look at: the checkout, read once.

Rules take text and know no files; the tests join the two here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
_NOT_PRODUCTION = {"tests", "bench"}


@dataclass(frozen=True)
class Module:
    """A Python file of the checkout, by its path from the root."""

    path: str

    @cached_property
    def source(self) -> str:
        return (REPOSITORY / self.path).read_text(encoding="utf-8")

    @property
    def is_migration(self) -> bool:
        return "/migrations/" in self.path


def packages() -> list[str]:
    """Return the top-level packages that stand in the checkout."""
    return sorted(found.parent.name for found in REPOSITORY.glob("*/__init__.py"))


def production_packages() -> list[str]:
    return [name for name in packages() if name not in _NOT_PRODUCTION]


def modules(*under: str) -> Iterator[Module]:
    """Yield the Python files of the packages or folders named."""
    for folder in under:
        for found in sorted((REPOSITORY / folder).rglob("*.py")):
            yield Module(found.relative_to(REPOSITORY).as_posix())


def production() -> Iterator[Module]:
    """Yield every production module, and manage.py."""
    yield Module("manage.py")
    yield from modules(*production_packages())


def sql_paths() -> list[Path]:
    """Return the files of statements of every app."""
    return [
        found
        for package in production_packages()
        for found in sorted((REPOSITORY / package / "sql").glob("*.sql"))
    ]


def sql_files() -> dict[str, str]:
    """Return the text of <app>/sql/*.sql by stage."""
    return {found.stem: found.read_text(encoding="utf-8") for found in sql_paths()}


def breaches(
    found: Iterator[Module],
    rule: Callable[[str], list[str]],
    *,
    except_for: dict[str, str] | None = None,
) -> list[str]:
    """Return what a rule says of each module, led by its path; exceptions are path -> reason."""
    spared = except_for or {}
    return [
        f"{module.path}: {breach}"
        for module in found
        if module.path not in spared
        for breach in rule(module.source)
    ]


def report(found: list[str]) -> str:
    """Return the breaches one per line, as the message of a failing test."""
    return "\n" + "\n".join(found)
