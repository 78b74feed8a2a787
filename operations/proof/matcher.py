"""Matches arrivals with targets: every target gets exactly one label.

The labels are those of the counting rules: ok, failed (as the receiver wanted), dup, phantom,
lost, skipped, wrong (another end than expected), and beside them early, late and extra lines.
Pure: targets, arrivals and records in, a verdict out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from operations.proof.ledger import Arrival, Record
from operations.proof.oracle import Target, to_text
from operations.proof.percentiles import Distribution, distribution

MAX_EXAMPLES = 20
#: The part of a request that the receiver does not see: the way to it, and the answer's way back
#: until a recorder writes the outcome.
_UNSEEN_NS = 150_000_000
FINAL_UNRUN = {"SKIPPED", "CANCELLED"}


@dataclass(frozen=True, slots=True)
class Fault:
    """An injected fault, and how long around it an answer can have stayed unrecorded."""

    kind: str
    at_ns: int
    before_ns: int = 0
    after_ns: int = 0

    def doubts(self, arrival: Arrival) -> bool:
        """Return whether the request was under way, or its outcome unreported, at the fault."""
        return (
            arrival.wall_ns <= self.at_ns + self.after_ns
            and arrival.answered_ns >= self.at_ns - self.before_ns
        )

    def catches(self, arrival: Arrival) -> bool:
        """Return whether the request was under way at the fault, from its sending to its record.

        A fault with a duration began ``before_ns - after_ns`` before its end.
        """
        began_ns = self.at_ns - max(0, self.before_ns - self.after_ns)
        return (
            arrival.wall_ns - _UNSEEN_NS <= self.at_ns
            and arrival.answered_ns + _UNSEEN_NS >= began_ns
        )


@dataclass(slots=True)
class Verdict:
    """The counts of a run; ``passed`` is true when the promises were kept."""

    expected: int = 0
    run: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    start_delays_ms: list[float] = field(default_factory=list)
    by_kind: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    product_delays_ms: list[float] = field(default_factory=list)
    in_flight_at_faults: int = 0

    @property
    def missed(self) -> int:
        """Return how many required instants were never run."""
        return self.labels["lost"] + self.labels["skipped"]

    @property
    def duplicates(self) -> int:
        """Return how many targets ran more often than they had to."""
        return self.labels["dup_attributed"] + self.labels["dup"]

    @property
    def passed(self) -> bool:
        """Return whether nothing is missing, doubled without a fault, early or surplus."""
        bad = ("lost", "skipped", "dup", "phantom", "wrong", "unrecorded", "early", "extra")
        return not any(self.labels[label] for label in bad)

    @property
    def start_delay(self) -> Distribution:
        """Return arrival minus nominal time of first attempts, at the receiver."""
        return distribution(self.start_delays_ms)

    def note(self, label: str, what: str) -> None:
        """Count under a label and keep the first few examples."""
        self.labels[label] += 1
        if label not in ("ok", "failed") and len(self.examples[label]) < MAX_EXAMPLES:
            self.examples[label].append(what)

    def as_json(self) -> dict[str, Any]:
        """Return everything but the single measurements."""
        return {
            "expected": self.expected,
            "run": self.run,
            "missed": self.missed,
            "duplicate": self.duplicates,
            "duplicate_attributed": self.labels["dup_attributed"],
            "in_flight_at_faults": self.in_flight_at_faults,
            "early": self.labels["early"],
            "labels": dict(sorted(self.labels.items())),
            "start_delay_ms": self.start_delay.as_json(),
            "start_delay_ms_by_kind": {
                kind: distribution(values).as_json() for kind, values in self.by_kind.items()
            },
            "product_start_delay_ms": distribution(self.product_delays_ms).as_json(),
            "examples": {label: lines for label, lines in self.examples.items() if lines},
            "passed": self.passed,
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a run."""

    targets: list[Target]
    arrivals: list[Arrival]
    records: list[Record]
    faults: tuple[Fault, ...] = ()
    #: First attempts later than this are counted as late.
    late_after_ms: int = 1000


def match(evidence: Evidence) -> Verdict:
    """Return the verdict on a run."""
    verdict = Verdict()
    lines, records = _assign(evidence, verdict)
    for number, target in enumerate(evidence.targets):
        if not target.required and number not in lines and number not in records:
            continue
        verdict.expected += 1
        _judge(verdict, evidence, target, lines.get(number, []), records.get(number))
    verdict.in_flight_at_faults = sum(
        fault.catches(arrival) for fault in evidence.faults for arrival in evidence.arrivals
    )
    return verdict


class _Index:
    """Finds the target of a task's nominal time."""

    def __init__(self, targets: list[Target]) -> None:
        self._exact = {
            (t.task_id, t.at_ms): number for number, t in enumerate(targets) if not t.slack_ms
        }
        self._ranges: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for number, target in enumerate(targets):
            if target.slack_ms:
                bounds = (target.at_ms, target.at_ms + target.slack_ms, number)
                self._ranges[target.task_id].append(bounds)

    def find(self, task_id: str, at_ms: int) -> int | None:
        number = self._exact.get((task_id, at_ms))
        if number is not None:
            return number
        for low, high, number in self._ranges.get(task_id, ()):
            if low <= at_ms <= high:
                return number
        return None


