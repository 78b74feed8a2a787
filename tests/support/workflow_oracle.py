"""What a run of a workflow has to have done, judged from its definition and its ends alone.

Plain rules over the states in which steps ended: nothing here calls what the engine judges with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.random_workflows import INPUT

_OVER = frozenset({"SUCCEEDED", "FAILED", "SKIPPED", "BLOCKED", "CANCELLED"})
_WAITS_FOR_ALL = ("all_success", "all_done", "none_failed")
Step = Mapping[str, Any]


def allows(condition: str, before: Sequence[str]) -> bool:
    """Return whether a step may start while those before it have these states."""
    failed = any(state in ("FAILED", "BLOCKED") for state in before)
    if not before:
        return True
    if condition == "any_success":
        return "SUCCEEDED" in before
    if condition == "one_failed":
        return failed
    if not all(state in _OVER for state in before):
        return False
    if condition == "all_success":
        return set(before) == {"SUCCEEDED"}
    return condition == "all_done" or not (failed or "CANCELLED" in before)


def end_of(states: Mapping[str, str]) -> str:
    """Return how a run has to end whose steps have ended so."""
    found = set(states.values())
    return next((worst for worst in ("FAILED", "CANCELLED") if worst in found), "SUCCEEDED")


def runs_after_failure(steps: Sequence[Step]) -> set[str]:
    """Return the steps that a failure of the run does not cancel."""
    found: set[str] = set()
    for step in steps:
        of_those = step["depends_on"] and found.issuperset(step["depends_on"])
        if step.get("condition") in ("all_done", "one_failed") or of_those:
            found.add(step["key"])
    return found


@dataclass
class Take:
    """One take of a run: the states of its steps, and what its executions came to.

    ``ended`` has the ends that workers reported, by key and item, -1 without one; ``items`` those
    that the ledger has of the items of fan-outs. ``kept`` are the steps that an earlier take ran.
    """

    steps: Sequence[Step]
    on_failure: str
    states: Mapping[str, str]
    kept: set[str] = field(default_factory=set)
    ended: Mapping[tuple[str, int], str] = field(default_factory=dict)
    executed: set[tuple[str, int]] = field(default_factory=set)
    items: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    def problems(self) -> list[str]:
        """Return what is wrong with the states in which the steps ended."""
        found: list[str] = []
        for step in self.steps:
            key = step["key"]
            if key not in self.kept and self.states[key] not in self._expected(step):
                before = {name: self.states[name] for name in step["depends_on"]}
                found.append(f"{step} ended {self.states[key]} after {before}")
        return found

    @property
    def failing(self) -> bool:
        """Whether the policy cancels what has not ended; failures of earlier takes do not."""
        failed = {key for key, state in self.states.items() if state == "FAILED"}
        return self.on_failure == "fail_fast" and not failed <= self.kept

    def counts(self, key: str) -> tuple[int, int, int]:
        """Return how many items succeeded, failed and were skipped, counted anew."""
        found = Counter(self.items.get(key, {}).values())
        return found["SUCCEEDED"], found["FAILED"] + found["CANCELLED"], found["SKIPPED"]

    def _expected(self, step: Step) -> set[str]:
        key = step["key"]
        cancelled = self.failing and key not in runs_after_failure(self.steps)
        more = {"CANCELLED"} if cancelled else set()
        before = [self.states[name] for name in step["depends_on"]]
        if (key, -1) in self.executed:
            # A step that waits is taken back; one that is under way may end all the same.
            return {self.ended[key, -1]} if (key, -1) in self.ended else more
        if not allows(step.get("condition", "all_success"), before):
            return more | self._unmet(before)
        if "for_each" in step:
            return more | self._fan(step)
        if step.get("kind") == "delay":
            return more | {"SUCCEEDED"}
        return more | ({"SKIPPED"} if False in self._when(step) else set())

    def _unmet(self, before: Sequence[str]) -> set[str]:
        if any(state in ("FAILED", "BLOCKED") for state in before):
            return {"BLOCKED"}
        return {"CANCELLED"} if "CANCELLED" in before else {"SKIPPED"}

    def _when(self, step: Step) -> set[bool]:
        """Return what the expression of a step may have been."""
        when = step.get("when")
        if when is None or when == "input.on == true":
            return {True}
        if when == "input.off == true":
            return {False}
        named = when.split(".")[1]
        if self.states[named] != "SUCCEEDED":
            return {False}
        waited = step.get("condition", "all_success") in _WAITS_FOR_ALL
        return {True} if waited else {True, False}

    def total_of(self, step: Step) -> int | None:
        """Return how many items a fan-out has; None where its list is none."""
        source = step["for_each"].strip("{ }")
        if source.startswith("input."):
            return len(INPUT[source.removeprefix("input.")])  # type: ignore[arg-type]
        named = source.split(".")[1]
        if self.states[named] != "SUCCEEDED":
            return None
        return self.total_of(next(one for one in self.steps if one["key"] == named))

    def _fan(self, step: Step) -> set[str]:
        succeeded, failed, skipped = self.counts(step["key"])
        total = self.total_of(step)
        begun = step["key"] in self.items
        late = step.get("condition") not in (None, *_WAITS_FOR_ALL)
        if total is None or (late and not begun and "steps." in step["for_each"]):
            # The list came too late, or never: it is null.
            return {"FAILED"} | ({"SUCCEEDED"} if total == 0 else set())
        counted, share = total - skipped, step["min_success_share"]
        if succeeded + failed + skipped == total:
            return {"SUCCEEDED" if not counted or succeeded / counted >= share else "FAILED"}
        # It ends before its items where it cannot succeed any more.
        early = self.on_failure == "fail_fast" and (counted - failed) / counted < share
        return {"FAILED"} if early else set()
