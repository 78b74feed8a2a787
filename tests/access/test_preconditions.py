"""No change passes over what its caller made it depend on: a version, an Idempotency-Key."""

from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.access.operations import OPERATIONS, Operation
from tests.access.stored_rows import StoredRows
from tests.access.world import Caller, World, undone

pytestmark = pytest.mark.django_db
_CHANGES = [one for one in OPERATIONS if one.method != "GET"]
#: What takes no Idempotency-Key: previews, and what has to be asked anew each time.
_WITHOUT_KEY = {"preview_schedule", "preview_edit", "lease_executions", "create_ws_ticket"}


def _id(operation: Operation) -> str:
    return f"{operation.name}-{OPERATIONS.index(operation)}"


@pytest.mark.parametrize("operation", _CHANGES, ids=_id)
def test_a_change_of_another_version_than_if_match_names_is_refused_and_never_made(
    world: World, stored: StoredRows, callers: dict[str, Caller], operation: Operation
):
    answer = operation.ask(world, callers["an owner's key"], "once", if_match='"999999"')

    assert (answer.status_code, answer.json()["code"]) == (412, "version_mismatch")
    assert stored.changed() in ([], _STORED)
    bad = operation.ask(world, callers["an owner's key"], "twice", if_match="newest")
    assert (bad.status_code, bad.json()["errors"][0]["code"]) == (400, "if_match_invalid")


#: The refusal, for a repeat of the call.
_STORED = ["tenants.IdempotencyRecord"]


@pytest.mark.parametrize("operation", _CHANGES, ids=_id)
def test_a_tenant_that_requires_keys_is_refused_every_change_without_one(
    world: World, callers: dict[str, Caller], operation: Operation
):
    with undone():
        Tenant.objects.filter(pk=world.tenant.pk).update(idempotency_required=True)
        answer = operation.ask(world, callers["an owner's key"], None)

    if operation.name in _WITHOUT_KEY:
        assert answer.status_code < 300, answer.content
    else:
        assert (answer.status_code, answer.json()["code"]) == (400, "idempotency_key_missing")
