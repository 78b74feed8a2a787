"""The steps of a run as its pages show them: what each does, and what it waits for, in words.

Pure: works on a run that was read already, and on the answer that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse

from api.protocol.query import choice
from dashboard.payload_form import pretty
from dashboard.pictures.dag import DagStep
from dashboard.pictures.gantt import GanttBar
from dashboard.state_vocabulary import STEP_LOOKS, UNDO_LOOKS, look_of, step_state
from dashboard.target_words import TargetWords, describe_target
from executions.choices import FINAL
from insight.critical_path import critical_path, latest
from insight.workflow_runs import SeenRun
from shared.duration_words import duration_text
from shared.instants import parse_instant
from shared.payload_sight import hide
from tasks.workflow.graph import Graph
from tasks.workflow.step_states import ENDED, StepState
from workflows.marking import MARKED

#: In which direction the graph of steps is drawn; without it, in the one that fits.
DIRECTION = {"direction": choice("across", "down")}
DIRECTIONS = (("", "As it fits"), ("across", "Left to right"), ("down", "Top to bottom"))
#: Letters of an output in the list of steps; the step's page shows it whole.
_OUTPUT_LETTERS = 2000
_CONDITIONS = {
    "all_success": "all have succeeded",
    "all_done": "all have ended",
    "none_failed": "none has failed",
    "one_failed": "one has failed",
    "any_success": "one has succeeded",
}
#: Kind -> its word, and what such a step does.
_WAITING_KINDS = {
    "delay": ("delay", "wait"),
    "wait_for_event": ("signal", "wait for the signal"),
    "approval": ("approval", "wait for approval"),
}
_WAITS = {
    "delay": "Waits",
    "approval": "Waits for approval",
    "retry": "Waits for its next attempt",
    "destination": "Waits for capacity of its destination",
    "pause": "On hold: its pool or destination is paused",
}
#: Kinds whose open steps call something, and are ended by cancelling.
_CALLING = ("target", "workflow")
_SHOWN_KEYS = 5
#: In these, all steps of a run look the same; in the others, more decides than the state.
_ALIKE = frozenset(int(state) for state in (ENDED | {StepState.PENDING}))
_RAN = ("SUCCEEDED", "FAILED")
_DONE = ("SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED")


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One step as a row of the run's page, or as a page of its own."""

    number: int
    key: str
    status: str
    called: TargetWords
    href: str
    reason: str
    error: Mapping[str, str] | None
    attempt: int | None
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: float | None
    execution_id: str | None
    #: What it waits for, in words, and until when if that is known.
    waits: str
    until: str | None
    #: The run that a step of kind ``workflow`` began has the id of its execution.
    is_sub_run: bool
    counts: str
    output: str
    is_cut: bool
    #: Of an output that is too long for a list; 0 where it is shown, or there is none.
    left_out_bytes: int
    is_sensitive: bool
    may_decide: bool
    take: int | None
    may_end: bool
    #: What undoes it, or has, as answers show it.
    undo: Mapping[str, Any] | None

    @property
    def state(self) -> str:
        """The state of its look: its status, or how far it is undone."""
        return step_state(self.status, self.undo["status"] if self.undo else None)


def step_words(step: Mapping[str, Any], destination: str = "") -> TargetWords:
    """Return what a step of a definition does."""
    kind = step["kind"]
    if kind == "target":
        return describe_target(step["target"], destination)
    name, facts = "", []
    if kind == "workflow":
        return TargetWords("sub-workflow", "run", step["workflow_id"], ())
    if kind == "delay":
        name = duration_text(step["delay_seconds"] * 1000)
    if kind == "wait_for_event":
        name = step["event"]
        if step["correlation"] is not None:
            facts.append(("Correlation", hide(step["correlation"])))
    if step.get("timeout_seconds"):
        facts.append(("Given up after", duration_text(step["timeout_seconds"] * 1000)))
    word, verb = _WAITING_KINDS[kind]
    return TargetWords(word, verb, name, tuple(facts))


