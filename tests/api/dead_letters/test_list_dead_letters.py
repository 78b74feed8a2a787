from __future__ import annotations

from typing import Any

import pytest

from executions.dead_letters.letters import archive_dead_letter, resolve_dead_letter
from executions.models import DeadLetter, Execution
from tenants.models import Tenant
from tests.executions.answers import problem, sealed_answer
from tests.factories import (
    ACTOR,
    ApiClient,
    finish,
    make_dead_letter,
    make_execution,
    once,
    release,
    start,
)
from tests.support.command_calls import call
from tests.support.command_documents import read_document

URL = "/v1/dlq"
FIELDS = {
    *("id", "execution_id", "task_id", "error", "error_signature", "payload", "attempts"),
    *("last_response", "resolved", "resolution", "note", "resolved_by", "resolved_at"),
    *("retry_execution_id", "created_at"),
}


def letters(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["dead_letters"]
    return found


def ids(answer: Any) -> list[str]:
    return [letter["id"] for letter in letters(answer)]


def fail(tenant: Tenant, body: Any = None, **parts: Any) -> DeadLetter:
    """Return the letter of an execution that failed as told."""
    execution = make_execution(tenant, body=body or once())
    (row,) = release()
    start([row])
    parts.setdefault("sealed_response", sealed_answer(execution.id))
    finish(row, "FAILED", **parts)
    return DeadLetter.objects.get(execution_id=execution.id)


def test_letters_are_listed_newest_first_with_every_field(client: ApiClient, alpha: Tenant):
    first, second = fail(alpha), fail(alpha, once(payload=None))

    answer = client.get(URL)

    shown = letters(answer)
    assert [letter["id"] for letter in shown] == [str(second.id), str(first.id)]
    assert all(set(letter) == FIELDS for letter in shown)
    assert [letter["payload"] for letter in shown] == [None, {"n": 1}]
    letter = shown[1]
    assert letter["execution_id"] == str(first.execution_id)
    assert letter["error"] == {"code": "http_status", "message": "The answer was 500."}
    assert letter["error_signature"] == "http_status:500"
    assert [attempt["number"] for attempt in letter["attempts"]] == [1]
    assert letter["last_response"]["body"] == "no"
    assert (letter["resolved"], letter["resolution"], letter["resolved_at"]) == (False, None, None)
    assert answer.json()["pagination"]["total"] == 2


def test_letters_are_filtered_by_whether_they_are_resolved(client: ApiClient, alpha: Tenant):
    done, left = make_dead_letter(alpha), make_dead_letter(alpha)
    client.post(f"{URL}/{done.id}/resolve")

    assert ids(client.get(f"{URL}?resolved=true")) == [str(done.id)]
    assert ids(client.get(f"{URL}?resolved=false")) == [str(left.id)]
    assert len(ids(client.get(URL))) == 2


def test_letters_are_filtered_by_task_and_cause(client: ApiClient, alpha: Tenant):
    one = fail(alpha)
    other = fail(alpha, error_code="dns_failed", response_status=None)

    assert ids(client.get(f"{URL}?task={one.task_id}")) == [str(one.id)]
    assert ids(client.get(f"{URL}?error_signature=dns_failed")) == [str(other.id)]
    assert ids(client.get(f"{URL}?error_signature=dns")) == []


@pytest.mark.parametrize("q", ["nightly", "BILLING", "refused by", "connection_ref", "on it"])
def test_letters_are_searched_in_names_labels_errors_and_notes(
    client: ApiClient, alpha: Tenant, q: str
):
    found = fail(
        alpha,
        once(name="Nightly job", labels={"team": "billing"}),
        error_code="connection_refused",
        error_message="Refused by the host.",
    )
    client.post(f"{URL}/{found.id}/archive", {"note": "Ann is on it"})
    fail(alpha)

    assert ids(client.get(f"{URL}?q={q}")) == [str(found.id)]


def test_letters_go_on_by_cursor_and_by_page(client: ApiClient, alpha: Tenant):
    expected = [str(make_dead_letter(alpha).id) for _ in range(3)]

    first = client.get(f"{URL}?limit=2&ordering=created_at")
    cursor = first.json()["pagination"]["next_cursor"]
    second = client.get(f"{URL}?limit=2&ordering=created_at&cursor={cursor}")

    assert ids(first) + ids(second) == expected
    assert second.json()["pagination"]["next_cursor"] is None
    assert ids(client.get(f"{URL}?limit=2&page=2")) == expected[:1]


def test_letters_are_grouped_by_cause_most_first(client: ApiClient, alpha: Tenant):
    task_id = fail(alpha, error_code="dns_failed", response_status=None).task_id
    for _ in range(2):
        fail(alpha)

    answer = client.get(f"{URL}?group_by=error_signature")

    many, one = answer.json()["groups"]
    assert (many["error_signature"], many["count"], many["tasks"]) == ("http_status:500", 2, 2)
    assert many["first_seen"] <= many["last_seen"]
    assert (one["error_signature"], one["count"]) == ("dns_failed", 1)
    assert answer.json()["pagination"] == {
        "limit": 20,
        "page": 1,
        "total": 2,
        "total_estimated": False,
        "next_cursor": None,
    }
    page = client.get(f"{URL}?group_by=error_signature&limit=1&page=2").json()
    assert [group["error_signature"] for group in page["groups"]] == ["dns_failed"]
    only = client.get(f"{URL}?group_by=error_signature&task={task_id}").json()
    assert [group["error_signature"] for group in only["groups"]] == ["dns_failed"]


def test_a_letter_outlives_its_execution(client: ApiClient, alpha: Tenant):
    letter = fail(alpha)
    Execution.objects.filter(pk=letter.execution_id).delete()

    (shown,) = letters(client.get(URL))

    assert (shown["id"], shown["error_signature"]) == (str(letter.id), "http_status:500")
    assert client.get(f"{URL}/{letter.id}").status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        "resolved=yes",
        "resolved=",
        "task=x",
        "group_by=task",
        "group_by=error_signature&cursor=x",
        "ordering=id",
        "limit=0",
        "status=FAILED",
        "error_signature=%00",
    ],
)
def test_wrong_parameters_are_refused(client: ApiClient, query: str):
    answer = client.get(f"{URL}?{query}")

    assert problem(answer) == (400, "invalid")
    assert answer.json()["errors"]


