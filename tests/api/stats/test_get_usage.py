from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tenants.models import Tenant
from tests.factories import ApiClient, make_execution

pytestmark = pytest.mark.django_db
PATH = "/v1/usage"
CSV = "text/csv; charset=utf-8"


def test_thirty_days_are_answered_with_what_ended_on_each(client: ApiClient, alpha: Tenant):
    make_execution(alpha, "SUCCEEDED")
    make_execution(alpha, "FAILED")

    answer = client.get(PATH)

    shown = answer.json()
    assert answer.status_code == 200
    assert len(shown["days"]) == 30
    assert shown["to"] == shown["days"][-1]["day"]
    total = shown["total"]
    assert (total["executions_succeeded"], total["executions_failed"]) == (1, 1)
    assert (total["executions_started"], total["attempts"]) == (2, 2)


def test_the_days_are_chosen(client: ApiClient):
    shown = client.get(f"{PATH}?from=2026-01-30&to=2026-02-02").json()

    days = [one["day"] for one in shown["days"]]
    assert days == ["2026-01-30", "2026-01-31", "2026-02-01", "2026-02-02"]
    assert all(not any(v for name, v in one.items() if name != "day") for one in shown["days"])


@pytest.mark.parametrize(
    ("query", "accept"),
    [("?format=csv", ""), ("", "text/csv"), ("", "text/csv, application/json;q=0.5")],
)
def test_csv_is_sent_by_the_parameter_or_by_accept(client: ApiClient, query: str, accept: str):
    answer = client.get(f"{PATH}{query}", accept=accept)

    assert (answer.status_code, answer["Content-Type"]) == (200, CSV)
    lines = answer.text.splitlines()
    assert lines[0].startswith("day,executions_started,")
    assert len(lines) == 31


@pytest.mark.parametrize(
    ("query", "accept"), [("?format=json", "text/csv"), ("", "*/*"), ("", "application/json")]
)
def test_json_is_sent_otherwise(client: ApiClient, query: str, accept: str):
    assert client.get(f"{PATH}{query}", accept=accept)["Content-Type"] == "application/json"


def test_another_type_is_refused(client: ApiClient):
    assert client.get(PATH, accept="text/html").status_code == 406


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("from=yesterday", "?from"),
        ("to=2026-02-30", "?to"),
        ("from=2026-02-02&to=2026-02-01", "?from"),
        ("from=2020-01-01&to=2026-01-01", "?from"),
        ("from=9999-12-31", "?from"),
        ("to=0001-01-01", "?to"),
        ("format=xml", "?format"),
        ("tenant=other", "?tenant"),
    ],
)
def test_wrong_days_are_refused_with_their_name(client: ApiClient, query: str, pointer: str):
    answer = client.get(f"{PATH}?{query}")

    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_another_tenants_usage_is_not_shown(stranger: ApiClient, alpha: Tenant):
    make_execution(alpha, "SUCCEEDED")

    total = stranger.get(PATH).json()["total"]

    assert not any(total.values())


def test_the_current_day_is_counted_at_once(client: ApiClient, alpha: Tenant):
    before = datetime.now(UTC)
    make_execution(alpha, "SUCCEEDED")

    shown = client.get(f"{PATH}?from={before:%Y-%m-%d}").json()

    assert shown["total"]["executions_succeeded"] == 1
