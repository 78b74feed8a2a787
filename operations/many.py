"""The same change to each of several rows that an operator named: results, counts, exit code.

Every row has a transaction of its own, so a refused row does not stop the others. One row alone
fails as a single change does. When some of several rows fail, the exit code is 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from operations.finding import ID_TAIL
from shared.commands import FAILED, PARTIAL, PunctualCommand, exit_code_of, shown
from shared.exceptions import NotFound, PunctualError

_PROGRESS_FROM = 20


@dataclass(slots=True)
class Outcome:
    """The result of one row; ``facts`` are added to it."""

    text: str
    row: Any = None
    error: PunctualError | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Return the row's id, or what the operator typed for it."""
        return self.text if self.row is None else str(self.row.id)


def resolve(words: Sequence[str], find: Callable[[str], Any]) -> list[Outcome]:
    """Return one outcome for each named row; the outcome of a missing row has an error.

    A single row that is missing raises NotFound, an ambiguous word InvalidInput.
    """
    found: dict[str, Outcome] = {}
    for word in words:
        try:
            outcome = Outcome(word, find(word))
        except NotFound as error:
            if len(words) == 1:
                raise
            outcome = Outcome(word, error=error)
        found.setdefault(outcome.id, outcome)
    return list(found.values())


def perform(
    command: PunctualCommand,
    outcomes: Sequence[Outcome],
    label: str,
    act: Callable[[Any], dict[str, Any]],
) -> None:
    """Change each row that was found, each in its own transaction; keep the refusals."""
    waiting = [outcome for outcome in outcomes if outcome.error is None]
    if len(waiting) < _PROGRESS_FROM:
        for outcome in waiting:
            _change(outcome, act, alone=len(outcomes) == 1)
        return
    with command.progress(label, len(waiting)) as shown_progress:
        for done, outcome in enumerate(waiting, 1):
            _change(outcome, act, alone=False)
            shown_progress.update(done)


def document(outcomes: Sequence[Outcome], *, dry_run: bool = False) -> dict[str, Any]:
    """Return the results as ``--json`` prints them."""
    failed = sum(outcome.error is not None for outcome in outcomes)
    return {
        "dry_run": dry_run,
        "done": len(outcomes) - failed,
        "failed": failed,
        "results": [
            {
                "id": outcome.id,
                "ok": outcome.error is None,
                "error": _error(outcome.error),
                **outcome.facts,
            }
            for outcome in outcomes
        ],
    }


def lines(outcomes: Sequence[Outcome], done: str, name: Callable[[Any], str]) -> Iterator[str]:
    """Return a line for each row: what was done to it, or why not."""
    for outcome in outcomes:
        if outcome.error is not None:
            yield f"✘ {outcome.id[-ID_TAIL:]}  {outcome.error.message}"
        else:
            yield f"✔ {done}  {outcome.id[-ID_TAIL:]}  {shown(name(outcome.row), 40)}"


def conclude(command: PunctualCommand, outcomes: Sequence[Outcome]) -> None:
    """Print how many were done, and leave with the exit code if any was not."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if len(outcomes) > 1:
        command.note(f"{len(outcomes) - len(errors)} done, {len(errors)} failed")
    if not errors:
        return
    if len(errors) < len(outcomes):
        command.leave(PARTIAL)
    codes = {exit_code_of(error) for error in errors}
    command.leave(codes.pop() if len(codes) == 1 else FAILED)


def report(
    command: PunctualCommand,
    options: Mapping[str, Any],
    outcomes: Sequence[Outcome],
    done: str,
    name: Callable[[Any], str],
) -> None:
    """Print results and counts, and leave with the exit code if any row was refused."""
    found = document(outcomes, dry_run=bool(options.get("dry_run")))
    command.emit(options, found, lines(outcomes, done, name))
    conclude(command, outcomes)


def _change(outcome: Outcome, act: Callable[[Any], dict[str, Any]], *, alone: bool) -> None:
    try:
        with transaction.atomic(durable=True):
            outcome.facts = act(outcome.row)
    except PunctualError as error:
        if alone:
            raise
        outcome.error = error


def _error(error: PunctualError | None) -> dict[str, str] | None:
    return None if error is None else {"code": error.code, "message": error.message}
