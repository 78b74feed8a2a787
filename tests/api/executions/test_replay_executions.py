from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from shared.instants import format_instant
from tenants.models import Tenant
from tests.executions.bulk.bulk import counts, run_job
from tests.factories import ApiClient, make_execution, make_tenant

URL = "/v1/executions/replay"


def around() -> dict[str, str]:
    now = database_now()
    day = timedelta(days=1)
    return {"since": format_instant(now - day), "until": format_instant(now + day)}


def replay(client: ApiClient, key: str = "1", **body: Any) -> Any:
    return client.post(URL, {"filter": around(), **body}, idempotency_key=key)


def ran(answer: Any) -> BulkJob:
    assert answer.status_code == 202, answer.content
    return run_job(BulkJob.objects.get(pk=answer.json()["id"]))


def made() -> set[Any]:
    return set(
        Execution.objects.filter(parent_id__isnull=False).values_list("parent_id", flat=True)
    )


def test_what_ran_in_a_range_runs_again_linked_to_its_originals(client: ApiClient, alpha: Tenant):
    ended = [make_execution(alpha, "SUCCEEDED"), make_execution(alpha, "FAILED")]
    for status in ("PENDING", "CANCELLED"):
        make_execution(alpha, status)
    make_execution(make_tenant("Gamma"), "SUCCEEDED")

    job = ran(replay(client))

    assert (counts(job), made()) == ((2, 0, 0), {row.id for row in ended})
    assert job.options == {"rate_per_second": 10.0}
    again = Execution.objects.get(parent_id=ended[0].id)
    assert (again.scheduled_for, again.status) == (ended[0].scheduled_for, "PENDING")
    assert Execution.objects.get(pk=ended[0].id).status == "SUCCEEDED"


def test_a_range_that_is_replayed_again_does_not_double(client: ApiClient, alpha: Tenant):
    make_execution(alpha, "SUCCEEDED")
    ran(replay(client))
    Execution.objects.filter(parent_id__isnull=False).update(
        status="SUCCEEDED", finished_at=database_now()
    )

    assert counts(ran(replay(client, "2"))) == (1, 0, 0)
    assert Execution.objects.count() == 3


def test_a_dry_run_answers_the_count_and_a_sample_and_makes_nothing(
    client: ApiClient, alpha: Tenant
):
    row = make_execution(alpha, "FAILED")
    make_execution(alpha, "SUCCEEDED")

    shown = replay(client, dry_run=True, filter={**around(), "status": ["FAILED"]})

    assert (shown.status_code, shown.json()["count"]) == (200, 1)
    assert [one["id"] for one in shown.json()["sample"]] == [str(row.id)]
    assert not BulkJob.objects.exists()


def test_the_same_key_makes_one_job_and_none_is_refused(client: ApiClient, alpha: Tenant):
    row = make_execution(alpha, "SUCCEEDED")
    body = {"filter": {"ids": [str(row.id)]}}

    first, again = (client.post(URL, body, idempotency_key="1") for _ in range(2))

    assert first.json()["id"] == again.json()["id"]
    assert client.post(URL, body).status_code == 400
    assert BulkJob.objects.count() == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"filter": {}},
        {"filter": {"since": "2026-11-20T00:00:00Z"}},
        {"filter": {"until": "2026-11-20T00:00:00Z"}},
        {"filter": {"since": "2026-11-21T00:00:00Z", "until": "2026-11-20T00:00:00Z"}},
        {"rate_per_second": 0},
        {"payload": {}},
        {"action": "cancel"},
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_replay_without_a_range_or_with_a_wrong_option_makes_nothing(
    client: ApiClient, alpha: Tenant, body: dict[str, Any], dry_run: bool
):
    make_execution(alpha, "SUCCEEDED")
    whole = {"filter": around(), "dry_run": dry_run, **body} if body else {}

    answer = client.post(URL, whole, idempotency_key="1")

    assert answer.status_code == 400
    assert answer.json()["errors"]
    assert not BulkJob.objects.exists()


def test_executions_are_chosen_by_the_label_of_their_task(client: ApiClient, alpha: Tenant):
    row = make_execution(alpha, "SUCCEEDED")
    make_execution(alpha, "SUCCEEDED")
    type(row.task).objects.filter(pk=row.task_id).update(labels={"team": "billing"})

    for number, label in enumerate(("team", "team:billing")):
        shown = replay(client, str(number), dry_run=True, filter={**around(), "label": label})
        assert shown.json()["count"] == 1


INTO = {"url": "https://staging.example.com/in"}


def test_a_replay_into_another_place_shows_where_it_went(client: ApiClient, alpha: Tenant):
    row = make_execution(alpha, "SUCCEEDED")

    dry = replay(client, into=INTO, dry_run=True)
    job = ran(replay(client, "2", into=INTO))

    assert (dry.json()["count"], dry.json()["unfit"]) == (1, 0)
    assert job.options == {
        "rate_per_second": 10.0,
        "into": {"origin": "https://staging.example.com"},
    }
    again = Execution.objects.get(parent_id=row.id)
    shown = client.get(f"/v1/executions/{again.id}").json()
    assert (shown["into"], shown["request"]["url"]) == (INTO, INTO["url"])
    assert client.get(f"/v1/executions/{row.id}").json()["into"] is None
    versions = client.get(f"/v1/tasks/{row.task_id}/revisions").json()["revisions"]
    assert [one["version"] for one in versions] == [1]
    back = client.post(
        f"/v1/tasks/{row.task_id}/rollback", {"version": again.revision}, idempotency_key="3"
    )
    assert (back.status_code, back.json()["errors"][0]["code"]) == (400, "unknown_version")


def test_null_is_no_other_place(client: ApiClient, alpha: Tenant):
    row = make_execution(alpha, "SUCCEEDED")

    ran(replay(client, into=None))

    assert Execution.objects.get(parent_id=row.id).revision == 1


@pytest.mark.parametrize(
    ("into", "code"),
    [
        ({}, "exclusive"),
        ({**INTO, "pool": "x"}, "exclusive"),
        ({"url": "https://127.0.0.1/"}, "address_forbidden"),
        ({"url": "file:///etc/passwd"}, "url_invalid"),
        ({"pool": "No Pool"}, "name_invalid"),
        ({"host": "x"}, "unknown_field"),
        ("staging", "invalid_type"),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_place_that_nothing_can_go_into_is_refused(
    client: ApiClient, alpha: Tenant, into: Any, code: str, dry_run: bool
):
    make_execution(alpha, "SUCCEEDED")

    answer = replay(client, into=into, dry_run=dry_run)

    assert answer.status_code == 400
    assert code in {error["code"] for error in answer.json()["errors"]}
    assert all(error["pointer"].startswith("#/into") for error in answer.json()["errors"])
    assert not BulkJob.objects.exists()


def test_what_nothing_of_the_range_fits_is_refused(client: ApiClient, alpha: Tenant):
    make_execution(alpha, "SUCCEEDED")

    dry = replay(client, into={"pool": "staging"}, dry_run=True)
    answer = replay(client, "2", into={"pool": "staging"})

    assert (dry.status_code, dry.json()["unfit"]) == (200, 1)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "nothing_fits")
