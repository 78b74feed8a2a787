from __future__ import annotations

import pytest

from events import audit
from insight.presentation.audit import present_entry
from tests.events.audit.tampering import entries_of
from tests.executions.answers import problem
from tests.factories import ACTOR

URL = "/v1/audit"


@pytest.fixture
def entry(alpha):
    audit.record(alpha.id, ACTOR, "task.updated", "task", "t", {"a": {"b": 1}}, {"a": {"b": 2}})
    return entries_of(alpha.id)[-1]


def test_entries_are_listed_newest_first(owner, alpha, entry):
    shown = owner.get(URL).json()["entries"]

    assert shown[0] == present_entry(entry)
    assert shown[0]["changes"] == [{"field": "a.b", "before": 1, "after": 2}]
    numbers = [one["sequence"] for one in shown]
    assert numbers == sorted(numbers, reverse=True)


def test_a_list_goes_on_where_it_ended(owner, alpha, entry):
    first = owner.get(f"{URL}?limit=1").json()
    cursor = first["pagination"]["next_cursor"]
    audit.record(alpha.id, ACTOR, "task.updated", "task", "later")

    second = owner.get(f"{URL}?limit=1&cursor={cursor}").json()

    assert second["entries"][0]["sequence"] == first["entries"][0]["sequence"] - 1


def test_a_list_of_a_time_goes_on_where_it_ended(owner, alpha, entry):
    audit.record(alpha.id, ACTOR, "task.updated", "task", "later")
    url = f"{URL}?limit=1&since=2020-01-01T00:00:00Z"
    first = owner.get(url).json()

    cursor = first["pagination"]["next_cursor"]
    second = owner.get(f"{url}&cursor={cursor}").json()

    assert second["entries"][0]["id"] == str(entry.id)
    assert second["entries"][0]["sequence"] == first["entries"][0]["sequence"] - 1


@pytest.mark.parametrize(
    "query",
    [
        "action=task.updated",
        "object_kind=task&object_id=t",
        "since=2020-01-01T00:00:00Z&until=2100-01-01T00:00:00Z&action=task.updated",
    ],
)
def test_entries_are_found_by_filters(owner, entry, query):
    audit.record(entry.tenant_id, ACTOR, "pool.changed", "pool", "p")

    assert [one["id"] for one in owner.get(f"{URL}?{query}").json()["entries"]] == [str(entry.id)]


@pytest.mark.parametrize(
    "query", ["object_id=t", "since=yesterday", "action=" + "x" * 61, "who=me", "actor=%00"]
)
def test_filters_that_make_no_sense_are_refused(owner, query):
    assert problem(owner.get(f"{URL}?{query}")) == (400, "invalid")


def test_only_admins_keys_read_the_log(viewer, stranger, nobody, entry):
    assert viewer.get(URL).status_code == 403
    assert nobody.get(URL).status_code == 401
    assert str(entry.id) not in stranger.get(URL).text


def test_acts_of_the_installation_are_in_no_tenants_list(owner):
    audit.record_of_installation(ACTOR, "backup.made", "backup", "b")

    assert "backup.made" not in owner.get(URL).text
