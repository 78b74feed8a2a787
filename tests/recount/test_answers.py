"""Every number in answers of the API is what the tables and Redis give, after a full history.

The rows are made once for the file, and stay until its last test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from executions.loop.clocks import database_now
from insight.numbers import NUMBERS
from shared.redis_client import client
from tenants.choices import Role
from tenants.models import Membership
from tests.factories import ApiClient, make_client, make_tenant
from tests.recount.answers import numbers, wrong
from tests.recount.page import read
from tests.recount.recounts import World, executions, letters
from tests.recount.rest import finish_rest, make_rest
from tests.recount.right import RECOUNTED
from tests.recount.world import (
    ask,
    call_hosts,
    hear_fleet,
    make_fleet,
    make_schedules,
    make_work,
    one,
)
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.emptying import empty
from tests.support.recounting import recounts

#: Its world takes ten seconds to make.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

Callers = dict[Any, ApiClient]


@pytest.fixture(scope="module")
def callers(django_db_setup: None, django_db_blocker: Any) -> Iterator[Callers]:
    """Return the tenants, the second with twice as much of everything, and their clients."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "PUNCTUAL", replace(settings.PUNCTUAL, processes_public=True))
        try:
            tenants = make_tenant("Alpha"), make_tenant("Beta")
            make_rest(*tenants)
            make_work(*tenants)
            finish_rest(*tenants)
            make_fleet(*tenants)
            make_schedules(*tenants)
            yield {tenant: make_client(tenant) for tenant in tenants}
        finally:
            empty()


@pytest.fixture(scope="module")
def browsers(callers: Callers, django_db_blocker: Any) -> dict[Any, Client]:
    """Return the browser of each tenant's owner."""
    found = {}
    with django_db_blocker.unblock():
        for tenant in callers:
            user = User.objects.create_user(f"owner of {tenant.name}", password="a long password")
            Membership.objects.create(user=user, tenant=tenant, role=Role.OWNER)
            found[tenant] = Client()
            found[tenant].force_login(user)
    return found


@pytest.fixture(autouse=True)
def _heard(callers: Callers) -> None:
    """Tell Redis, which every test but the first finds empty, what it would know."""
    client().flushall()
    hear_fleet(*callers)
    call_hosts(*callers)


def asked(caller: ApiClient, tenant: Any, path: str) -> tuple[World, Any]:
    """Return an answer and its world, by the clock of its reads: the test's transaction's."""
    answer = caller.get(path)
    assert answer.status_code == 200, answer.content
    return World(tenant, one("SELECT now()")), answer.json()


@pytest.mark.parametrize("name", RECOUNTED)
def test_every_number_of_the_answer_equals_its_recount(callers: Callers, name: str):
    recount = RECOUNTED[name]
    seen: dict[str, Any] = {}
    for tenant, caller in callers.items():
        world, answer = asked(caller, tenant, recount.path)

        shown = numbers(answer, recount.leave)

        assert not (found := wrong(shown, numbers(recount.right(world)))), "\n".join(found)
        seen |= shown
    # A recount that finds nothing to count would agree with an answer that counts nothing.
    counted = {place.rpartition("[")[0] or place for place, one in seen.items() if one}
    names = {place.rpartition(".")[2] for place in counted | set(seen) if seen.get(place, 1)}
    for number in recount.numbers:
        fields = {place.rpartition(".")[2] for place in NUMBERS[number].answers}
        assert fields & names, f"{number}: none of {sorted(fields)} was counted"


@recounts("execution.start_delay_ms", "execution.duration_ms", "execution.attempt")
def test_every_execution_of_the_list_has_the_figures_of_its_attempts(callers: Callers):
    sql = (
        "SELECT max(number), extract(epoch FROM min(started_at - due_at)"
        " FILTER (WHERE number = 1)) * 1000, extract(epoch FROM (array_agg("
        "finished_at ORDER BY number DESC))[1] - min(started_at)) * 1000"
        " FROM attempts WHERE execution_id = %s"
    )
    for tenant, caller in callers.items():
        _, answer = asked(caller, tenant, "/v1/executions?status=SUCCEEDED,FAILED&limit=100")

        rows = [row for row in answer["executions"] if row["pool"] != "workflow"]
        assert len(rows) > 20
        for row in rows:
            [[attempts, delay, duration]] = ask(sql, row["id"])
            assert row["attempt"] == attempts
            assert row["start_delay_ms"] == pytest.approx(float(delay), abs=0.002)
            assert row["duration_ms"] == pytest.approx(float(duration), abs=0.002)


