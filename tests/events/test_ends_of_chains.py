"""The audit log holds on either way of its migration, and goes on behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection

from events import audit
from events.models import AuditChain
from tests.factories import ACTOR, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _with_ends_again() -> Iterator[None]:
    yield
    call_command("migrate", "events", verbosity=0)


def ends() -> list[tuple[str, int]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tenant_id::text, sequence FROM audit_chains ORDER BY 1, 2")
        return list(cursor.fetchall())


def test_chains_hold_on_either_way(settings):
    # Keys came later; the way back forgets which key an entry has.
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={})
    chains = [make_tenant("Alpha").id, make_tenant("Beta").id, audit.INSTALLATION]
    for chain in chains:
        for _ in range(3):
            audit.record(chain, ACTOR, "task.updated", "task", uuid4())
    counts = {str(chain): audit.verify(chain)[0] for chain in chains}
    assert ends() == sorted((chain, end) for chain in counts for end in (0, counts[chain]))

    call_command("migrate", "events", "0004", verbosity=0)

    assert ends() == sorted(counts.items())

    call_command("migrate", "events", verbosity=0)

    assert [audit.verify(chain) for chain in chains] == [
        (counts[str(chain)], None) for chain in chains
    ]
    for chain in chains:
        audit.record(chain, ACTOR, "task.updated", "task", uuid4())
        assert audit.verify(chain) == (counts[str(chain)] + 1, None)
        # Begin and end, however many there have been.
        assert AuditChain.objects.filter(tenant_id=chain).count() == 2
