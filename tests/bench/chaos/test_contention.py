from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from bench.chaos.contention import _Contention


class _Stored:
    """A site whose every task has one name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def rows(self, statement: str, parameters: Any = ()) -> list[tuple[str]]:
        return [(self._name,)]


def _check(contention: _Contention, name: str) -> list[str]:
    outcome: Any = SimpleNamespace(notes=[])
    site: Any = _Stored(name)
    return contention.check(site, outcome)


def test_changes_may_be_refused_as_a_conflict():
    contention = _Contention()
    contention.answers.update({200: 3, 409: 2})

    assert _check(contention, "any") == []


def test_any_other_answer_is_told():
    contention = _Contention()
    contention.answers.update({200: 3, 500: 1})

    assert _check(contention, "any") == ["1 changes were answered 500"]


def test_the_last_name_must_be_one_that_was_accepted():
    contention = _Contention(accepted={"7": {"mine"}})

    assert _check(contention, "mine") == []
    assert _check(contention, "never told") == [
        "7 is called 'never told', which no accepted edit set"
    ]
