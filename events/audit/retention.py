"""Removes the begin of audit chains that is older than AUDIT_RETENTION_DAYS; by default nothing.

A *checkpoint*, an entry ``audit.forgotten`` at the end of the chain, states how far the removal
goes and the code of the last removed entry. The chain verifies from there on, and the database
lets no other entries go. What does not verify is not removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from uuid import UUID

from django.db import transaction

from events.audit.verifying import FORGOTTEN, begin_of, examine_entries
from events.audit.writing import record
from events.models import AuditChain, AuditEntry
from shared.actor import SYSTEM
from shared.conf import conf
from shared.sql import rows

#: Entries that one transaction removes of a chain at most.
_AT_ONCE = 5000
#: Transactions of a pass for each chain at most, so that a busy chain does not grow for ever.
_TIMES = 20
#: A checkpoint is an entry itself: one a day, unless much is left.
_EVERY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The result for one chain: how many entries went, or the first that does not verify."""

    tenant_id: UUID
    removed: int = 0
    breaks_at: int | None = None


def forget_old_entries(now: datetime) -> list[Forgotten]:
    """Remove old entries of every chain; return the chains of which any were old."""
    days = conf().audit_retention_days
    if not days:
        return []
    before = now - timedelta(days=days)
    found = (_forget_in_parts(chain, before) for chain in list(_chains()))
    return [one for one in found if one is not None]


def _forget_in_parts(tenant_id: UUID, before: datetime) -> Forgotten | None:
    removed, found = 0, None
    for _ in range(_TIMES):
        one = _forget(tenant_id, before)
        if one is None:
            break
        removed += one.removed
        found = Forgotten(tenant_id, removed, one.breaks_at)
        if one.removed < _AT_ONCE:
            break
    return found


@transaction.atomic
def _forget(tenant_id: UUID, before: datetime) -> Forgotten | None:
    begin = begin_of(tenant_id)
    entries = AuditEntry.objects.filter(tenant_id=tenant_id)
    first = entries.filter(sequence=begin.sequence + 1).first()
    if first is None or first.at >= before - _EVERY:
        return None
    # The last entry stays, however old it is.
    oldest = entries.filter(sequence__lt=_end(tenant_id)).order_by("sequence")[:_AT_ONCE]
    going = list(takewhile(lambda entry: entry.at < before, oldest))
    if not going:
        return None
    last = going[-1].sequence
    verdict = examine_entries(tenant_id, iter(going), begin)
    if verdict.fault is not None:
        return Forgotten(tenant_id, breaks_at=verdict.breaks_at)
    facts = {"through": last, "code": bytes(going[-1].hash).hex()}
    record(tenant_id, SYSTEM, FORGOTTEN, "audit", tenant_id, after=facts)
    removed = int(rows("audit/forget", {"tenant": tenant_id, "last": last})[0][0])
    return Forgotten(tenant_id, removed)


def _chains() -> Iterator[UUID]:
    chains = AuditChain.objects.filter(sequence__gt=0)
    yield from chains.values_list("tenant_id", flat=True).distinct()


def _end(tenant_id: UUID) -> int:
    chain = AuditChain.objects.filter(tenant_id=tenant_id).order_by("-sequence").first()
    return chain.sequence if chain else 0