@recounts("list.total")
def test_the_total_of_a_list_is_the_number_of_its_rows(callers: Callers):
    for tenant, caller in callers.items():
        tasks = one(
            "SELECT count(*) FROM tasks WHERE tenant_id = %s AND deleted_at IS NULL",
            tenant.pk,
        )
        world = World(tenant, database_now())
        for path, right in (
            ("/v1/tasks", tasks),
            ("/v1/executions", executions(world, "true")),
            ("/v1/executions?status=SKIPPED", executions(world, "status = 'SKIPPED'")),
            ("/v1/dlq?resolved=false", letters(world)),
            ("/v1/dlq?resolved=true", letters(world, "resolved")),
        ):
            _, answer = asked(caller, tenant, f"{path}{'&' if '?' in path else '?'}page=1&limit=1")
            assert answer["pagination"]["total"] == right > 0, path


@recounts("calendar.tasks")
def test_a_calendar_and_a_secret_count_the_tasks_that_name_them(callers: Callers):
    naming = (
        "SELECT count(*) FROM tasks WHERE tenant_id = %s AND deleted_at IS NULL"
        " AND schedule -> 'calendars' ? 'Holidays'"
    )
    for times, (tenant, caller) in enumerate(callers.items(), start=1):
        _, calendars = asked(caller, tenant, "/v1/calendars")
        assert calendars["calendars"][0]["tasks"] == one(naming, tenant.pk) == times
        assert calendars["calendars"][0]["date_count"] == 2
        _, secrets = asked(caller, tenant, "/v1/secrets")
        assert secrets["secrets"][0]["tasks"] == times


@recounts("bulk.executions")
def test_a_bulk_job_counts_what_became_of_its_executions(callers: Callers):
    sql = (
        "SELECT lower(e.status), count(*) FROM bulk_job_items i JOIN executions e"
        " ON e.id = i.result_id WHERE i.job_id = %s GROUP BY 1"
    )
    for tenant, caller in callers.items():
        _, jobs = asked(caller, tenant, "/v1/bulk-jobs")
        made = [job for job in jobs["bulk_jobs"] if job["action"] == "retry"]
        assert made
        for job in made:
            _, shown = asked(caller, tenant, f"/v1/bulk-jobs/{job['id']}")
            found: dict[str, int] = dict(ask(sql, job["id"]))
            for waiting in ("queued", "retrying"):
                found["pending"] = found.get("pending", 0) + found.pop(waiting, 0)
            told = {state: count for state, count in shown["executions"].items() if count}
            assert told == {state: count for state, count in found.items() if count}


def test_usage_told_by_the_command_is_that_of_the_call(callers: Callers):
    told = read_document("usage", call("usage", "--json").out)
    by_tenant = {one["id"]: one["total"] for one in told["tenants"]}
    for tenant, caller in callers.items():
        _, answer = asked(caller, tenant, "/v1/usage")
        assert by_tenant[str(tenant.pk)] == answer["total"]


#: Page -> the call that answers the same rows in the same order, its list, and the numbers.
PAGES: dict[str, tuple[str, str, dict[str, str]]] = {
    "/pools": (
        "/v1/pools",
        "pools",
        {f"pool.{name}": name for name in ("depth", "in_flight", "live_workers")},
    ),
    "/bulk-jobs": (
        "/v1/bulk-jobs",
        "bulk_jobs",
        {f"job.{name}": name for name in ("done", "skipped", "failed")},
    ),
    "/pauses": ("/v1/pauses", "pauses", {"pause.task_count": "task_count"}),
    "/settings/calendars": (
        "/v1/calendars",
        "calendars",
        {
            "calendar.date_count": "date_count",
            "calendar.window_count": "window_count",
            "calendar.task_count": "tasks",
        },
    ),
    "/settings/secrets": ("/v1/secrets", "secrets", {"secret.task_count": "tasks"}),
    "/settings/quotas": ("/v1/quotas", "quotas", {"quota.used": "used"}),
    "/concurrency-keys": (
        "/v1/concurrency-keys",
        "concurrency_keys",
        {"key.in_use": "in_use", "key.waiting": "waiting"},
    ),
}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_says_the_numbers_of_the_call(
    callers: Callers, browsers: dict[Any, Client], path: str
):
    call_path, key, names = PAGES[path]
    for tenant, caller in callers.items():
        _, answer = asked(caller, tenant, call_path)
        shown = read(browsers[tenant].get(path).text)
        counted: set[str] = set()
        for name, field in names.items():
            right = ["–" if row[field] is None else f"{row[field]:,}" for row in answer[key]]
            told = [number.text.partition(" since")[0] for number in shown.of(name)]
            assert told == right, name
            counted |= set(told) - {"0", "–"}
        assert counted


