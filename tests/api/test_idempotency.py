from __future__ import annotations

import threading
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta

import pytest
import time_machine
from django.db import OperationalError, connection
from django.utils import timezone
from rest_framework.response import Response

from api import idempotency
from api.idempotency import ShownOnce, delete_expired_records
from shared.exceptions import Conflict, Forbidden, InvalidInput, QuotaExceeded, Unavailable
from tenants.models import ApiKey, IdempotencyRecord, Tenant
from tests.api import idempotent_probe
from tests.support.api import ApiClient, make_client, make_key, make_tenant
from tests.support.stored_answers import stored_answers
from tests.support.waiting import until

pytestmark = [pytest.mark.urls("tests.api.idempotent_probe"), pytest.mark.django_db]


@pytest.fixture
def script(monkeypatch):
    script = idempotent_probe.Script()
    monkeypatch.setattr(idempotent_probe, "script", script)
    return script


def _raise(error):
    def raising():
        raise error

    return raising


def test_a_key_is_needed_where_something_will_run(client, script):
    response = client.post("/v1/make", {})

    assert (response.status_code, response.json()["code"]) == (400, "idempotency_key_missing")
    assert script.runs == 0


def test_a_tenant_may_need_keys_on_every_change(alpha, client, script):
    assert client.patch("/v1/make", {}).status_code == 200

    Tenant.objects.filter(pk=alpha.pk).update(idempotency_required=True)

    assert client.patch("/v1/make", {}).json()["code"] == "idempotency_key_missing"
    assert client.patch("/v1/make", {}, idempotency_key="k").status_code == 200


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "tab\there", "\xe9", "\x7f"])
def test_a_key_has_1_to_255_visible_characters(client, script, key):
    response = client.post("/v1/make", {}, idempotency_key=key)

    assert (response.status_code, response.json()["code"]) == (400, "idempotency_key_invalid")
    assert script.runs == 0


def test_the_longest_key_is_taken(client, script):
    assert client.post("/v1/make", {}, idempotency_key="~" * 255).status_code == 201


def test_the_same_call_again_gets_the_first_answer_and_runs_nothing(client, script):
    first = client.post("/v1/make", {"a": 1, "b": [1.0]}, idempotency_key="k")
    second = client.post("/v1/make", {"b": [1.0], "a": 1}, idempotency_key="k")

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert first.headers["Location"] == second.headers["Location"] == "/v1/made/1"
    assert first.headers["Content-Type"] == second.headers["Content-Type"] == "application/json"
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert script.runs == 1


def test_an_answer_that_no_key_opens_is_409_and_nothing_runs_again(client, script):
    client.post("/v1/make", {"a": 1}, idempotency_key="k")
    IdempotencyRecord.objects.update(sealed_body=b"\x01")

    response = client.post("/v1/make", {"a": 1}, idempotency_key="k")

    assert (response.status_code, response.json()["code"]) == (409, "decryption_failed")
    assert script.runs == 1


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/make", {"a": 2}),
        ("POST", "/v1/make", {}),
        ("POST", "/v1/make-other", {"a": 1}),
        ("PATCH", "/v1/make", {"a": 1}),
    ],
)
def test_another_call_under_the_same_key_is_422_and_runs_nothing(
    client, script, method, path, body
):
    client.post("/v1/make", {"a": 1}, idempotency_key="k")

    response = client.call(method, path, body, idempotency_key="k")

    assert (response.status_code, response.json()["code"]) == (422, "idempotency_mismatch")
    assert script.runs == 1


@pytest.mark.parametrize("path", ["/v1/make", "/v1/make-together"])
def test_another_api_key_of_the_tenant_gets_no_replay(alpha, client, script, path):
    first = client.post(path, {"name": "x"}, idempotency_key="k")
    assert first.status_code == 201

    for other in (make_client(alpha), make_client(alpha, ["read", "write"])):
        response = other.post(path, {"name": "x"}, idempotency_key="k")

        assert (response.status_code, response.json()["code"]) == (422, "idempotency_mismatch")
    assert client.post(path, {"name": "x"}, idempotency_key="k").content == first.content


@pytest.mark.parametrize("change", [{"scopes": ["read", "write"]}, {"owner": True}])
def test_a_key_whose_rights_have_changed_gets_no_replay(alpha, script, change):
    made, text = make_key(alpha)
    ApiClient(text).post("/v1/make", {}, idempotency_key="k")

    ApiKey.objects.filter(pk=made.pk).update(**change)
    response = ApiClient(text).post("/v1/make", {}, idempotency_key="k")

    assert (response.status_code, response.json()["code"]) == (422, "idempotency_mismatch")
    assert script.runs == 1


def test_what_an_answer_shows_once_is_not_stored(client, script):
    script.before_answer = lambda: ShownOnce({"id": 1, "text": "canary"}, secrets=["text"])

    first = client.post("/v1/make", {}, idempotency_key="k")
    second = client.post("/v1/make", {}, idempotency_key="k")

    assert first.json() == {"id": 1, "text": "canary"}
    assert second.json() == {"id": 1}
    assert "canary" not in stored_answers()


def test_another_tenant_may_use_the_same_key(client, stranger, script):
    first = client.post("/v1/make", {}, idempotency_key="k")
    second = stranger.post("/v1/make", {}, idempotency_key="k")

    assert first.json()["id"] != second.json()["id"]


