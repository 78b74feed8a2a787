from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from executions.models import Execution
from insight import list_budget
from shared.instants import format_instant
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.factories import (
    ApiClient,
    every_second,
    executions_of,
    make_execution,
    make_task,
    once,
    prepare,
    reload,
)
from tests.support.cursors import change_task

URL = "/v1/executions"
FIELDS = {
    *("id", "task_id", "task_name", "status", "reason", "trigger", "scheduled_for", "due_at"),
    *("queued_at", "started_at", "finished_at", "start_delay_ms", "duration_ms", "attempt"),
    *("max_attempts", "next_attempt_at", "worker", "pool", "log_url", "response_status", "error"),
    *("progress", "result", "trace_id", "parent_id"),
}


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["executions"]]


def test_executions_are_listed_newest_first_with_every_field(client: ApiClient, alpha: Tenant):
    first = make_execution(alpha, "SUCCEEDED")
    second = make_execution(alpha, "FAILED")

    answer = client.get(URL)

    rows = answer.json()["executions"]
    assert [row["id"] for row in rows] == [str(second.id), str(first.id)]
    assert all(set(row) == FIELDS for row in rows)
    assert rows[0]["task_name"] == "Once"
    assert rows[0]["error"] == {"code": "http_status", "message": "The answer was 500."}
    assert rows[1]["error"] is None
    assert answer.json()["pagination"] == {
        "limit": 20,
        "page": 1,
        "total": 2,
        "total_estimated": False,
        "next_cursor": None,
    }


def test_an_empty_list_is_an_answer(client: ApiClient):
    assert ids(client.get(URL)) == []


def test_rows_that_stand_for_long_stretches_are_not_executions(client: ApiClient, alpha: Tenant):
    task = make_task(alpha, every_second())
    long_ago = database_now() - timedelta(hours=1)
    change_task(task.pk, next_run_at=long_ago, created_at=long_ago)
    prepare()
    spans = Execution.objects.filter(task_id=task.id, span_count__isnull=False)
    assert spans.exists()

    listed = ids(client.get(f"{URL}?limit=200"))

    assert not {str(span.id) for span in spans} & set(listed)
    assert client.get(f"{URL}/{spans[0].id}").status_code == 404


def test_executions_are_filtered_by_status(client: ApiClient, alpha: Tenant):
    done = make_execution(alpha, "SUCCEEDED")
    failed = make_execution(alpha, "FAILED")
    make_execution(alpha, "CANCELLED")

    assert ids(client.get(f"{URL}?status=FAILED")) == [str(failed.id)]
    both = [str(failed.id), str(done.id)]
    assert ids(client.get(f"{URL}?status=FAILED,SUCCEEDED")) == both
    assert ids(client.get(f"{URL}?status=FAILED&status=SUCCEEDED")) == both


def test_executions_are_filtered_by_task_and_pool(client: ApiClient, alpha: Tenant):
    one, _ = make_execution(alpha), make_execution(alpha)

    assert ids(client.get(f"{URL}?task={one.task_id}")) == [str(one.id)]
    assert len(ids(client.get(f"{URL}?pool=default"))) == 2
    assert ids(client.get(f"{URL}?pool=batch")) == []
    assert ids(client.get(f"{URL}?task={one.id}")) == []


def test_executions_are_filtered_by_time_from_since_on_and_before_until(
    client: ApiClient, alpha: Tenant
):
    task = make_task(alpha, every_second())
    prepare()
    rows = executions_of(task)
    since, until = (format_instant(rows[at].scheduled_for) for at in (3, 6))

    answer = client.get(f"{URL}?since={since}&until={until}&ordering=id")

    assert ids(answer) == [str(row.id) for row in rows[3:6]]


@pytest.mark.parametrize("q", ["report", "REPORT", "billing", "answer was 500", "http_stat"])
def test_executions_are_searched_in_names_labels_and_errors(
    client: ApiClient, alpha: Tenant, q: str
):
    found = make_execution(alpha, "FAILED", once(name="Daily report", labels={"team": "billing"}))
    make_execution(alpha, "SUCCEEDED")

    answer = client.get(f"{URL}?q={q}")

    assert ids(answer) == [str(found.id)]
    # Counting a search may cost much more than a page of it.
    assert "total" not in answer.json()["pagination"]
    assert client.get(f"{URL}?q={q}&page=1").json()["pagination"]["total"] == 1


@pytest.mark.parametrize("ordering", ["id", "scheduled_for", "due_at"])
def test_executions_are_ordered_both_ways(client: ApiClient, alpha: Tenant, ordering: str):
    task = make_task(alpha, every_second())
    prepare()
    expected = [str(row.id) for row in executions_of(task)]

    assert ids(client.get(f"{URL}?limit=200&ordering={ordering}")) == expected
    assert ids(client.get(f"{URL}?limit=200&ordering=-{ordering}")) == expected[::-1]


@pytest.mark.parametrize("ordering", ["-id", "due_at"])
def test_pages_by_cursor_meet_every_execution_once(client: ApiClient, alpha: Tenant, ordering: str):
    make_task(alpha, every_second())
    prepare()
    url = f"{URL}?limit=4&ordering={ordering}"
    met: list[str] = []
    cursor = ""

    while True:
        answer = client.get(f"{url}&cursor={cursor}" if cursor else url)
        met += ids(answer)
        cursor = answer.json()["pagination"]["next_cursor"]
        if cursor is None:
            break

    assert len(met) == len(set(met)) == Execution.objects.count()


