"""Somebody who is the owner of the database and gets around its triggers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

from django.db import connection

from events import audit
from events.audit import links
from events.models import AuditChain, AuditEntry
from tests.factories import ACTOR


def make_chain(length: int) -> UUID:
    """Return a new chain with so many entries."""
    chain = uuid4()
    for number in range(length):
        audit.record(chain, ACTOR, "task.updated", "task", uuid4(), {"n": 0}, {"n": number})
    return chain


def entries_of(chain: UUID) -> list[AuditEntry]:
    """Return the entries by number."""
    return list(AuditEntry.objects.filter(tenant_id=chain).order_by("sequence"))


@contextmanager
def without_triggers() -> Iterator[None]:
    """Let every change of the log pass."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        try:
            yield
        finally:
            cursor.execute("SET session_replication_role = origin")


def change(entry: AuditEntry, **fields: Any) -> None:
    """Change columns of an entry."""
    with without_triggers():
        AuditEntry.objects.filter(pk=entry.pk).update(**fields)


def cut_off(chain: UUID, last: int) -> None:
    """Remove the entries behind a number, and put the end of the chain there."""
    code = entries_of(chain)[last - 1].hash
    with without_triggers():
        AuditEntry.objects.filter(tenant_id=chain, sequence__gt=last).delete()
        ends = AuditChain.objects.filter(tenant_id=chain, sequence__gt=0)
        ends.update(sequence=last, hash=code)


def remove_chain(chain: UUID) -> None:
    """Remove all of a chain, its end as well."""
    with without_triggers():
        AuditEntry.objects.filter(tenant_id=chain).delete()
        AuditChain.objects.filter(tenant_id=chain).delete()


def chain_anew(chain: UUID, *, plain: bool) -> None:
    """Give all entries new numbers and codes: plain ones, or of a key that was made up."""
    previous = links.START
    with without_triggers():
        for sequence, entry in enumerate(entries_of(chain), start=1):
            entry.sequence = sequence
            key = b"" if plain else hashlib.sha256(b"guessed").digest()
            previous = links.code(previous, entry, key)
            AuditEntry.objects.filter(pk=entry.pk).update(sequence=sequence, hash=previous)
            if plain:
                AuditEntry.objects.filter(pk=entry.pk).update(key_id="")
        ends = AuditChain.objects.filter(tenant_id=chain, sequence__gt=0)
        ends.update(sequence=sequence, hash=previous)


def forget_chains() -> None:
    """Remove the chains that are there already, for a test of all chains."""
    with without_triggers():
        AuditEntry.objects.all().delete()
        AuditChain.objects.all().delete()
