from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from executions.models import BulkJob, DeadLetter
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.bulk.bulk import counts, run_job
from tests.factories import ApiClient, make_dead_letter, once

URL = "/v1/dlq/actions"


def act(client: ApiClient, action: str = "retry", key: str = "1", **body: Any) -> Any:
    wanted = {"action": action, "filter": {}, **body}
    return client.post(URL, wanted, idempotency_key=key)


def test_a_retry_of_all_that_matches_is_a_job(client: ApiClient, alpha: Tenant):
    wanted = make_dead_letter(alpha, once(name="Wanted"))
    make_dead_letter(alpha)

    answer = act(client, filter={"q": "wanted"}, name="Mend", rate_per_second=10, expected_count=1)

    assert answer.status_code == 202, answer.content
    shown = answer.json()
    assert answer["Location"] == f"/v1/bulk-jobs/{shown['id']}"
    assert (shown["total"], shown["status"], shown["name"]) == (1, "PENDING", "Mend")
    assert shown["options"] == {"rate_per_second": 10}
    assert counts(run_job(BulkJob.objects.get(pk=shown["id"]))) == (1, 0, 0)
    wanted.refresh_from_db()
    assert wanted.resolution == "retried"


@pytest.mark.parametrize(
    ("action", "options"),
    [
        ("retry", {"canary": 1, "stop_on_failure_rate": 0.1, "payload": None}),
        ("resolve", {"resolution": "moot", "note": ""}),
        ("archive", {"note": "Old."}),
        ("purge", {}),
    ],
)
def test_every_action_takes_its_options(
    client: ApiClient, alpha: Tenant, action: str, options: dict[str, Any]
):
    make_dead_letter(alpha)

    answer = act(client, action, **options)

    assert answer.status_code == 202, answer.content
    job = run_job(BulkJob.objects.get(pk=UUID(answer.json()["id"])))
    assert (job.action, counts(job)) == (action, (1, 0, 0))


def test_a_dry_run_counts_and_changes_nothing(client: ApiClient, alpha: Tenant):
    letters = [make_dead_letter(alpha) for _ in range(6)]

    answer = act(client, dry_run=True)

    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["count"], shown["tasks"]) == (6, 6)
    assert shown["oldest"] <= shown["newest"]
    assert [row["id"] for row in shown["sample"]] == [str(letter.id) for letter in letters[:5]]
    assert not BulkJob.objects.exists()
    assert not DeadLetter.objects.filter(resolved=True).exists()


def test_a_dry_run_of_nothing_counts_zero(client: ApiClient):
    answer = act(client, dry_run=True)

    assert answer.json() == {"count": 0, "oldest": None, "newest": None, "tasks": 0, "sample": []}


def test_another_count_than_expected_is_409(client: ApiClient, alpha: Tenant):
    make_dead_letter(alpha)

    answer = act(client, expected_count=2)

    assert problem(answer) == (409, "scope_changed")
    assert "1 rows match now, not 2" in answer.json()["detail"]
    assert not BulkJob.objects.exists()


def test_nothing_to_act_on_is_400(client: ApiClient):
    assert problem(act(client)) == (400, "nothing_matches")


def test_the_same_key_makes_one_job(client: ApiClient, alpha: Tenant):
    make_dead_letter(alpha)

    first, second = act(client), act(client)

    assert first.content == second.content
    assert BulkJob.objects.count() == 1
    assert problem(act(client, "archive")) == (422, "idempotency_mismatch")


def test_the_key_is_required(client: ApiClient):
    answer = client.post(URL, {"action": "retry", "filter": {}})

    assert problem(answer) == (400, "idempotency_key_missing")


@pytest.mark.parametrize(
    "body",
    [
        {"action": "retry"},
        {"filter": {}},
        {"action": "pause", "filter": {}},
        {"action": "retry", "filter": {"tasks": 1}},
        {"action": "retry", "filter": {"ids": ["x"]}},
        {"action": "retry", "filter": {"resolved": "no"}},
        {"action": "retry", "filter": []},
        {"action": "retry", "filter": {}, "canry": 1},
        {"action": "retry", "filter": {}, "canary": 0},
        {"action": "retry", "filter": {}, "rate_per_second": 0.01},
        {"action": "retry", "filter": {}, "stop_on_failure_rate": 2},
        {"action": "archive", "filter": {}, "canary": 1},
        {"action": "archive", "filter": {}, "canary": 1, "dry_run": True},
        {"action": "resolve", "filter": {}, "resolution": "retried"},
        {"action": "retry", "filter": {}, "dry_run": 1},
        {"action": "retry", "filter": {}, "name": "x" * 201},
        [],
        b"{",
    ],
)
def test_wrong_bodies_are_refused(client: ApiClient, alpha: Tenant, body: Any):
    make_dead_letter(alpha)

    answer = client.post(URL, body, idempotency_key="1")

    assert answer.status_code == 400, answer.content
    assert not BulkJob.objects.exists()


def test_a_payload_over_the_limit_is_413(client: ApiClient, alpha: Tenant):
    make_dead_letter(alpha)

    assert problem(act(client, payload="x" * 262144)) == (413, "too_large")


def test_another_tenants_letters_are_not_matched(stranger: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    answer = act(stranger, filter={"ids": [str(letter.id), str(uuid4())]})

    assert problem(answer) == (400, "nothing_matches")
