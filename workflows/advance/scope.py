"""What the templates of a run's steps read: its input, and the outputs of steps that have ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from shared.encryption import MOST_ADDED
from shared.instants import format_instant
from shared.json_path import MISSING
from tasks.workflow.references import Scope
from tasks.workflow.step_states import ENDED, StepState
from workflows.advance.reading import outputs_of_items, size_of_items
from workflows.advance.records import FanRow, RunRow, StepEnd
from workflows.plan import Plan
from workflows.sealed import open_input, open_output

#: How templates and answers call the states in which a step has ended.
STATUS_OF: Mapping[StepState, str] = {
    StepState.SUCCEEDED: "SUCCEEDED",
    StepState.FAILED: "FAILED",
    StepState.SKIPPED: "SKIPPED",
    StepState.BLOCKED: "SKIPPED",
    StepState.CANCELLED: "CANCELLED",
    StepState.COMPENSATED: "SUCCEEDED",
    StepState.NOT_COMPENSATED: "SUCCEEDED",
}


class Outputs(Mapping[str, Any]):
    """Outputs by the keys of their steps; each is opened when it is first read."""

    def __init__(self, row: RunRow, takes: bytearray, plan: Plan, sealed: dict[int, bytes]) -> None:
        self._row, self._takes = row, takes
        self._numbers = plan.definition.target["numbers"]
        self._sealed = sealed
        self._opened: dict[int, Any] = {}

    def __getitem__(self, key: str) -> Any:
        number = self._numbers[key]
        if number not in self._opened:
            sealed = self._sealed[number]
            self._opened[number] = open_output(
                sealed, self._row.tenant_id, self._row.id, number, -1, self._takes[number]
            )
        return self._opened[number]

    def learn(self, number: int, output: Any) -> None:
        """Note the output of a step that has just ended."""
        self._sealed[number] = b""
        self._opened[number] = output

    def __iter__(self) -> Iterator[str]:
        return (key for key, number in self._numbers.items() if number in self._sealed)

    def __len__(self) -> int:
        return len(self._sealed)


class Known:
    """What is known of one run while it is advanced."""

    def __init__(
        self,
        row: RunRow,
        plan: Plan,
        states: bytearray,
        takes: bytearray,
        sealed_outputs: dict[int, bytes],
    ) -> None:
        self._row, self._plan, self._states = row, plan, states
        self._outputs = Outputs(row, takes, plan, sealed_outputs)

    def scope(self, item: Any = MISSING, index: Any = MISSING) -> Scope:
        """Return what a step's templates read now; raise DecryptionFailed for a sealed input."""
        return Scope(self._input, self._outputs, self._statuses(), self._run, item, index)

    def learn(self, number: int, output: Any) -> None:
        """Note the output of a step that has just ended."""
        self._outputs.learn(number, output)

    def least_of_items(self, number: int, row: FanRow, ends: list[StepEnd]) -> int:
        """Return how many bytes the outputs of a fan-out's items have at least; reads none."""
        count, size = size_of_items(self._row.id, number, row)
        new = [len(end.output) for end in ends if end.step == number and end.output is not None]
        return size + sum(new) - MOST_ADDED * (count + len(new))

    def outputs_of_items(self, number: int, row: FanRow, ends: list[StepEnd]) -> list[Any]:
        """Return the outputs of a fan-out's items in their order, null where there is none.

        ``ends`` are those of this advance, which are not written yet.
        """
        run_id, found = self._row.id, [None] * row.fan.total
        for item, take, sealed in [
            *outputs_of_items(run_id, number, row),
            *((end.item, row.take, end.output) for end in ends if end.step == number),
        ]:
            if sealed is not None and item >= 0:
                found[item] = open_output(sealed, self._row.tenant_id, run_id, number, item, take)
        return found

    @cached_property
    def _input(self) -> Any:
        return open_input(self._row.sealed_input, self._row.tenant_id, self._row.id)

    @cached_property
    def _run(self) -> Mapping[str, str]:
        return {
            "id": str(self._row.id),
            "scheduled_for": format_instant(self._row.scheduled_for),
        }

    def _statuses(self) -> Mapping[str, str]:
        keys = self._plan.keys
        states = {number: StepState(self._states[number]) for number in keys}
        return {
            keys[number]: STATUS_OF[state] for number, state in states.items() if state in ENDED
        }