def _assign(
    evidence: Evidence, verdict: Verdict
) -> tuple[dict[int, list[Arrival]], dict[int, Record]]:
    index = _Index(evidence.targets)
    lines: dict[int, list[Arrival]] = defaultdict(list)
    bodies: dict[str, str] = {}
    for arrival in evidence.arrivals:
        if arrival.wall_ns < arrival.at_ms * 1_000_000:
            verdict.note("early", _line(arrival))
        number = index.find(arrival.task_id, arrival.at_ms)
        if number is None:
            verdict.note("extra", f"no such instant: {_line(arrival)}")
            continue
        same_body = bodies.setdefault(arrival.task_id, arrival.body_sha256) == arrival.body_sha256
        target = evidence.targets[number]
        if arrival.path != target.path or not same_body or arrival.signature_ok is False:
            verdict.note("extra", f"wrong path, body or signature: {_line(arrival)}")
        lines[number].append(arrival)
    records: dict[int, Record] = {}
    for record in evidence.records:
        number = index.find(record.task_id, record.at_ms)
        if number is None or number in records:
            verdict.note("extra", f"surplus execution {record.execution_id} {record.status}")
        else:
            records[number] = record
        if record.start_delay_ms is not None:
            verdict.product_delays_ms.append(record.start_delay_ms)
    return lines, records


def _judge(
    verdict: Verdict,
    evidence: Evidence,
    target: Target,
    lines: list[Arrival],
    record: Record | None,
) -> None:
    if lines:
        verdict.run += 1
        # A delay's exact instant is only known to the product: its own nominal time counts.
        first = min(lines, key=lambda line: line.wall_ns)
        delay_ms = first.wall_ns / 1e6 - first.at_ms
        if target.acknowledged_ms > first.at_ms:
            verdict.labels["acknowledged_after_its_time"] += 1
            delay_ms = max(0.0, first.wall_ns / 1e6 - target.acknowledged_ms)
        verdict.start_delays_ms.append(delay_ms)
        verdict.by_kind[target.kind].append(delay_ms)
        if delay_ms > evidence.late_after_ms:
            verdict.note("late", f"{delay_ms:.0f} ms {_line(first)}")
    repeated = _repeated(target, lines)
    if repeated:
        doubted = all(
            any(fault.doubts(line) for fault in evidence.faults)
            for line in (repeated, *_overtaken(lines))
        )
        proper = len({line.webhook_id for line in lines}) == 1 and _rising(lines)
        label = "dup_attributed" if doubted and proper else "dup"
        verdict.note(label, " | ".join(_line(line) for line in lines[:6]))
        return
    verdict.note(_label(target, lines, record), _describe(target, lines, record))


def _repeated(target: Target, lines: list[Arrival]) -> Arrival | None:
    """Return the request that another one repeated without need, None where there is none."""
    ordered = sorted(lines, key=lambda line: line.wall_ns)
    seen: dict[int, Arrival] = {}
    for line in ordered:
        if line.attempt in seen:
            return seen[line.attempt]
        seen[line.attempt] = line
    for number, line in enumerate(ordered[:-1]):
        if line.succeeded or number + 1 >= target.max_attempts:
            return line
    return None


def _rising(lines: list[Arrival]) -> bool:
    """Return whether no two requests share an attempt or a token, and both rise together."""
    by_token = sorted(lines, key=lambda line: line.token)
    return all(
        earlier.attempt < later.attempt and earlier.token < later.token
        for earlier, later in pairwise(by_token)
    )


def _overtaken(lines: list[Arrival]) -> list[Arrival]:
    """Return requests that came after one with a higher token.

    A worker that is stopped between the start guard and its sending sends when it continues.
    """
    ordered = sorted(lines, key=lambda line: line.wall_ns)
    return [
        line
        for number, line in enumerate(ordered)
        if any(line.token < former.token for former in ordered[:number])
    ]


def _label(target: Target, lines: list[Arrival], record: Record | None) -> str:
    status = record.status if record else None
    succeeded = any(line.succeeded for line in lines)
    if succeeded:
        return "ok" if status == "SUCCEEDED" else "unrecorded"
    if status == "SUCCEEDED":
        return "phantom"
    if status in FINAL_UNRUN:
        return "skipped"
    if status != "FAILED":
        return "lost"
    # With fewer attempts than allowed, the receiver's answers did not cause this end.
    expected = target.behaviour == "failing" and len(lines) == target.max_attempts
    return "failed" if expected else "wrong"


def _describe(target: Target, lines: Iterable[Arrival], record: Record | None) -> str:
    told = f"{record.status} {record.reason or ''} {record.execution_id}" if record else "no row"
    answers = [line.status for line in lines]
    return (
        f"{target.kind} {target.behaviour} task {target.task_id} at {to_text(target.at_ms)}: "
        f"answers {answers}, {told}"
    )


def _line(arrival: Arrival) -> str:
    return (
        f"task {arrival.task_id} for {to_text(arrival.at_ms)} attempt {arrival.attempt} token "
        f"{arrival.token} id {arrival.webhook_id} came {arrival.wall_ns / 1e6 - arrival.at_ms:.1f}"
        f" ms after, answered {arrival.status}"
    )
