from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from executions.models import Attempt, DeadLetter, Execution
from executions.payloads import (
    open_sealed_payload,
    payload_of,
    payloads_of_letters,
    response_of,
    seal_payload,
)
from executions.triggering.triggers import Override, run_task
from shared.encryption import DecryptionFailed
from tenants.models import Tenant
from tests.executions.answers import sealed_answer
from tests.factories import (
    ACTOR,
    finish,
    make_dead_letter,
    make_execution,
    make_task,
    once,
    release,
)

pytestmark = pytest.mark.django_db


def fail_all() -> None:
    for row in release():
        finish(row, "FAILED")


def run(tenant: Tenant, payload: Any) -> Execution:
    return run_task(tenant.id, make_task(tenant).id, Override(payload), actor=ACTOR)


@pytest.mark.parametrize("payload", [{"a": [1, None]}, None, "x", 0, []])
def test_a_sealed_payload_opens_for_its_execution_only(payload: Any):
    tenant, owner = uuid4(), uuid4()
    sealed = seal_payload(payload, tenant, owner)

    assert open_sealed_payload(memoryview(sealed), tenant, owner) == payload
    with pytest.raises(DecryptionFailed):
        open_sealed_payload(sealed, tenant, uuid4())


def test_an_execution_sends_the_payload_of_its_version(alpha: Tenant):
    assert payload_of(make_execution(alpha, body=once(payload="mine"))) == "mine"


@pytest.mark.parametrize("payload", ["own", None])
def test_a_payload_of_its_own_goes_before_that_of_the_task(alpha: Tenant, payload: Any):
    assert payload_of(run(alpha, payload)) == payload


def test_letters_have_the_payload_that_failed(alpha: Tenant):
    shared = make_dead_letter(alpha, once(payload="of the task"))
    run(alpha, "of the run")
    run(alpha, None)
    fail_all()
    letters = list(DeadLetter.objects.order_by("id"))

    found = payloads_of_letters(letters)

    assert found.keys() == {letter.id for letter in letters}
    assert found[shared.id] == ("of the task", True)
    assert sorted(str(one.payload) for one in found.values()) == [
        "None",
        "of the run",
        "of the task",
    ]


def test_letters_are_opened_in_a_fixed_number_of_queries(
    alpha: Tenant, django_assert_num_queries: Any
):
    letters = [make_dead_letter(alpha) for _ in range(4)]

    with django_assert_num_queries(1):
        payloads_of_letters(letters)
    with django_assert_num_queries(0):
        assert payloads_of_letters([]) == {}


def test_a_letter_keeps_its_payload_when_its_execution_is_gone(alpha: Tenant):
    run(alpha, "own")
    make_execution(alpha)
    fail_all()
    Execution.objects.all().delete()

    found = payloads_of_letters(DeadLetter.objects.all())

    assert sorted(str(one.payload) for one in found.values()) == ["own", "{'n': 1}"]


def attempt(execution_id: UUID, sealed: bytes | None) -> Attempt:
    return Attempt(execution_id=execution_id, response_status=502, sealed_response=sealed)


def test_a_captured_answer_is_opened_as_text():
    owner = uuid4()
    sealed = sealed_answer(owner, b"caf\xc3\xa9 \xff\x00", [["A", "1"], ["A", "2"]])

    assert response_of(attempt(owner, sealed)) == {
        "status": 502,
        "headers": [("A", "1"), ("A", "2")],
        "body": "café �\x00",
        "truncated": False,
    }


def test_an_attempt_without_an_answer_has_none():
    assert response_of(attempt(uuid4(), None)) is None