def test_the_page_of_a_bulk_job_says_the_numbers_of_the_call(
    callers: Callers, browsers: dict[Any, Client]
):
    for tenant, caller in callers.items():
        _, jobs = asked(caller, tenant, "/v1/bulk-jobs")
        for listed in jobs["bulk_jobs"]:
            _, job = asked(caller, tenant, f"/v1/bulk-jobs/{listed['id']}")
            shown = read(browsers[tenant].get(f"/bulk-jobs/{job['id']}").text)
            made = {f"made.{name}": count for name, count in (job["executions"] or {}).items()}
            right = {f"job.{name}": job[name] for name in ("total", "done", "skipped", "failed")}
            told = {one.name: one.text for one in shown.numbers if one.name in right | made}
            # What nothing has is left out of two of them.
            assert told == {
                name: str(count)
                for name, count in (right | made).items()
                if count or name not in ("made.skipped", "made.gone")
            }


def test_usage_and_shares_of_the_pages_are_those_of_the_calls(
    callers: Callers, browsers: dict[Any, Client]
):
    for tenant, caller in callers.items():
        _, usage = asked(caller, tenant, "/v1/usage")
        shown = {one.name: one.text for one in read(browsers[tenant].get("/usage").text).numbers}
        for name, field in (
            *(("started", "executions_started"), ("succeeded", "executions_succeeded")),
            *(("failed", "executions_failed"), ("attempts", "attempts")),
            ("runs", "workflow_runs_succeeded"),
        ):
            assert shown[f"usage.{name}"] == f"{usage['total'][field]:,}" != "0"
        _, shares = asked(caller, tenant, "/v1/shares")
        [pool] = shares["pools"]
        page = read(browsers[tenant].get("/shares").text)
        told = {one.name.partition(".")[2]: one.text for one in page.numbers}
        assert told["received"] == str(pool["received"])
        assert told["scarce_minutes"] == str(pool["scarce_minutes"])
        assert float(told["due"]) == pytest.approx(pool["due"], abs=0.51)
        assert told["oldest_wait_seconds"] == f"{pool['oldest_wait_seconds']:.1f} s"


@recounts(
    *("status.due", "status.late", "status.tenants", "status.open", "status.hour"),
    *("status.start_delay_ms", "status.dead_letters_open", "status.processes", "partitions.owned"),
)
def test_the_status_of_the_installation_equals_its_recount(callers: Callers):
    del callers
    told = read_document("status", call("status", "--json").out)
    waits = "span_count IS NULL AND status IN ('PENDING', 'RETRYING') AND NOT held"
    counts = {
        "due": f"{waits} AND due_at <= now()",
        "queued": "status = 'QUEUED'",
        "running": "status = 'RUNNING'",
        "retrying": "status = 'RETRYING'",
        "late": f"(({waits} AND NOT parked) OR status = 'QUEUED')"
        " AND due_at <= now() - interval '1 second' AND pool NOT LIKE 'pull.%%'",
    }
    for name, condition in counts.items():
        assert told[name] == one(f"SELECT count(*) FROM executions WHERE {condition}"), name
    assert told["tenants"] == {
        "parked": one(
            f"SELECT count(*) FROM executions WHERE {waits} AND parked AND due_at <= now()"
        ),
        "own_workers": one(
            f"SELECT count(*) FROM executions WHERE {waits} AND NOT parked AND due_at <= now()"
            " AND pool LIKE 'pull.%%'"
        ),
    }
    assert told["dead_letters_open"] == one("SELECT count(*) FROM dead_letters WHERE NOT resolved")
    assert (told["schedulers"], told["workers"], told["worker_slots"]) == (1, 2, 48)
    assert told["recorders"] == 1
    assert told["partitions_owned"] == told["partitions_total"] == 256
