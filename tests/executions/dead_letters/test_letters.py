from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from executions.dead_letters.letters import (
    archive_dead_letter,
    purge_dead_letter,
    resolve_dead_letter,
    retry_dead_letter,
)
from executions.models import DeadLetter, Execution
from executions.payloads import open_sealed_payload, payload_of
from executions.triggering.triggers import Override
from shared.exceptions import Conflict, InvalidInput, NotFound
from tenants.models import Tenant
from tests.executions.answers import audited, was_audited
from tests.factories import ACTOR, finish, make_dead_letter, release, start

pytestmark = pytest.mark.django_db

CLOSING: dict[str, Callable[[Any, Any], Any]] = {
    "retry": lambda tenant, letter: retry_dead_letter(tenant, letter, None, actor=ACTOR),
    "resolve": lambda tenant, letter: resolve_dead_letter(
        tenant, letter, resolution="fixed", note="", actor=ACTOR
    ),
    "archive": lambda tenant, letter: archive_dead_letter(tenant, letter, note="", actor=ACTOR),
}


def test_a_retry_is_linked_both_ways(alpha: Tenant):
    letter = make_dead_letter(alpha)

    execution = retry_dead_letter(alpha.id, letter.id, None, actor=ACTOR)

    letter.refresh_from_db()
    assert execution.parent_id == letter.execution_id
    assert letter.retry_execution_id == execution.id
    assert (letter.resolution, letter.resolved_by) == ("retried", ACTOR.name)
    assert letter.sealed_edit is None
    assert audited(letter.id, "dead_letter.resolved")["after"] == {
        "resolution": "retried",
        "note": "",
        "retry_execution_id": str(execution.id),
        "edited": False,
    }


def test_a_retry_is_handed_out_with_the_payload_that_failed(alpha: Tenant):
    letter = make_dead_letter(alpha)

    execution = retry_dead_letter(alpha.id, letter.id, None, actor=ACTOR)

    assert payload_of(execution) == {"n": 1}
    (row,) = release()
    assert (row.id, row.attempt, row.max_attempts) == (execution.id, 0, 5)
    assert row.sealed_payload is not None


@pytest.mark.parametrize("payload", [{"n": 2}, None])
def test_the_edit_of_a_retry_is_kept_encrypted(alpha: Tenant, payload: Any):
    letter = make_dead_letter(alpha)

    retry_dead_letter(alpha.id, letter.id, Override(payload), actor=ACTOR)

    letter.refresh_from_db()
    assert letter.sealed_edit is not None
    assert open_sealed_payload(letter.sealed_edit, alpha.id, letter.execution_id) == payload


def test_a_retry_that_fails_makes_a_letter_of_its_own(alpha: Tenant):
    first = make_dead_letter(alpha)
    execution = retry_dead_letter(alpha.id, first.id, Override("edited"), actor=ACTOR)
    (row,) = release()
    start([row])
    finish(row, "FAILED")

    second = DeadLetter.objects.get(execution_id=execution.id)
    again = retry_dead_letter(alpha.id, second.id, None, actor=ACTOR)

    assert payload_of(again) == "edited"


def test_an_execution_past_its_retention_cannot_be_retried(alpha: Tenant):
    letter = make_dead_letter(alpha)
    Execution.objects.filter(pk=letter.execution_id).delete()

    with pytest.raises(Conflict) as caught:
        retry_dead_letter(alpha.id, letter.id, None, actor=ACTOR)

    assert caught.value.code == "execution_not_kept"


@pytest.mark.parametrize("first", CLOSING)
@pytest.mark.parametrize("second", CLOSING)
def test_a_letter_is_closed_once(alpha: Tenant, first: str, second: str):
    letter = make_dead_letter(alpha)
    CLOSING[first](alpha.id, letter.id)
    before = DeadLetter.objects.filter(pk=letter.id).values().get()

    with pytest.raises(Conflict) as caught:
        CLOSING[second](alpha.id, letter.id)

    assert caught.value.code == "already_resolved"
    assert DeadLetter.objects.filter(pk=letter.id).values().get() == before
    audited(letter.id, "dead_letter.resolved")


@pytest.mark.parametrize("word", ["retried", "archived"])
def test_a_person_cannot_say_what_only_the_product_does(alpha: Tenant, word: str):
    letter = make_dead_letter(alpha)

    with pytest.raises(InvalidInput) as caught:
        resolve_dead_letter(alpha.id, letter.id, resolution=word, note="", actor=ACTOR)

    (error,) = caught.value.errors
    assert (error.pointer, error.code) == ("#/resolution", "resolution_reserved")
    assert not was_audited("dead_letter.resolved")


def test_a_purge_leaves_only_the_audit_entry(alpha: Tenant):
    letter = make_dead_letter(alpha)

    purge_dead_letter(alpha.id, letter.id, actor=ACTOR)

    assert not DeadLetter.objects.exists()
    assert audited(letter.id, "dead_letter.purged")["actor"] == ACTOR.name


@pytest.mark.parametrize(
    "call", [*CLOSING.values(), lambda t, id: purge_dead_letter(t, id, actor=ACTOR)]
)
def test_another_tenants_letter_is_not_found(
    alpha: Tenant, beta: Tenant, call: Callable[[Any, Any], Any]
):
    letter = make_dead_letter(alpha)

    with pytest.raises(NotFound):
        call(beta.id, letter.id)
    with pytest.raises(NotFound):
        call(alpha.id, uuid4())

    assert not DeadLetter.objects.get().resolved
