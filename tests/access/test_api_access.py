"""Every call of the API by every kind of credentials: who is refused, and what is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from shared import execution_tokens
from tests.access.operations import BY_TOKEN, OPERATIONS, Operation
from tests.access.rights import OWN_TOKEN
from tests.access.stored_rows import StoredRows
from tests.access.world import (
    SEEN_BY_ADMINS,
    SEEN_BY_NONE,
    SEEN_BY_READERS,
    Caller,
    World,
    undone,
)
from tests.support.api import ApiClient
from tests.support.stored_answers import stored_answers

pytestmark = pytest.mark.django_db

#: How texts of ours begin that open or prove something.
_SECRETS = ("whsec_", '"key":"pk_')
#: Refused status -> what a problem calls it.
_CODES = {
    401: ("not_authenticated",),
    403: ("forbidden", "tenant_suspended", "address_not_allowed", "payloads_hidden"),
    404: ("not_found",),
}
#: Ids of nothing, among them of a time that no calendar has, and a text that is no id.
_UNKNOWN = (
    "01a1fa7a-b5a5-75e2-b563-27366f1a90a5",
    "00000000-0000-7000-8000-000000000000",
    "ffffffff-ffff-7fff-bfff-ffffffffffff",
    "700000007",
)


def _id(operation: Operation) -> str:
    return f"{operation.name}-{OPERATIONS.index(operation)}"


def test_every_operation_of_the_document_is_in_the_table():
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    documented = {found["operationId"] for calls in paths.values() for found in calls.values()}

    assert {operation.name for operation in (*OPERATIONS, *BY_TOKEN)} == documented


@pytest.mark.parametrize("operation", OPERATIONS, ids=_id)
def test_a_call_is_made_with_its_rights_only_and_shows_what_they_may_see(
    world: World, stored: StoredRows, callers: dict[str, Caller], operation: Operation
):
    served = [kind for kind, caller in callers.items() if operation.answer(caller) < 400]
    refused = [kind for kind in callers if kind not in served]
    # Refusals change nothing, so that one look is enough behind all of them.
    for kinds in (refused, *([kind] for kind in served)):
        with undone():
            for kind in kinds:
                answer = operation.ask(world, callers[kind], kind.replace(" ", "-"))
                said = f"{kind}: {answer.status_code} {answer.content!r}"
                _judge(operation, callers[kind], answer, said)
            kept = stored_answers()
            assert [text for text in _SECRETS if text in kept] == [], kinds
            if kinds is refused or callers[kinds[0]].foreign:
                assert stored.changed() == [], kinds


@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if "{" in one.call and one.foreign == 404], ids=_id
)
def test_what_is_not_there_is_404(
    world: World, stored: StoredRows, callers: dict[str, Caller], operation: Operation
):
    for number, unknown in enumerate(_UNKNOWN):
        nowhere = replace(world, ids=dict.fromkeys(world.ids, unknown))
        with undone():
            answer = operation.ask(nowhere, callers["an owner's key"], f"nowhere-{number}")
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), unknown
            # The refusal is what the key stands for from now on.
            assert set(stored.changed()) <= {"tenants.IdempotencyRecord"}


@pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if one.method != "GET" and one.has_checks_inside],
    ids=_id,
)
def test_a_repeat_under_the_same_idempotency_key_checks_the_rights_again(
    world: World, callers: dict[str, Caller], operation: Operation
):
    first = operation.ask(world, callers["an owner's key"], "once")
    assert first.status_code < 300, first.content

    for kind, caller in callers.items():
        if kind != "an owner's key" and not operation.permits(caller):
            again = operation.ask(world, caller, "once")
            assert again.status_code in (401, 403, 404, 422), f"{kind}: {again.content!r}"


@pytest.mark.parametrize("operation", BY_TOKEN, ids=lambda operation: operation.name)
def test_no_key_does_what_the_executions_own_token_is_for(
    world: World, stored: StoredRows, callers: dict[str, Caller], operation: Operation
):
    other = execution_tokens.make(str(world.ids["execution_id"]), 1)
    path = world.path(operation.call.split()[1])

    for kind, caller in callers.items():
        if kind != OWN_TOKEN:
            assert operation.ask(world, caller, "x").status_code == 401, kind
    strange = ApiClient().post(path, operation.body, x_execution_token=other)
    assert strange.status_code == 401
    assert stored.changed() == []
    own = ApiClient().post(path, operation.body, x_execution_token=world.token)
    assert own.status_code in (200, 409), own.content


def _judge(operation: Operation, caller: Caller, answer: Any, said: str) -> None:
    shown = answer.content.decode()
    wanted = operation.answer(caller)
    assert answer.status_code == wanted or (wanted == 200 and answer.status_code < 300), said
    if codes := _CODES.get(answer.status_code):
        assert answer.json()["code"] in codes, said
    assert SEEN_BY_NONE not in shown, said
    if caller.foreign or not _may_see(operation, caller):
        assert SEEN_BY_READERS not in shown, said
        assert SEEN_BY_ADMINS not in shown, said
    if not (caller.owner and operation.permits(caller)):
        assert "whsec_" not in shown, said


def _may_see(operation: Operation, caller: Caller) -> bool:
    """Return whether the answer may show rows to the caller: who may read may see what it reads."""
    if not operation.permits(caller):
        return False
    return not operation.is_change or operation.seen_with in caller.scopes
