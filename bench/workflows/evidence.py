"""The requests of steps as the receiver has them, each with its place in a run; and their judge.

The receiver's ledger says when what came; only which step an execution is of is asked of the
product. Two rules are judged: nothing starts before what it depends on has ended, and a request
follows another of the same step only where that failed, or a fault kept its outcome from being
recorded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench.workflows.definitions import ALL_DONE, numbers
from operations.proof.ledger import Arrival, read_arrivals

_STEPS = """
SELECT id::text, run_id::text, step, coalesce(item, -1), take
FROM executions WHERE run_id = ANY(%s::uuid[]) AND step IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, and which execution of which step of a run made it; item -1 without one."""

    run_id: str
    step: int
    item: int
    take: int
    arrival: Arrival


Place = tuple[str, int, int]
Doubts = Callable[[Arrival], bool]


def read_calls(
    address: str, ledger: Path, run_ids: Collection[str]
) -> tuple[list[Call], list[str]]:
    """Return the requests of these runs in order, and those that no step of them has made."""
    with psycopg.connect(address, autocommit=True) as session:
        rows = session.execute(_STEPS.encode(), (list(run_ids),)).fetchall()
    places: dict[str, tuple[str, int, int, int]] = {row[0]: row[1:] for row in rows}
    arrivals, strangers = read_arrivals(ledger)
    found = []
    for arrival in arrivals:
        place = places.get(arrival.webhook_id)
        if place is None:
            strangers.append(f"of no step: execution {arrival.webhook_id}")
        else:
            found.append(Call(*place, arrival))
    return found, strangers


def no_doubt(arrival: Arrival) -> bool:
    """Answer for a run without faults: every outcome was recorded."""
    return False


def problems(
    calls: Sequence[Call], body: Mapping[str, Any], doubts: Doubts = no_doubt
) -> list[str]:
    """Return what breaks the two rules, in words; the calls are of runs of one workflow."""
    by_place: dict[Place, list[Call]] = defaultdict(list)
    by_step: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for call in sorted(calls, key=lambda one: one.arrival.wall_ns):
        by_place[call.run_id, call.step, call.item].append(call)
        by_step[call.run_id, call.step].append(call)
    found = [line for place, made in by_place.items() for line in _repeated(place, made, doubts)]
    keys = numbers(body)
    for step in body["steps"]:
        before = [keys[key] for key in step["depends_on"]]
        optional = step.get("condition") == ALL_DONE
        for (run_id, number), made in by_step.items():
            if number == keys[step["key"]]:
                for one in before:
                    found += _early(made[0], one, by_step.get((run_id, one), ()), optional)
    return found


def _repeated(place: Place, made: Sequence[Call], doubts: Doubts) -> Iterable[str]:
    """Yield a line where an outcome that was recorded was followed by a request without a reason.

    The reason of another attempt is the failure of the one before.
    """
    for number, call in enumerate(made[:-1]):
        one = call.arrival
        later = [(after.take, after.arrival.attempt) for after in made[number + 1 :]]
        if doubts(one) or not (one.succeeded or (call.take, one.attempt) in later):
            continue
        yield f"step {place[1]}[{place[2]}] of run {place[0]} ran {len(made)} times"
        return


def _early(first: Call, step: int, before: Sequence[Call], optional: bool) -> list[str]:
    ended = ended_at(before)
    where = f"step {first.step} of run {first.run_id} began"
    if ended is None:
        return [] if optional else [f"{where} although step {step} has not run"]
    return [f"{where} before step {step} had ended"] if first.arrival.wall_ns < ended else []


def ended_at(calls: Iterable[Call]) -> int | None:
    """Return when a step had ended with all its items, by its answers; None where it did not run.

    An item has ended with its first success, else with its last answer.
    """
    items: dict[int, list[Arrival]] = defaultdict(list)
    for call in calls:
        items[call.item].append(call.arrival)
    ends = []
    for made in items.values():
        good = [one.answered_ns for one in made if one.succeeded]
        ends.append(min(good) if good else max(one.answered_ns for one in made))
    return max(ends, default=None)