def test_another_tenant_sees_none_of_them(stranger: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    assert ids(stranger.get(URL)) == []
    assert ids(stranger.get(f"{URL}?task={letter.task_id}")) == []
    assert stranger.get(f"{URL}?group_by=error_signature").json()["groups"] == []


def test_a_page_costs_the_same_number_of_queries_at_any_length(
    client: ApiClient, alpha: Tenant, django_assert_max_num_queries: Any
):
    for _ in range(5):
        make_dead_letter(alpha)

    # The paths of masked fields, and the audit entry of the reading, are one each.
    with django_assert_max_num_queries(9):
        assert len(ids(client.get(URL))) == 5


def test_letters_are_filtered_by_the_word_that_resolved_them(client: ApiClient, alpha: Tenant):
    letters = {
        word: resolved(alpha, word) for word in ("fixed", "not_needed", "archived", "my-own-word")
    }
    make_dead_letter(alpha)

    for word, letter in letters.items():
        shown = client.get(f"/v1/dlq?resolution={word}").json()
        said = call("dlq", "list", "--resolved-as", word, "--json").out
        assert [one["id"] for one in shown["dead_letters"]] == [str(letter.id)]
        listed = read_document("dlq-list", said)["dead_letters"]
        assert [one["id"] for one in listed] == [str(letter.id)]
    assert client.get("/v1/dlq?resolution=fix").json()["dead_letters"] == []
    assert client.get("/v1/dlq?resolution=fixed&resolved=false").json()["dead_letters"] == []
    groups = client.get("/v1/dlq?resolution=fixed&group_by=error_signature").json()["groups"]
    assert [group["count"] for group in groups] == [1]
    assert client.get(f"/v1/dlq?resolution={'x' * 41}").status_code == 400
    assert call("dlq", "list", "--resolved-as", "fixed", "--status", "open").code == 2
    assert call("dlq", "list", "--resolved-as", "fixed", "--status", "all", "--json").code == 0


def test_an_action_takes_the_letters_that_a_word_resolved(client: ApiClient, alpha: Tenant):
    resolved(alpha, "fixed")
    resolved(alpha, "archived")

    body = {"action": "purge", "filter": {"resolution": "archived"}, "dry_run": True}
    shown = client.post("/v1/dlq/actions", body, idempotency_key="1").json()
    said = call("dlq", "purge", "--resolved-as", "archived", "--dry-run", "--json").out

    assert shown["count"] == 1, shown
    assert read_document("dlq-purge", said)["scope"]["count"] == 1


def resolved(tenant: Tenant, word: str) -> DeadLetter:
    letter = make_dead_letter(tenant)
    if word == "archived":
        return archive_dead_letter(tenant.id, letter.id, note="", actor=ACTOR)
    return resolve_dead_letter(tenant.id, letter.id, resolution=word, note="", actor=ACTOR)