@pytest.mark.parametrize(
    "refusal", [Conflict(), InvalidInput([]), Response({"code": "x"}, status=409)]
)
def test_a_refusal_undoes_the_change_and_is_given_again(client, script, refusal):
    script.before_answer = (lambda: refusal) if isinstance(refusal, Response) else _raise(refusal)

    first = client.post("/v1/make", {}, idempotency_key="k")
    script.before_answer = lambda: None
    second = client.post("/v1/make", {}, idempotency_key="k")

    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert second.headers["Content-Type"] == "application/problem+json"
    assert script.runs == 1
    assert not Tenant.objects.filter(name__startswith="made").exists()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Forbidden(), 403),
        (QuotaExceeded(), 429),
        (Unavailable(), 503),
        (OperationalError("away"), 503),
        (ZeroDivisionError(), 500),
    ],
)
def test_what_may_turn_out_otherwise_is_not_stored(client, script, error, status):
    script.before_answer = _raise(error)

    first = client.post("/v1/make", {}, idempotency_key="k")
    script.before_answer = lambda: None
    second = client.post("/v1/make", {}, idempotency_key="k")

    assert (first.status_code, second.status_code) == (status, 201)
    assert "Idempotent-Replayed" not in second.headers
    assert Tenant.objects.filter(name__startswith="made").count() == 1


def test_an_answer_is_kept_for_as_long_as_the_tenant_says(alpha, client, script):
    Tenant.objects.filter(pk=alpha.pk).update(idempotency_seconds=48 * 3600)
    client.post("/v1/make", {}, idempotency_key="k")
    now = timezone.now()

    with time_machine.travel(now + timedelta(hours=47)):
        assert client.post("/v1/make", {}, idempotency_key="k").json()["run"] == 1
    with time_machine.travel(now + timedelta(hours=49)):
        assert client.post("/v1/make", {}, idempotency_key="k").json()["run"] == 2


def test_expired_answers_are_deleted_in_bounded_batches(client, script):
    for number in range(3):
        client.post("/v1/make", {}, idempotency_key=f"k{number}")

    assert delete_expired_records() == 0
    with time_machine.travel(timezone.now() + timedelta(hours=25)):
        assert [delete_expired_records(2), delete_expired_records(2)] == [2, 1]


def test_answers_are_sealed_at_rest(client, script):
    response = client.post("/v1/make", {}, idempotency_key="k")

    assert b"canary-text" in response.content
    assert b"canary-text" not in IdempotencyRecord.objects.get().sealed_body


def test_a_long_answer_is_kept_short_and_given_again_as_it_was(client, script):
    script.before_answer = lambda: Response({"results": ["the same"] * 20_000}, status=200)

    first = client.post("/v1/make", {}, idempotency_key="k")
    second = client.post("/v1/make", {}, idempotency_key="k")

    assert len(first.content) > 100_000 > 10 * len(IdempotencyRecord.objects.get().sealed_body)
    assert second.content == first.content
    assert second.headers["Idempotent-Replayed"] == "true"
    assert "Content-Encoding" not in second.headers


@pytest.mark.django_db(transaction=True)
def test_while_the_first_call_runs_the_second_is_409(script):
    client = make_client(make_tenant())
    script.before_answer = script.wait
    answers: list = []
    first = threading.Thread(target=_call, args=(client, answers))
    first.start()
    assert script.entered.wait(120)

    second = client.post("/v1/make", {}, idempotency_key="k")
    other_key = client.patch("/v1/make", {}, idempotency_key="other")
    script.may_answer.set()
    first.join(120)

    assert (second.status_code, second.json()["code"]) == (409, "idempotency_in_progress")
    assert second.headers["Retry-After"] == "1"
    assert other_key.status_code == 200
    assert answers[0].status_code == 201
    third = client.post("/v1/make", {}, idempotency_key="k")
    assert third.content == answers[0].content


@pytest.mark.django_db(transaction=True)
def test_of_many_calls_at_once_exactly_one_runs(script):
    client = make_client(make_tenant())
    answers: list = []
    threads = [threading.Thread(target=_call, args=(client, answers)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert script.runs == 1
    assert set(Counter(answer.status_code for answer in answers)) <= {201, 409}
    assert len({answer.content for answer in answers if answer.status_code == 201}) == 1
    assert Tenant.objects.filter(name__startswith="made").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_crowd_of_a_tenants_changes_waits_in_a_queue_of_its_own(script):
    crowded = make_tenant("Crowded")
    queue = idempotency.queue_of(crowded.id)
    others = (make_tenant(f"Other {number}") for number in range(100))
    elsewhere = next(one for one in others if idempotency.queue_of(one.id) is not queue)
    answers: list = []
    waiting = threading.Thread(target=_call, args=(make_client(crowded), answers))
    with ExitStack() as crowd:
        for _ in range(idempotency._AT_A_TIME):
            crowd.enter_context(queue)
        waiting.start()
        # Nothing public tells who waits.
        until(lambda: queue._cond._waiters or answers)  # type: ignore[attr-defined]  # as said

        answer = make_client(elsewhere).post("/v1/make", {}, idempotency_key="k")

        assert (answer.status_code, answers) == (201, [])
    waiting.join(120)
    assert [answer.status_code for answer in answers] == [201]


@pytest.mark.django_db(transaction=True)
def test_a_process_that_dies_before_the_commit_leaves_nothing(script):
    client = make_client(make_tenant())
    script.before_answer = _raise(SystemExit())

    with pytest.raises(SystemExit):
        client.post("/v1/make", {}, idempotency_key="k")
    script.before_answer = lambda: None
    again = client.post("/v1/make", {}, idempotency_key="k")

    assert again.status_code == 201
    assert Tenant.objects.filter(name__startswith="made").count() == 1


def _call(client, answers):
    try:
        answers.append(client.post("/v1/make", {}, idempotency_key="k"))
    finally:
        connection.close()
