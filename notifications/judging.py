"""Judges events by the rules of their tenants: which of them are findings of which alert.

The alerter calls it inside the cursor's transaction; a batch of events costs a fixed number of
statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from events.outbox import Recorded
from notifications.choices import AlertKind
from notifications.failures import FAILED, RETRYING, Failure, failures_of, successes_of
from notifications.findings import Cause, Finding
from notifications.incidents import count_findings, recover_subjects
from notifications.late_starts import late_starts
from notifications.models import AlertRule
from notifications.rule_book import Applied, RuleBook
from notifications.task_facts import facts_of
from notifications.windows import count_ends
from shared.instants import parse_instant
from tasks.budgets.purses import EXCEEDED
from tenants.services.quotas import QUOTA_NEAR, QUOTA_NO_LONGER_NEAR
from workflows.advance.waiting import DEADLINE_EXCEEDED

#: The subject of failures of replays into another place. Their alerts end quietly: successes of the
#: tasks say nothing about that place.
REPLAY = "replay"
#: The events that are read of every tenant.
NAMES = (RETRYING, FAILED, QUOTA_NEAR, QUOTA_NO_LONGER_NEAR, EXCEEDED)


def tenants_with_shares() -> list[UUID]:
    """Return the tenants whose successes have to be counted."""
    found = AlertRule.objects.filter(enabled=True, kind=AlertKind.FAILURE_SHARE)
    return list(found.values_list("tenant_id", flat=True).distinct())


def judge(events: Sequence[Recorded], now: datetime) -> None:
    """Count what the rules find in the events into alerts, and end alerts of quotas."""
    failures, successes = failures_of(events), successes_of(events)
    quotas = _latest_of_quotas(events)
    budgets = [event for event in events if event.name == EXCEEDED]
    tenants = {tenant_id for tenant_id, _ in quotas}
    for found in (failures, successes, budgets):
        tenants.update(one.tenant_id for one in found)
    if not tenants:
        return
    rules = RuleBook.of(tenants)
    findings = [
        *_of_failures(failures, rules),
        *_of_streaks(failures, rules),
        *count_ends(failures, successes, rules, now),
        *_of_quotas(quotas, rules),
        *_of_budgets(budgets, rules),
        *late_starts(events, rules),
    ]
    count_findings(findings, now)
    eased = [key for key, event in quotas.items() if event.name == QUOTA_NO_LONGER_NEAR]
    recover_subjects(AlertKind.QUOTA_NEAR, eased, now)


def _of_failures(failures: Sequence[Failure], rules: RuleBook) -> Iterator[Finding]:
    for failure in failures:
        rule = None
        if failure.signature == DEADLINE_EXCEEDED and failure.kind == AlertKind.FINAL_FAILURE:
            rule = rules.rule(failure.tenant_id, AlertKind.DEADLINE_PASSED, failure.task)
        rule = rule or rules.rule(failure.tenant_id, failure.kind, failure.task)
        if rule is not None:
            cause = Cause(
                failure.tenant_id,
                rule.kind,
                signature=failure.signature,
                destination=failure.destination,
                subject=REPLAY if failure.replays else "",
                rule_id=rule.id,
            )
            yield _finding(failure, rule, cause)


def _of_streaks(failures: Sequence[Failure], rules: RuleBook) -> Iterator[Finding]:
    """Yield a finding per task that has failed often enough since its last success."""
    finals = (one for one in failures if one.kind == AlertKind.FINAL_FAILURE and not one.replays)
    for failure in {one.task.id: one for one in finals}.values():
        rule = rules.rule(failure.tenant_id, AlertKind.FAILURES_IN_A_ROW, failure.task)
        if rule is not None and failure.task.streak >= rule.threshold:
            subject = str(failure.task.id)
            cause = Cause(failure.tenant_id, rule.kind, subject=subject, rule_id=rule.id)
            yield _finding(failure, rule, cause, total=failure.task.streak)


def _finding(failure: Failure, rule: Applied, cause: Cause, **counts: Any) -> Finding:
    return Finding(
        cause=cause,
        sentence=failure.sentence,
        at=failure.at,
        urgent=rule.urgent,
        task_id=failure.task.id,
        task_name=failure.task.name,
        execution_id=failure.execution_id,
        attempt=failure.attempt,
        error_code=failure.error_code,
        error_message=failure.error_message,
        **counts,
    )


def _latest_of_quotas(events: Sequence[Recorded]) -> dict[tuple[UUID, str], Recorded]:
    """Return the last word about each quota of a tenant."""
    names = (QUOTA_NEAR, QUOTA_NO_LONGER_NEAR)
    return {
        (event.tenant_id, event.data["quota"]): event for event in events if event.name in names
    }


def _of_quotas(quotas: dict[tuple[UUID, str], Recorded], rules: RuleBook) -> Iterator[Finding]:
    for (tenant_id, quota), event in quotas.items():
        rule = rules.rule(tenant_id, AlertKind.QUOTA_NEAR)
        if rule is None or event.name != QUOTA_NEAR:
            continue
        words, data = quota.replace("_", " "), event.data
        yield Finding(
            cause=Cause(tenant_id, rule.kind, subject=quota, rule_id=rule.id),
            sentence=f"{data['used']} of {data['limit']} {words} are used",
            at=event.at,
            urgent=rule.urgent,
        )


def _of_budgets(events: Sequence[Recorded], rules: RuleBook) -> Iterator[Finding]:
    tasks = facts_of({event.subject_id for event in events})
    for event in events:
        task = tasks.get(event.subject_id)
        if task is None:
            continue
        rule = rules.rule(event.tenant_id, AlertKind.BUDGET_EXCEEDED, task)
        if rule is None:
            continue
        data = event.data
        subject = f"{task.id} {data['unit']}"
        yield Finding(
            cause=Cause(event.tenant_id, rule.kind, subject=subject, rule_id=rule.id),
            sentence=f"the budget of {data['limit']} {data['unit']} a {data['per']} is used up",
            at=event.at,
            urgent=rule.urgent,
            task_id=task.id,
            task_name=task.name,
            ends_at=parse_instant(data["resets_at"]),
        )
