from __future__ import annotations

from typing import Any

from bench.chaos.poison import POISON, End, Sent

_END = End("FAILED", "poisoned", "worker_lost", 3)


class Told:
    """A site that answers what a test tells."""

    def __init__(self, *rows: tuple[Any, ...]) -> None:
        self._rows = list(rows)

    def rows(self, statement: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        return self._rows


def problems(*rows: tuple[Any, ...]) -> list[str]:
    return Sent({"task": ("exits", _END)}).problems(Told(*rows))  # type: ignore[arg-type]  # rows is all it asks


def test_an_execution_that_ended_as_it_has_to_is_no_problem():
    assert problems((*_END, 1)) == []


def test_another_end_a_missing_dead_letter_and_a_second_execution_are_problems():
    assert problems((*_END._replace(attempts=4), 1))
    assert problems((*_END, 0))
    assert problems((*_END, 1), (*_END, 1))
    assert problems()


def test_every_poisonous_handler_is_registered():
    import bench.chaos.poison_handlers  # noqa: F401 - registers them
    from worker.handlers.registry import find

    assert all(find(name) for name in POISON)
