"""Plants bugs in a copy of the code, one at a time, and shows that the suite finds each.

Every mutation of :mod:`bench.mutation_list` removes one guard of the core loop. The tests that are
to find it are named with it: first they run on the code as it is, then on each mutation, until the
first failure. Run: ``python -m bench.mutations`` (``--only NAME``, ``--list``). The checkout itself
is never touched.
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import command_line
from bench.installation import CHECKOUT, InstallationError
from bench.mutation import Edit, Mutation
from bench.mutation_list import MUTATIONS

#: What no test of the list reads.
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "var", "node_modules", "results", "images")
_TIMEOUT_SECONDS = 300
#: Where a statement, or a part of one, begins in a file of statements.
_HEAD = re.compile(r"^-- (name|part): ", re.MULTILINE)
#: The errors of a mutation that is no longer code, in any test.
_NO_CODE = ("SyntaxError", "NameError", "UndefinedTable", "UndefinedColumn", "ImportError")
_FAILED = 1


class DoesNotApply(ValueError):
    """The text that a mutation replaces is not there exactly once."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the tests said of one mutation; ``caught_by`` is empty when it survived."""

    name: str
    caught_by: str
    seconds: float

    def __str__(self) -> str:
        said = f"caught by {self.caught_by}" if self.caught_by else "SURVIVED"
        return f"{self.name:32} {self.seconds:5.0f} s  {said}"


def mutated(text: str, edit: Edit) -> str:
    """Return the text with the edit applied; raise DoesNotApply unless it fits exactly once.

    ``edit.block`` names where in the text to look: from there to the next statement of a file of
    statements, or part of one, or to the end.
    """
    start = 0
    if edit.block:
        if text.count(edit.block) != 1:
            raise DoesNotApply(f"{edit.path}: not once: {edit.block!r}")
        start = text.index(edit.block)
    following = _HEAD.search(text, start + 1) if edit.block else None
    end = following.start() if following else len(text)
    part = text[start:end]
    if part.count(edit.old) != 1:
        raise DoesNotApply(f"{edit.path}: {part.count(edit.old)} times: {edit.old!r}")
    return text[:start] + part.replace(edit.old, edit.new) + text[end:]


@contextmanager
def planted(tree: Path, mutation: Mutation) -> Iterator[None]:
    """Apply a mutation to a copy of the checkout, and take it back."""
    before: dict[Path, str] = {}
    try:
        for edit in mutation.edits:
            path = tree / edit.path
            text = path.read_text(encoding="utf-8")
            before.setdefault(path, text)
            path.write_text(mutated(text, edit), encoding="utf-8")
        yield
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")


def first_failure(tree: Path, tests: Sequence[str]) -> str:
    """Run tests in a copy until the first that fails; return it, '' when all pass.

    Raise InstallationError when they could not be run, or failed for want of valid code.
    """
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "scheduler_site.settings_test",
        # A second mutation of the same length within a second would be taken for the first.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly"]
    command += ["-p", "no:cacheprovider", "--no-header", "--tb=line", *tests]
    done = subprocess.run(
        command,
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode == 0:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    if done.returncode != _FAILED or not failed or any(sign in failed[0] for sign in _NO_CODE):
        raise InstallationError(f"{' '.join(tests)}:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    return failed[0].removeprefix("FAILED ").partition(" - ")[0]


def measure(mutations: Sequence[Mutation], jobs: int) -> list[Result]:
    """Return what the tests said of each mutation, after they have passed without any."""
    with tempfile.TemporaryDirectory(prefix="punctual-mutations-") as scratch:
        # The servers of a test run by root belong to another account, which reads the copy.
        Path(scratch).chmod(0o755)
        trees: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(jobs):
            tree = Path(scratch) / str(number)
            shutil.copytree(CHECKOUT, tree, ignore=_LEFT_OUT)
            trees.put(tree)
        _require_all_to_pass(trees, mutations)
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(lambda one: _try(trees, one), mutations))


def _require_all_to_pass(trees: queue.SimpleQueue[Path], mutations: Sequence[Mutation]) -> None:
    tests = sorted({test for mutation in mutations for test in mutation.tests})
    tree = trees.get()
    broken = first_failure(tree, tests)
    trees.put(tree)
    if broken:
        raise InstallationError(f"{broken} fails on the code as it is")


def _try(trees: queue.SimpleQueue[Path], mutation: Mutation) -> Result:
    tree = trees.get()
    began = time.monotonic()
    try:
        with planted(tree, mutation):
            caught_by = _patiently(tree, mutation.tests)
    finally:
        trees.put(tree)
    result = Result(mutation.name, caught_by, time.monotonic() - began)
    print(result, flush=True)
    return result


def _patiently(tree: Path, tests: Sequence[str]) -> str:
    """Run the tests, once more where they could not be run: a busy machine loses connections."""
    try:
        return first_failure(tree, tests)
    except InstallationError:
        return first_failure(tree, tests)


def main(arguments: list[str]) -> int:
    """Plant each bug; 1 when one survives."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.mutations")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="repeatable")
    parser.add_argument("--list", action="store_true", help="list the mutations, and run nothing")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    options = parser.parse_args(arguments)
    chosen = [one for one in MUTATIONS if not options.only or one.name in options.only]
    if missing := set(options.only) - {one.name for one in chosen}:
        parser.error(f"no such mutation: {', '.join(sorted(missing))}")
    if options.list:
        for one in chosen:
            print(f"{one.name:32} {one.what}")
        return 0
    results = measure(chosen, max(1, min(options.jobs, len(chosen))))
    survived = [one.name for one in results if not one.caught_by]
    print(f"{len(results) - len(survived)} of {len(results)} caught")
    return 1 if survived else 0


if __name__ == "__main__":
    command_line.run(main)
