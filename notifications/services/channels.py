"""Services of a tenant's shared channels: make, change and remove one. No function shows its URL.

Each change has its audit entry, without the URL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from events import audit
from notifications.channel_content import Content, read_changes, read_new
from notifications.models import AlertChannel, AlertRule, AlertRuleChannel
from notifications.models.alert_channel import heard_by_default
from shared.actor import Actor
from shared.encryption import open_sealed, seal
from shared.exceptions import (
    Conflict,
    FieldError,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    VersionMismatch,
)
from shared.ids import new_id
from shared.sealing_contexts import alert_channel_context
from tenants.models import Tenant

MOST_CHANNELS = 50
_KIND = "alert_channel"


def list_channels(tenant_id: UUID) -> QuerySet[AlertChannel]:
    """Return the tenant's channels by name, without their sealed URLs, with their rules."""
    found = AlertChannel.objects.filter(tenant_id=tenant_id).defer("sealed_url")
    return found.prefetch_related("rules__rule").order_by("name")


def get_channel(tenant_id: UUID, channel_id: UUID) -> AlertChannel:
    """Return the tenant's channel; raise NotFound for another tenant's."""
    found = list_channels(tenant_id).filter(pk=channel_id).first()
    if found is None:
        raise NotFound("There is no such channel.")
    return found


def open_url(channel: AlertChannel) -> str:
    """Return the channel's URL, for a sender; raise DecryptionFailed where no key opens it."""
    context = alert_channel_context(channel.tenant_id, channel.pk)
    return open_sealed(channel.sealed_url, context).decode()


@transaction.atomic
def create_channel(tenant_id: UUID, body: Mapping[str, Any], *, actor: Actor) -> AlertChannel:
    """Add a channel, which gets every kind but first failures if nothing else is asked.

    Raise InvalidInput, Conflict ``channel_exists`` for a name that is taken, and QuotaExceeded.
    """
    content = read_new(body)
    # The race: two sessions would each count one less than there is room for.
    Tenant.objects.select_for_update(no_key=True).only("pk").get(pk=tenant_id)
    if AlertChannel.objects.filter(tenant_id=tenant_id).count() >= MOST_CHANNELS:
        raise QuotaExceeded(f"A tenant has at most {MOST_CHANNELS} channels.")
    made = AlertChannel(id=new_id(), tenant_id=tenant_id, kind=content.kind or "")
    made.name = content.name or ""
    made.kinds = heard_by_default() if content.kinds is None else content.kinds
    made.after_seconds = content.after_seconds or 0
    _place(made, content)
    _save(made, is_new=True)
    _name_rules(made, content.rules or [])
    audit.record(tenant_id, actor, "alert_channel.created", _KIND, made.id, after=_facts(made))
    return get_channel(tenant_id, made.id)


@transaction.atomic
def change_channel(
    tenant_id: UUID,
    channel_id: UUID,
    body: Mapping[str, Any],
    *,
    actor: Actor,
    expected_version: int | None = None,
) -> AlertChannel:
    """Change a channel; what is left out stays. Owed messages go to the new URL.

    Raise NotFound, InvalidInput, Conflict ``channel_exists`` and VersionMismatch.
    """
    channel = _locked(tenant_id, channel_id)
    content = read_changes(body, channel.kind)
    if expected_version is not None and expected_version != channel.version:
        raise VersionMismatch(
            f"The channel is at version {channel.version}, not {expected_version}; read it again."
        )
    before = _facts(channel)
    if content.name is not None:
        channel.name = content.name
    if content.kinds is not None:
        channel.kinds = content.kinds
    if content.after_seconds is not None:
        channel.after_seconds = content.after_seconds
    if content.rules is not None:
        _name_rules(channel, content.rules)
    _place(channel, content)
    after = _facts(channel)
    if after == before and content.url is None:
        return get_channel(tenant_id, channel_id)
    channel.version += 1
    channel.updated_at = Now()
    _save(channel)
    facts = {**after, "url_replaced": content.url is not None}
    audit.record(tenant_id, actor, "alert_channel.updated", _KIND, channel.id, before, facts)
    return get_channel(tenant_id, channel_id)


@transaction.atomic
def remove_channel(tenant_id: UUID, channel_id: UUID, *, actor: Actor) -> None:
    """Remove a channel with its entries in the delivery log; raise NotFound."""
    channel = _locked(tenant_id, channel_id)
    facts = _facts(channel)
    channel.delete()
    audit.record(tenant_id, actor, "alert_channel.removed", _KIND, channel_id, before=facts)


def _locked(tenant_id: UUID, channel_id: UUID) -> AlertChannel:
    locked = AlertChannel.objects.select_for_update(no_key=True)
    found = locked.filter(tenant_id=tenant_id, pk=channel_id).first()
    if found is None:
        raise NotFound("There is no such channel.")
    return found


def _place(channel: AlertChannel, content: Content) -> None:
    if content.url is None or content.place is None:
        return
    context = alert_channel_context(channel.tenant_id, channel.pk)
    channel.sealed_url = seal(content.url.encode(), context)
    channel.service, channel.host = content.place.service, content.place.host
    channel.failed_at, channel.error = None, ""


def _save(channel: AlertChannel, *, is_new: bool = False) -> None:
    try:
        with transaction.atomic():
            channel.save(force_insert=is_new)
    except IntegrityError as error:
        message = f"There is a channel {channel.name!r} already."
        raise Conflict(message, code="channel_exists") from error


def _name_rules(channel: AlertChannel, rules: Sequence[UUID]) -> None:
    """Make these the rules whose alerts go to the channel; raise InvalidInput for unknown ones."""
    known = AlertRule.objects.filter(tenant_id=channel.tenant_id, built_in=False, pk__in=rules)
    # The race: a rule that is removed meanwhile would fail the commit.
    locked = known.select_for_update(no_key=True).order_by("pk")
    there = set(locked.values_list("pk", flat=True))
    errors = [
        FieldError(f"#/rules/{place}", "rule_unknown", "There is no such rule of the tenant.")
        for place, rule in enumerate(rules)
        if rule not in there
    ]
    if errors:
        raise InvalidInput(errors, errors[0].message)
    AlertRuleChannel.objects.filter(channel=channel).exclude(rule_id__in=rules).delete()
    AlertRuleChannel.objects.bulk_create(
        [AlertRuleChannel(channel=channel, rule_id=rule) for rule in rules], ignore_conflicts=True
    )


def _facts(channel: AlertChannel) -> dict[str, Any]:
    """Return what the audit log keeps of a channel."""
    rules = AlertRuleChannel.objects.filter(channel=channel).order_by("rule_id")
    return {
        "name": channel.name,
        "kind": channel.kind,
        "service": channel.service,
        "host": channel.host,
        "kinds": channel.kinds,
        "after_seconds": channel.after_seconds,
        "rules": [str(rule) for rule in rules.values_list("rule_id", flat=True)],
        "version": channel.version,
    }