def begins_when(step: Mapping[str, Any]) -> str:
    """Return when a step begins; "" for one that begins with the run."""
    if not step["depends_on"]:
        return ""
    keys = _listed(step["depends_on"])
    if len(step["depends_on"]) == 1 and step["condition"] == "all_success":
        return f"After {keys}"
    return f"After {keys}, when {_CONDITIONS[step['condition']]}"


def facts_of(seen: SeenRun, shown: Sequence[Mapping[str, Any]]) -> list[StepFacts]:
    """Return the facts of the steps that an answer shows, in its order."""
    numbers = {step["key"]: number for number, step in seen.steps.items()}
    base = run_url(seen.take.run_id)
    return [_facts(seen, numbers[one["key"]], one, base) for one in shown]


def run_url(run_id: UUID) -> str:
    """Return the address of a run's page; those of its steps are below it."""
    return reverse("dashboard:workflow_run", args=[run_id])


def dag_of(
    graph: Graph,
    states: Mapping[int, str],
    notes: Mapping[int, str],
    address: Callable[[int], str],
    path: Sequence[int] = (),
) -> list[DagStep]:
    """Return the steps of a graph for its picture, each with the address of its number.

    ``path`` is the critical path, in its order.
    """
    follows = dict(zip(path, (0, *path), strict=False))
    return [
        DagStep(
            number,
            graph.steps[number].key,
            graph.steps[number].depends_on,
            states.get(number),
            notes.get(number, ""),
            address(number),
            follows.get(number),
        )
        for number in sorted(graph.order, key=graph.rank.__getitem__)
    ]


def path_of(seen: SeenRun, facts: Sequence[StepFacts]) -> list[int]:
    """Return the critical path of the run's take, of an open one as far as it is known."""
    if seen.plan is None:
        return []
    own = [one for one in facts if seen.take_of(one.number) == seen.take.number]
    ended = {one.number: one.finished_at for one in own if one.finished_at is not None}
    open_ = {
        one.number: one.started_at
        for one in own
        if one.started_at is not None and one.finished_at is None
    }
    last = min(open_, key=lambda number: (open_[number], number), default=None)
    if last is None:
        last = latest((one.number for one in own if one.status in _RAN), ended)
    return critical_path(seen.plan.graph, ended, last)


def bars_of(facts: Sequence[StepFacts]) -> list[GanttBar]:
    """Return the bars of the steps that have begun, and of what undoes them.

    A step that ended without a begin has none.
    """
    own = [
        GanttBar(one.key, one.state, one.started_at, one.finished_at, one.href)
        for one in facts
        if one.started_at is not None
    ]
    return own + [bar for one in facts if (bar := _undo_bar(one)) is not None]


def _undo_bar(one: StepFacts) -> GanttBar | None:
    began = _moment(one.undo["started_at"]) if one.undo else None
    if one.undo is None or began is None:
        return None
    end = _moment(one.undo["finished_at"])
    return GanttBar(f"undo of {one.key}", one.undo["status"], began, end, one.href, undoes=True)


def counts_text(counts: Mapping[str, int] | None) -> str:
    """Return how many items of a fan-out have ended, and how many of these failed."""
    if not counts:
        return ""
    total = sum(counts.values())
    done = sum(counts.get(status, 0) for status in _DONE)
    failed = f", {counts['FAILED']:,} failed" if counts.get("FAILED") else ""
    return f"{done:,}/{total:,} items{failed}"


