"""Every call that changes a row leaves an audit entry; an exception is named with its reason.

Forms of the console and commands call the same services, which ``test_every_action_has_its_doors``
holds them to.
"""

from __future__ import annotations

import pytest

from events.models import AuditEntry
from tests.access.operations import OPERATIONS, Operation
from tests.access.stored_rows import StoredRows
from tests.access.world import Caller, World, undone

pytestmark = pytest.mark.django_db

#: Operation -> why it has no entry.
WITHOUT_AN_ENTRY = {
    "lease_executions": "the ledger has every lease; a pool that one makes has an entry",
    "act_on_workers": "changes no row, and its entry is in the chain of the installation",
}
#: Rows that tell of a change, or of the call itself.
_BESIDE = {"events.AuditEntry", "events.AuditChain", "events.Event", "tenants.IdempotencyRecord"}
_CHANGES = [one for one in OPERATIONS if one.method != "GET" and one.name not in WITHOUT_AN_ENTRY]


def test_exceptions_are_operations():
    assert set(WITHOUT_AN_ENTRY) <= {operation.name for operation in OPERATIONS}


@pytest.mark.parametrize(
    "operation", _CHANGES, ids=lambda one: f"{one.name}-{OPERATIONS.index(one)}"
)
def test_a_call_that_changes_a_row_has_an_entry(
    world: World, stored: StoredRows, callers: dict[str, Caller], operation: Operation
):
    def entries() -> int:
        return AuditEntry.objects.filter(tenant_id=world.tenant.pk).count()

    with undone():
        count = entries()
        answer = operation.ask(world, callers["an owner's key"], "audited")

        assert answer.status_code < 300, answer.content
        changed = set(stored.changed()) - _BESIDE
        assert not changed or entries() > count, changed
