from __future__ import annotations

from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from shared.admin import keyset
from tasks.models import Task
from tests.factories import daily, make_task, make_tenant
from tests.support.admin import AdminBrowser, make_admin

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(db: None) -> AdminBrowser:
    return make_admin()


@pytest.fixture
def tasks(db: None, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Seven tasks, newest first; the list shows three of them."""
    from executions.admin import TaskAdmin

    monkeypatch.setattr(TaskAdmin, "list_per_page", 3)
    alpha = make_tenant("Alpha")
    made = [make_task(alpha, daily(name=f"Task {number}")) for number in range(7)]
    return sorted(made, key=lambda task: task.pk, reverse=True)


def test_pages_go_on_from_the_last_id_until_the_end(browser, tasks):
    seen: list[Task] = []
    query: dict[str, str] = {}
    for _ in range(4):
        shown = browser.list(Task, **query).context["cl"]
        seen += shown.result_list
        if shown.older is None:
            break
        assert f"before={shown.result_list[-1].pk}" in shown.older
        query = {"before": str(shown.result_list[-1].pk)}

    assert seen == tasks


def test_no_page_counts_or_skips_rows(browser, tasks):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        browser.list(Task, before=str(tasks[2].pk))

    read = [q["sql"] for q in queries if '"tasks"' in q["sql"]]
    assert read
    assert not [sql for sql in read if "COUNT(" in sql]
    assert not [sql for sql in read if "OFFSET" in sql and f"OFFSET {keyset.WINDOW - 1}" not in sql]


def test_the_newest_page_is_one_link_away(browser, tasks):
    first = browser.list(Task).context["cl"]
    second = browser.list(Task, before=str(tasks[2].pk), type="RECURRING").context["cl"]

    assert first.newest_link is None
    assert second.newest_link == "?type=RECURRING"


def test_a_rare_filter_looks_through_a_bounded_number_of_rows(browser, tasks, monkeypatch):
    monkeypatch.setattr(keyset, "WINDOW", 4)
    Task.objects.filter(pk=tasks[-1].pk).update(status="COMPLETED")

    first = browser.list(Task, status="COMPLETED")
    found = first.context["cl"]

    assert found.result_list == []
    assert "looked through 4 rows" in first.content.decode()
    assert f"before={tasks[3].pk}" in found.older
    after = browser.list(Task, status="COMPLETED", before=str(tasks[3].pk)).context["cl"]
    assert after.result_list == [tasks[-1]]
    assert after.older is None


def test_a_row_is_found_by_its_id_beyond_the_window(browser, tasks, monkeypatch):
    monkeypatch.setattr(keyset, "WINDOW", 2)

    found = browser.list(Task, q=str(tasks[-1].pk)).context["cl"]

    assert found.result_list == [tasks[-1]]


def test_a_made_up_place_goes_back_to_the_list(browser, tasks):
    answer = browser.list(Task, before="nowhere")

    assert answer.status_code == 302
    assert answer.url.endswith("?e=1")


def test_the_newest_rows_are_bounded_by_key(tasks, monkeypatch):
    assert set(keyset.newest(Task.objects.all(), 2)) == set(tasks[:2])
    assert set(keyset.newest(Task.objects.all(), 100)) == set(tasks)


def test_only_ids_are_read_as_ids():
    value = UUID(int=7)

    assert keyset.uuid_or_none(f" {value} ") == value
    assert keyset.uuid_or_none("nightly") is None
