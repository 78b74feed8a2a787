"""Commands and answers of the API say the numbers of the pages."""

from __future__ import annotations

import math
from typing import Any

import orjson
import pytest

from tests.factories import make_client
from tests.recount import world
from tests.recount.checking import shown
from tests.recount.page import Page
from tests.support.command_calls import call

#: Its world takes seconds to make, for each test.
pytestmark = pytest.mark.slow

_SAME_NAME = (
    *("due_now", "running", "retrying", "late", "dead_letters_open", "paused_tasks"),
    "standing_pauses",
)


def _document(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(call(words[0], *words[1:], "--json").out)
    return found


def _row(page: Page, row: str) -> dict[str, str]:
    return {one.name.partition(".")[2]: one.text for one in page.numbers if one.row == row}


def _bound(bound: float) -> str:
    return f"≤ {bound:g} ms" if bound < 1000 else f"≤ {bound / 1000:g} s"


def test_the_overview_and_its_call_say_the_same(each):
    for tenant, browser in each:
        _, page = shown(browser, "/", tenant)
        answer = make_client(tenant).get("/v1/overview").json()

        for name in _SAME_NAME:
            assert {one.text for one in page.of(f"overview.{name}")} == {str(answer[name])}, name
        hour = answer["last_hour"]
        assert page.of("overview.failed_last_hour")[0].text == str(hour["failed"])
        share = float(page.of("overview.success_rate")[0].text.removesuffix(" %"))
        assert math.isclose(share, hour["success_rate"] * 100, abs_tol=0.05)
        assert page.of("overview.p95")[0].text == _bound(hour["start_delay_ms"]["p95"])


def test_the_status_of_the_installation_is_the_sum_of_its_tenants(each):
    pages = [shown(browser, "/", tenant)[1] for tenant, browser in each]

    status = _document("status")

    for name, said in (
        *(("due_now", "due"), ("running", "running"), ("retrying", "retrying")),
        *(("failed_last_hour",) * 2, ("dead_letters_open",) * 2),
    ):
        assert sum(int(page.of(f"overview.{name}")[0].text) for page in pages) == status[said], name
    # To a tenant its own matter is late, too.
    late = sum(int(page.of("overview.late")[0].text) for page in pages)
    theirs = world.one(
        "SELECT count(*) FROM executions WHERE (parked OR pool LIKE 'pull.%%') AND NOT held"
        " AND status IN ('PENDING', 'RETRYING', 'QUEUED')"
        " AND due_at <= now() - interval '1 second'"
    )
    assert status["late"] + theirs == late
    assert 0 < theirs < late
    fleet = shown(each[0].browser, "/workers", each[0].tenant)[1].of("fleet.slots")
    assert status["worker_slots"] <= int(fleet[0].text.split()[-1])


def test_destinations_are_told_alike_by_page_call_and_command(each):
    for tenant, browser in each:
        _, page = shown(browser, "/destinations", tenant)
        answer = make_client(tenant).get("/v1/destinations").json()["destinations"]
        command = _document("destinations", "list", "--tenant", tenant.name)["destinations"]

        assert [{**one, "tenant_id": str(tenant.pk)} for one in answer] == command
        for one in answer:
            told = _row(page, one["host"])
            assert told["tasks"] == str(one["tasks"])
            assert told["parked"] == str(one["parked"])
            assert told["in_flight"].split()[0] == str(one["in_flight"])
            calls = f"{one['failures']} of {one['calls']}" if one["calls"] else "–"
            assert told["failed"] == calls


def test_workers_are_told_alike_by_page_call_and_command(each):
    listed = {one["id"]: one for one in _document("workers", "list")["workers"]}
    for tenant, browser in each:
        _, page = shown(browser, "/workers", tenant)
        for one in make_client(tenant).get("/v1/workers").json()["workers"]:
            told, command = _row(page, one["id"]), listed[one["id"]]
            load = (one["in_flight"], one["capacity"])
            assert load == (command["in_flight"], command["capacity"])
            shown_load = told["leased"] if "leased" in told else told["slots"]
            assert shown_load == (str(load[0]) if "leased" in told else f"{load[0]}/{load[1]}")


def test_the_history_of_a_worker_is_told_alike_by_page_and_command(each):
    tenant, browser = each[0]
    for span, by, days in (("6h", "minute", 1), ("7d", "hour", 7), ("90d", "hour", 90)):
        _, page = shown(browser, f"/workers/slow@host:1?span={span}", tenant)
        options = ("--by", by, "--days", str(days))
        found = _document("workers", "show", "slow@host:1", *options)
        rows = found["history" if by == "minute" else "history_by_hour"]
        if by == "hour":
            total = sum(row["ended"] or 0 for row in rows)
            assert page.of("history.ended")[0].text == str(total)
        assert page.of("history.ended_by_row.last")[0].text == str(rows[-1]["ended"])


def test_dead_letters_are_told_alike_by_page_call_and_command(each):
    for tenant, browser in each:
        _, page = shown(browser, "/dead-letters", tenant)
        path = "/v1/dlq?resolved=false&group_by=error_signature"
        groups = make_client(tenant).get(path).json()["groups"]
        command = _document("dlq", "groups", "--tenant", tenant.name)["groups"]

        counts = {one["error_signature"]: (one["count"], one["tasks"]) for one in groups}
        assert counts == {one["error_signature"]: (one["count"], one["tasks"]) for one in command}
        for cause, (count, tasks) in counts.items():
            assert {one.text for one in page.of("cause.count") if one.row == cause} == {str(count)}
            assert _row(page, cause)["tasks"] == str(tasks)
        total = _document("dlq", "list", "--tenant", tenant.name)["total"]
        assert page.of("letters.badge")[0].text == str(total)
