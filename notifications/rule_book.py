"""The rules of some tenants, read once for a batch: which one judges a task.

Of the rules of one kind that cover a task, the narrowest judges it, so that a condition opens one
alert: a rule of the task, of the workflow, of a label, of all; of several, the oldest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from notifications.alert_kinds import KINDS
from notifications.choices import RuleScope
from notifications.models import AlertRule
from notifications.task_facts import TaskFacts

_BY_WIDTH = (RuleScope.TASK, RuleScope.WORKFLOW, RuleScope.LABEL, RuleScope.ALL)


@dataclass(frozen=True, slots=True)
class Applied:
    """A rule as it judges: ``id`` is None for a built-in one."""

    id: UUID | None
    kind: str
    threshold: int
    window_seconds: int
    urgent: bool


class RuleBook:
    """The enabled rules of tenants, built-in ones included."""

    def __init__(self, rules: Collection[AlertRule]) -> None:
        self._own: dict[tuple[UUID, str], list[AlertRule]] = defaultdict(list)
        self._changed: dict[tuple[UUID, str], AlertRule] = {}
        for rule in sorted(rules, key=lambda one: (_BY_WIDTH.index(RuleScope(one.scope)), one.id)):
            if rule.built_in:
                self._changed[rule.tenant_id, rule.kind] = rule
            elif rule.enabled:
                self._own[rule.tenant_id, rule.kind].append(rule)

    @classmethod
    def of(cls, tenant_ids: Collection[UUID]) -> RuleBook:
        """Read the rules of the tenants."""
        return cls(AlertRule.objects.filter(tenant_id__in=tenant_ids)) if tenant_ids else cls(())

    def rule(self, tenant_id: UUID, kind: str, task: TaskFacts | None = None) -> Applied | None:
        """Return the rule that judges the task, or what is about no task; None where none does."""
        for rule in self._own.get((tenant_id, kind), ()):
            if _covers(rule, task):
                return _applied(rule, rule.id)
        return self._built_in(tenant_id, kind)

    def _built_in(self, tenant_id: UUID, kind: str) -> Applied | None:
        facts = KINDS[kind]
        if not facts.built_in:
            return None
        changed = self._changed.get((tenant_id, kind))
        if changed is not None:
            return _applied(changed, None) if changed.enabled else None
        threshold, window = facts.threshold, facts.window
        return Applied(
            id=None,
            kind=kind,
            threshold=threshold.default if threshold else 0,
            window_seconds=window.default if window else 0,
            urgent=facts.urgent,
        )


def _covers(rule: AlertRule, task: TaskFacts | None) -> bool:
    if rule.scope == RuleScope.ALL:
        return True
    if task is None:
        return False
    if rule.scope == RuleScope.LABEL:
        key, _, value = rule.value.partition(":")
        return task.labels.get(key) == value
    return rule.value == str(task.id)


def _applied(rule: AlertRule, rule_id: UUID | None) -> Applied:
    return Applied(rule_id, rule.kind, rule.threshold, rule.window_seconds, rule.urgent)
