"""Services of alert rules: list, make, change, delete. Each change has its audit entry.

A built-in rule exists for each tenant without a row and is at version 1; its first change writes
the row. Open alerts of a rule that is deleted or switched off are closed without a message, because
it judges no longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from events import audit
from notifications.alert_events import CLOSED, append_alert_events
from notifications.alert_kinds import KINDS, Number
from notifications.built_in_rules import built_in_id
from notifications.choices import AlertKind, RuleScope
from notifications.models import Alert, AlertRule, RuleMinute
from shared.actor import Actor
from shared.exceptions import (
    Conflict,
    FieldError,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    VersionMismatch,
)
from shared.hidden_characters import hidden_problem
from shared.ids import parse_uuid
from tasks.definition import WORKFLOW_POOL
from tasks.field_reader import text_problem
from tasks.models import Task
from tenants.models import Tenant

#: Rules of a tenant, besides the built-in ones.
MOST = 200
NAME_LENGTH = 200
VALUE_LENGTH = 520
_KIND = "alert_rule"
_FIELDS = ("name", "kind", "scope", "value", "threshold", "window_seconds", "urgent", "enabled")
#: What a built-in rule lets change.
_OF_BUILT_IN = {"threshold", "window_seconds", "urgent", "enabled"}


class RuleFields(TypedDict, total=False):
    """The fields of a rule that a caller gives; others have defaults, or stay."""

    name: str
    kind: str
    scope: str
    value: str
    threshold: int
    window_seconds: int
    urgent: bool
    enabled: bool


def list_rules(tenant_id: UUID) -> list[AlertRule]:
    """Return the built-in rules in the order of their kinds, then the tenant's own by name."""
    rows = list(AlertRule.objects.filter(tenant_id=tenant_id).order_by("name", "id"))
    changed = {rule.kind: rule for rule in rows if rule.built_in}
    built_in = [
        changed.get(kind) or _built_in(tenant_id, kind)
        for kind, facts in KINDS.items()
        if facts.built_in
    ]
    return [*built_in, *(rule for rule in rows if not rule.built_in)]


def get_rule(tenant_id: UUID, rule_id: UUID) -> AlertRule:
    """Return a rule of the tenant; raise NotFound."""
    found = AlertRule.objects.filter(tenant_id=tenant_id, pk=rule_id).first()
    return found or _built_in_called(tenant_id, rule_id)


@transaction.atomic
def create_rule(tenant_id: UUID, given: RuleFields, *, actor: Actor) -> AlertRule:
    """Make a rule; raise InvalidInput and QuotaExceeded."""
    kind = given.get("kind", "")
    _check_kind(kind)
    facts = KINDS[kind]
    rule = AlertRule(
        tenant_id=tenant_id,
        kind=kind,
        threshold=_default(facts.threshold),
        window_seconds=_default(facts.window),
        urgent=facts.urgent,
    )
    _apply(rule, given)
    # The race: two sessions would each count one less than there is room for.
    Tenant.objects.select_for_update(no_key=True).only("pk").get(pk=tenant_id)
    if AlertRule.objects.filter(tenant_id=tenant_id, built_in=False).count() >= MOST:
        raise QuotaExceeded(f"A tenant has at most {MOST} alert rules of its own.")
    rule.save(force_insert=True)
    rule.refresh_from_db()
    audit.record(tenant_id, actor, "alert_rule.created", _KIND, rule.id, after=_facts(rule))
    return rule


@transaction.atomic
def update_rule(
    tenant_id: UUID,
    rule_id: UUID,
    given: RuleFields,
    *,
    actor: Actor,
    expected_version: int | None = None,
) -> AlertRule:
    """Change a rule; fields left out stay. Raise NotFound, InvalidInput and VersionMismatch.

    A rule that covers other tasks than before, or is switched on again, counts anew.
    """
    rule = _locked(tenant_id, rule_id, expected_version)
    before = _facts(rule)
    _refuse_of_built_in(rule, given)
    if "kind" in given and given["kind"] != rule.kind:
        _refuse("kind", "immutable", "The kind stays; make another rule.")
    _apply(rule, given)
    after = _facts(rule)
    if after == before:
        return rule
    rule.version += 1
    rule.updated_at = Now()
    rule.save()
    if any(before[field] != after[field] for field in ("scope", "value", "enabled")):
        RuleMinute.objects.filter(rule=rule).delete()
    if not rule.enabled:
        _close_alerts(rule)
    rule.refresh_from_db()
    audit.record(tenant_id, actor, "alert_rule.updated", _KIND, rule.id, before, after)
    return rule


@transaction.atomic
def delete_rule(
    tenant_id: UUID, rule_id: UUID, *, actor: Actor, expected_version: int | None = None
) -> None:
    """Delete a rule; raise NotFound, VersionMismatch, and Conflict for a built-in one."""
    rule = _locked(tenant_id, rule_id, expected_version)
    if rule.built_in:
        message = "A built-in rule cannot be deleted; switch it off with enabled: false."
        raise Conflict(message, code="built_in_rule")
    before = _facts(rule)
    _close_alerts(rule)
    rule.delete()
    audit.record(tenant_id, actor, "alert_rule.deleted", _KIND, rule_id, before=before)


def _built_in(tenant_id: UUID, kind: str) -> AlertRule:
    """Return the rule as it is before its first change; it has no times."""
    facts = KINDS[kind]
    times: dict[str, Any] = {"created_at": None, "updated_at": None}
    return AlertRule(
        id=built_in_id(tenant_id, kind),
        tenant_id=tenant_id,
        name=AlertKind(kind).label,
        kind=kind,
        threshold=_default(facts.threshold),
        window_seconds=_default(facts.window),
        urgent=facts.urgent,
        built_in=True,
        **times,
    )


