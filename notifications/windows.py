"""Counts ended executions by rule and minute, for rules that look back over a window.

The counts move in the transaction of the event cursor. A rule counts from the moment at which it
is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from notifications.alert_kinds import LEAST_ENDED
from notifications.choices import AlertKind
from notifications.failures import Failure, Success
from notifications.findings import Cause, Finding
from notifications.rule_book import Applied, RuleBook
from shared.duration_words import duration_text
from shared.sql import rows, run
from shared.sql_arrays import of_integers, of_moments, of_uuids


@dataclass(slots=True)
class _Tally:
    """What ended under one rule in a batch."""

    rule: Applied
    tenant_id: UUID
    minutes: dict[datetime, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    failed: int = 0
    latest: Failure | None = None


def count_ends(
    failures: Sequence[Failure], successes: Sequence[Success], rules: RuleBook, now: datetime
) -> list[Finding]:
    """Count the ends of executions; return what rules of windows find by them."""
    tallies: dict[UUID, _Tally] = {}
    for failure in failures:
        if failure.kind != AlertKind.FIRST_FAILURE:
            _tally(tallies, rules, AlertKind.DEAD_LETTER_RATE, failure, failure)
        if failure.kind == AlertKind.FINAL_FAILURE:
            _tally(tallies, rules, AlertKind.FAILURE_SHARE, failure, failure)
    for success in successes:
        _tally(tallies, rules, AlertKind.FAILURE_SHARE, success, None)
    _store(tallies)
    found = sums_of({rule_id: tally.rule.window_seconds for rule_id, tally in tallies.items()}, now)
    return list(_findings(tallies, found))


def sums_of(windows: dict[UUID, int], now: datetime) -> dict[UUID, tuple[int, int]]:
    """Return how many executions ended, and failed, within the window of each rule, in seconds."""
    if not windows:
        return {}
    begins = [now - timedelta(seconds=seconds) for seconds in windows.values()]
    asked = {"rules": of_uuids(windows), "begins": of_moments(begins)}
    run("alert_rules/forget_minutes", asked)
    return {rule: (ended, failed) for rule, ended, failed in rows("alert_rules/sums", asked)}


def is_reached(kind: str, threshold: int, ended: int, failed: int) -> bool:
    """Return whether the counts of a window reach the threshold of a rule."""
    if kind == AlertKind.FAILURE_SHARE:
        return ended >= LEAST_ENDED and failed * 100 >= threshold * ended
    return failed >= threshold


def _tally(
    tallies: dict[UUID, _Tally],
    rules: RuleBook,
    kind: str,
    end: Failure | Success,
    failure: Failure | None,
) -> None:
    rule = rules.rule(end.tenant_id, kind, end.task)
    if rule is None or rule.id is None:
        return
    tally = tallies.setdefault(rule.id, _Tally(rule, end.tenant_id))
    counted = tally.minutes[end.at.replace(second=0, microsecond=0)]
    counted[0] += 1
    if failure is not None:
        counted[1] += 1
        tally.failed += 1
        tally.latest = failure


def _store(tallies: dict[UUID, _Tally]) -> None:
    counted = sorted(
        (rule_id, minute, ended, failed)
        for rule_id, tally in tallies.items()
        for minute, (ended, failed) in tally.minutes.items()
    )
    if counted:
        run(
            "alert_rules/count",
            {
                "rules": of_uuids([row[0] for row in counted]),
                "minutes": of_moments([row[1] for row in counted]),
                "ended": of_integers([row[2] for row in counted]),
                "failed": of_integers([row[3] for row in counted]),
            },
        )


def _findings(tallies: dict[UUID, _Tally], found: dict[UUID, tuple[int, int]]) -> Iterator[Finding]:
    for rule_id, tally in tallies.items():
        ended, failed = found.get(rule_id, (0, 0))
        failure, rule = tally.latest, tally.rule
        if failure is None or not is_reached(rule.kind, rule.threshold, ended, failed):
            continue
        yield Finding(
            cause=Cause(tally.tenant_id, rule.kind, subject=str(rule_id), rule_id=rule_id),
            sentence=_sentence(rule, ended, failed),
            at=failure.at,
            urgent=rule.urgent,
            task_id=failure.task.id,
            task_name=failure.task.name,
            execution_id=failure.execution_id,
            count=tally.failed,
            opening=failed,
        )


def _sentence(rule: Applied, ended: int, failed: int) -> str:
    within = duration_text(rule.window_seconds * 1000)
    if rule.kind == AlertKind.FAILURE_SHARE:
        return f"{failed} of {ended} executions failed within {within}"
    return f"{failed} dead letters within {within}"
