"""The audit page: for admins of the tenant, with filters, differences and an export."""

from __future__ import annotations

import csv
import io
import json

import pytest

from events import audit
from events.audit.exporting import read_document
from events.audit.verifying import examine_entries
from tests.dashboard.asking import HOSTILE, is_escaped, queries_for
from tests.factories import make_task

URL = "/settings/audit"


def record(tenant, action="task.updated", name="t", kind="task", **after):
    audit.record(tenant.id, "user:1", action, kind, name, {"note": "old"}, after or {"note": "new"})


def test_entries_are_shown_with_their_differences_and_a_link(browser, alpha):
    task = make_task(alpha)
    record(alpha, name=task.id)

    text = browser(alpha).get(URL).text

    assert "task.updated" in text
    assert f'href="/tasks/{task.id}"' in text
    assert "<del>old</del>" in text
    assert "<ins>new</ins>" in text


@pytest.mark.parametrize(
    ("kind", "name"), [("pool", "etl"), ("pool", "a/b"), ("pool", ""), ("task", "x"), ("odd", "y")]
)
def test_an_object_without_a_page_has_no_link(browser, alpha, kind, name):
    record(alpha, kind=kind, name=name)

    answer = browser(alpha).get(URL)

    assert answer.status_code == 200
    assert ('href="/pools/etl"' in answer.text) == (name == "etl")


def test_filters_are_kept_in_the_address(browser, alpha):
    record(alpha, "task.updated")
    record(alpha, "pool.changed", kind="pool")
    member = browser(alpha)

    text = member.get(f"{URL}?action=pool.changed").text

    assert "pool.changed" in text
    assert "task.updated</a>" not in text
    assert "No entry matches" in member.get(f"{URL}?actor=nobody").text
    assert member.get(f"{URL}?since=yesterday").status_code == 400


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_admins_see_it(browser, alpha, role):
    member = browser(alpha, role=role)

    assert member.get(URL).status_code == 403
    assert member.get(f"{URL}/export").status_code == 403
    assert URL not in member.get("/settings").text
    assert URL in browser(alpha, role="admin").get("/settings").text


def test_another_tenants_log_is_not_shown(browser, alpha, beta):
    record(beta, "pool.deleted")

    assert "pool.deleted" not in browser(alpha).get(URL).text
    assert "pool.deleted" not in browser(alpha).get(f"{URL}/export").text


def test_hostile_text_is_text(browser, alpha):
    record(alpha, name=HOSTILE[:90], note=HOSTILE)

    assert is_escaped(browser(alpha).get(URL))


def test_an_export_verifies(browser, alpha):
    record(alpha)
    answer = browser(alpha).get(f"{URL}/export?format=jsonl")

    read = [read_document(json.loads(line)) for line in answer.text.splitlines()]
    verdict = examine_entries(alpha.id, iter([entry for entry, _ in read]), read[0][1])

    assert (verdict.fault, verdict.count) == (None, len(read))
    assert "attachment" in answer["Content-Disposition"]
    assert answer["Cache-Control"] == "no-store"


def test_an_export_as_a_table_has_no_formula_and_the_newest_entries(browser, alpha, monkeypatch):
    monkeypatch.setattr("dashboard.views.audit.MOST_EXPORTED", 2)
    for name in ("first", "=second", "third"):
        record(alpha, name=name)

    _, *rows = csv.reader(io.StringIO(browser(alpha).get(f"{URL}/export?format=csv").text))

    assert [row[9] for row in rows] == ["'=second", "third"]
    assert browser(alpha).get(f"{URL}/export?format=xml").status_code == 400


def test_a_page_costs_as_much_for_many_entries(browser, alpha):
    member = browser(alpha)
    record(alpha)
    few = queries_for(member, URL)
    for _ in range(20):
        record(alpha)

    assert queries_for(member, URL) == few