def _built_in_called(tenant_id: UUID, rule_id: UUID) -> AlertRule:
    for kind, facts in KINDS.items():
        if facts.built_in and built_in_id(tenant_id, kind) == rule_id:
            return _built_in(tenant_id, kind)
    raise NotFound("There is no such alert rule.")


def _locked(tenant_id: UUID, rule_id: UUID, expected_version: int | None) -> AlertRule:
    """Return the rule for a change, its row made where it is a built-in one without."""
    # The alerter keeps the rules by which it judges: what it opens meanwhile is seen after it.
    rows = AlertRule.objects.select_for_update()
    rule = rows.filter(tenant_id=tenant_id, pk=rule_id).first()
    if rule is None:
        fresh = _built_in_called(tenant_id, rule_id)
        fresh.created_at, fresh.updated_at = Now(), Now()
        # Of two sessions that make the row, one waits here for the other.
        AlertRule.objects.bulk_create([fresh], ignore_conflicts=True)
        rule = rows.get(tenant_id=tenant_id, pk=rule_id)
    if expected_version is not None and expected_version != rule.version:
        raise VersionMismatch(
            f"The alert rule is at version {rule.version}, not {expected_version}; read it again."
        )
    return rule


def _close_alerts(rule: AlertRule) -> None:
    of_rule = {"rule__isnull": True} if rule.built_in else {"rule": rule}
    found = Alert.objects.filter(
        tenant_id=rule.tenant_id, kind=rule.kind, closed_at__isnull=True, **of_rule
    )
    locked = list(found.select_for_update(no_key=True).order_by("id"))
    ids = [alert.pk for alert in locked]
    Alert.objects.filter(id__in=ids).update(closed_at=Now(), next_notice_at=None)
    append_alert_events(CLOSED, locked)


def _apply(rule: AlertRule, given: RuleFields) -> None:
    """Give the rule the fields; raise InvalidInput with every bad one.

    A rule whose task is gone may be changed in everything else.
    """
    covered = (rule.scope, rule.value)
    if given.get("scope") == RuleScope.ALL and "value" not in given:
        rule.value = ""
    for field, value in given.items():
        setattr(rule, field, value)
    facts = KINDS[rule.kind]
    errors = [
        *_of_name(rule),
        *(_of_scope(rule, facts.takes_scope) if (rule.scope, rule.value) != covered else ()),
        *_of_number("threshold", rule.threshold, facts.threshold, given),
        *_of_number("window_seconds", rule.window_seconds, facts.window, given),
    ]
    if errors:
        raise InvalidInput(errors)


def _of_name(rule: AlertRule) -> list[FieldError]:
    problem = text_problem(rule.name, longest=NAME_LENGTH) or hidden_problem(rule.name)
    return [FieldError("#/name", *problem)] if problem else []


def _of_scope(rule: AlertRule, takes_scope: bool) -> list[FieldError]:
    scope, value = rule.scope, rule.value
    if scope not in RuleScope.values:
        words = ", ".join(RuleScope.values)
        return [FieldError("#/scope", "invalid_choice", f"Give one of {words}.")]
    if scope == RuleScope.ALL:
        message = "A rule of the scope all has no value."
        return [FieldError("#/value", "exclusive", message)] if value else []
    if not takes_scope:
        message = "A rule of this kind is about no tasks; its scope is all."
        return [FieldError("#/scope", "not_of_kind", message)]
    if scope == RuleScope.LABEL:
        key, colon, _ = value.partition(":")
        if problem := text_problem(value, longest=VALUE_LENGTH):
            return [FieldError("#/value", *problem)]
        if key and colon:
            return []
        message = "Give the label as key:value, for instance team:billing."
        return [FieldError("#/value", "invalid", message)]
    return _of_task(rule)


def _of_task(rule: AlertRule) -> list[FieldError]:
    try:
        task_id = parse_uuid(rule.value)
    except ValueError as error:
        return [FieldError("#/value", "invalid", str(error))]
    tasks = Task.objects.filter(tenant_id=rule.tenant_id, deleted_at=None, pk=task_id)
    found = tasks.values_list("pool", flat=True).first()
    if found is None or (found == WORKFLOW_POOL) != (rule.scope == RuleScope.WORKFLOW):
        return [FieldError("#/value", "not_found", f"There is no such {rule.scope}.")]
    rule.value = str(task_id)
    return []


def _of_number(
    name: str, value: int, number: Number | None, given: Mapping[str, Any]
) -> list[FieldError]:
    pointer = f"#/{name}"
    if number is None:
        if value and name in given:
            return [FieldError(pointer, "not_of_kind", "A rule of this kind has no such number.")]
        return []
    if number.least <= value <= number.most:
        return []
    message = f"Give {number.least} to {number.most} {number.meaning}."
    return [FieldError(pointer, "out_of_range", message)]


def _refuse_of_built_in(rule: AlertRule, given: RuleFields) -> None:
    wrong = [
        field
        for field, value in given.items()
        if rule.built_in and field not in _OF_BUILT_IN and getattr(rule, field) != value
    ]
    if wrong:
        message = "A built-in rule keeps this; make a rule of your own."
        raise InvalidInput([FieldError(f"#/{field}", "immutable", message) for field in wrong])


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        _refuse("kind", "invalid_choice", f"Give one of {', '.join(KINDS)}.")


def _refuse(field: str, code: str, message: str) -> None:
    raise InvalidInput([FieldError(f"#/{field}", code, message)], message)


def _default(number: Number | None) -> int:
    return number.default if number else 0


def _facts(rule: AlertRule) -> dict[str, Any]:
    return {field: getattr(rule, field) for field in _FIELDS}