def in_order(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts by state in the order in which pages show states."""
    return {state: counts[state] for state in (*STEP_LOOKS, *UNDO_LOOKS) if counts.get(state)}


def states_of(seen: SeenRun) -> dict[int, str]:
    """Return the state of each step for its look, without reading more of the run."""
    states, size = seen.take.states, len(seen.take.states)
    found: dict[int, str] = {}
    known: dict[int, str] = {}
    for number in seen.steps:
        byte = states[number] if number < size else int(StepState.PENDING)
        state = known.get(byte)
        if state is None:
            state = step_state(seen.status(number), seen.undo_status(number))
            if byte in _ALIKE:
                known[byte] = state
        found[number] = state
    return found


def groups_of(
    states: Mapping[int, str], chosen: str | None = None
) -> dict[str, tuple[str, list[int]]]:
    """Return the steps of each state with its word, in the order in which pages show states.

    The chosen state is kept when its last step leaves it: a live page must not jump to all steps.
    """
    found: dict[str, list[int]] = {}
    for number, state in states.items():
        found.setdefault(state, []).append(number)
    counts = in_order({state: len(numbers) for state, numbers in found.items()})
    groups = {state: (look_of(state).label, found[state]) for state in counts}
    if chosen in (*STEP_LOOKS, *UNDO_LOOKS):
        groups.setdefault(chosen, (look_of(chosen).label, []))
    return groups


def _facts(seen: SeenRun, number: int, shown: Mapping[str, Any], base: str) -> StepFacts:
    step = seen.steps[number]
    began, ended = (_moment(shown[name]) for name in ("started_at", "finished_at"))
    output = "" if shown["output"] is None else pretty(shown["output"])
    wait = shown["waiting_for"]
    call = seen.plan.calls.get(number) if seen.plan else None
    state, is_over = seen.state(number), seen.take.execution.status in FINAL
    calls = step["kind"] in _CALLING
    return StepFacts(
        number=number,
        key=step["key"],
        status=shown["status"],
        called=step_words(step, call.destination if call else ""),
        href=f"{base}/steps/{step['key']}",
        reason=_reason(shown),
        error=shown["error"],
        attempt=shown["attempt"],
        started_at=began,
        finished_at=ended,
        duration_ms=(ended - began).total_seconds() * 1000 if began and ended else None,
        execution_id=shown["execution_id"],
        waits=_wait_words(seen, number, wait),
        until=wait["until"] if wait else None,
        is_sub_run=step["kind"] == "workflow" and step["for_each"] is None,
        counts=counts_text(shown["counts"]),
        output=output[:_OUTPUT_LETTERS],
        is_cut=len(output) > _OUTPUT_LETTERS,
        left_out_bytes=_left_out(step, shown),
        is_sensitive=bool(step.get("sensitive")),
        may_decide=not is_over and bool(wait) and wait["kind"] == "approval",
        take=wait.get("take") if wait else None,
        may_end=(state in MARKED and seen.take.row is not None)
        if is_over
        else (state is StepState.PENDING or (state is StepState.OPEN and not calls)),
        undo=shown["compensation"],
    )


def _left_out(step: Mapping[str, Any], shown: Mapping[str, Any]) -> int:
    is_shown = shown["output"] is not None or step.get("sensitive")
    return 0 if is_shown else int(shown.get("output_bytes", 0))


def _reason(shown: Mapping[str, Any]) -> str:
    """Return why the step ended so, unless its error says the same."""
    reason = shown["reason"] or ""
    return "" if shown["error"] and shown["error"]["code"] == reason else reason


def _wait_words(seen: SeenRun, number: int, wait: Mapping[str, Any] | None) -> str:
    if wait is not None:
        if wait["kind"] != "event":
            return _WAITS.get(wait["kind"], "Waits")
        about = f" about {wait['correlation']}" if wait.get("correlation") else ""
        return f"Waits for the signal {wait['event']}{about}"
    if seen.plan is None or seen.status(number) != "PENDING":
        return ""
    before = seen.plan.graph.steps[number].depends_on
    missing = [seen.plan.keys[one] for one in before if seen.state(one) not in ENDED]
    return f"Waits for {_listed(missing)}" if missing else ""


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _SHOWN_KEYS} more" if len(keys) > _SHOWN_KEYS else ""
    return ", ".join(keys[:_SHOWN_KEYS]) + more


def _moment(text: str | None) -> datetime | None:
    return parse_instant(text) if text else None