def test_a_deleted_task_leaves_its_executions_readable(client: ApiClient, alpha: Tenant):
    execution = make_execution(alpha, "SUCCEEDED")

    assert client.delete(f"/v1/tasks/{execution.task_id}").status_code == 204

    assert reload(Task.objects.get(pk=execution.task_id)).deleted_at is not None
    assert ids(client.get(URL)) == [str(execution.id)]
    assert client.get(f"{URL}/{execution.id}").json()["task_name"] == "Once"


@pytest.mark.parametrize(
    "query",
    [
        "status=DONE",
        "status=failed",
        "status=",
        "task=1",
        "task=*",
        "since=2026-01-01",
        "since=yesterday",
        "until=2026-01-01T00:00:00",
        "limit=0",
        "limit=201",
        "limit=x",
        "page=0",
        "page=1&cursor=x",
        "cursor=x",
        "ordering=name",
        "ordering=-id&ordering=id",
        "q=%00",
        "q=" + "x" * 201,
        "pool=" + "x" * 64,
        "state=FAILED",
    ],
)
def test_wrong_parameters_are_refused(client: ApiClient, query: str):
    answer = client.get(f"{URL}?{query}")

    assert problem(answer) == (400, "invalid")
    assert answer.json()["errors"]


@pytest.mark.parametrize("year", ["0001", "1969", "9999"])
def test_times_at_the_ends_of_the_calendar_are_answered(client: ApiClient, year: str):
    at = f"{year}-06-01T00:00:00Z"

    assert ids(client.get(f"{URL}?since={at}&until={at}")) == []


def test_another_tenant_sees_none_of_them(stranger: ApiClient, alpha: Tenant):
    execution = make_execution(alpha, "FAILED")

    assert ids(stranger.get(URL)) == []
    assert ids(stranger.get(f"{URL}?task={execution.task_id}")) == []
    assert ids(stranger.get(f"{URL}?q=Once")) == []


def test_a_page_costs_the_same_number_of_queries_at_any_length(
    client: ApiClient, alpha: Tenant, django_assert_max_num_queries: Any
):
    make_execution(alpha, "SUCCEEDED")
    make_task(alpha, every_second())
    prepare()

    with django_assert_max_num_queries(6):
        assert len(ids(client.get(f"{URL}?limit=200"))) > 10


def test_a_filter_narrows_the_list_beside_other_parameters(client: ApiClient, alpha: Tenant):
    failed = make_execution(alpha, "FAILED", once(name="Invoice", labels={"team": "billing"}))
    make_execution(alpha, "SUCCEEDED", once(name="Report", labels={"team": "billing"}))

    answer = client.get(f"{URL}?filter=label:team:billing%20http:5xx&status=FAILED,SUCCEEDED")

    assert ids(answer) == [str(failed.id)]
    assert "total" not in answer.json()["pagination"]
    assert ids(client.get(f"{URL}?filter=invoice")) == [str(failed.id)]
    assert ids(client.get(f"{URL}?filter=invoice&q=report")) == []
    assert client.get(f"{URL}?filter=-invoice&page=1").json()["pagination"]["total"] == 1


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("filter=status:faild", "At character 8: status is one of"),
        ("filter=%22", "not closed"),
        ("filter=%00", "control"),
        (f"filter={'x' * 3000}", "2000"),
        ("ordering=-worker", "no order by worker"),
        ("sort=-delay", "no such parameter"),
    ],
)
def test_what_no_list_can_be_asked_is_refused_with_help(client: ApiClient, query: str, words: str):
    answer = client.get(f"{URL}?{query}")

    assert answer.status_code == 400
    assert words in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize("name", ["delay", "duration", "attempt", "http"])
def test_pages_of_every_order_meet_every_row_with_a_value_once(
    client: ApiClient, alpha: Tenant, name: str
):
    began = database_now()
    expected = []
    for number in (3, 1, 2, 1):
        row = make_execution(alpha, "SUCCEEDED")
        Execution.objects.filter(pk=row.pk).update(
            start_delay_ms=number * 1.5,
            started_at=began,
            finished_at=began + timedelta(microseconds=number),
            attempt=number,
            response_status=200 + number,
        )
        expected.append((number, str(row.id)))
    waiting = make_execution(alpha, "PENDING")
    if name == "attempt":
        expected.append((0, str(waiting.id)))
    expected.sort()

    for sign, wanted in (("", expected), ("-", expected[::-1])):
        met: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            place = f"&cursor={cursor}" if cursor else ""
            answer = client.get(f"{URL}?limit=2&ordering={sign}{name}{place}")
            met += ids(answer)
            cursor = answer.json()["pagination"]["next_cursor"]
        assert met == [one for _, one in wanted]


def test_a_list_that_takes_too_long_is_refused_with_advice(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch
):
    def take_too_long(milliseconds: int, read: Any) -> Any:
        raise list_budget.OutOfTime

    monkeypatch.setattr(list_budget, "within", take_too_long)

    answer = client.get(f"{URL}?filter=delay:>1s")

    assert problem(answer) == (400, "window_too_wide")
    assert "scheduled:-24h" in answer.json()["detail"]
    assert client.get(URL).status_code == 200
