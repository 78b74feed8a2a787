"""Pages keep to the window, on a phone too and whatever the names, and leave no holes.

Times stay in one piece, and hidden fields keep no place.
"""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.console import Console

#: A name and a label without a place to break.
UNBROKEN = "Reconciliation" * 8
_TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
#: Texts whose pieces do not stand on one line; a line may have several pieces.
_BROKEN = """
found => found
  .filter(one => new Set([...one.getClientRects()].map(piece => Math.round(piece.top))).size > 1)
  .map(one => one.textContent)
"""
#: Cards and cells of tables that are too narrow to read: a cell that breaks words into letters.
_SLIVERS = """
() => [
  ...[...document.querySelectorAll("main .card")].filter((one) => one.offsetWidth < 150),
  ...[...document.querySelectorAll("main td")]
    .filter((one) => one.offsetWidth < 110 && one.offsetHeight > 150),
]
  .filter((one) => one.checkVisibility())
  .map((one) => one.innerText)
"""
#: Rows of lists that show more than a phone has room for: state, name, time, one line, one action,
#: and the box that selects.
_CROWDED = """
() => [...document.querySelectorAll("table.brief tbody tr")]
  .filter((row) => [...row.cells].filter((cell) => cell.checkVisibility()).length > 6)
  .map((row) => row.innerText)
"""
_HOLES = """
() => [...document.querySelectorAll("#task-form .fields > *")]
  .filter((one) => one.checkVisibility() && one.offsetHeight === 0)
  .map((one) => one.innerHTML)
"""


@pytest.mark.parametrize("width", [390, pytest.param(768, marks=pytest.mark.slow), 1440])
def test_a_name_without_a_blank_makes_no_page_wider_than_the_window(
    console: Console, page: Page, width: int
) -> None:
    task = console.create_task(UNBROKEN, "/status/504", labels={"team": "x" * 60})
    letter = console.dead_letter(task["id"])
    # Its host has a page as long as one of its tasks is to run.
    console.create_task(UNBROKEN, "/ok", schedule={"cron_expression": "0 0 1 1 *"})
    host = quote(console.punctual.target("/").split("/")[2])
    steps = [{"key": "only", "target": {"url": console.punctual.target("/ok")}}]
    body = {"name": UNBROKEN, "steps": steps}
    flow = console.punctual.call("POST", "/v1/workflows", body)["id"]
    run = console.punctual.call("POST", f"/v1/workflows/{flow}/runs", {"input": None})["id"]
    page.set_viewport_size({"width": width, "height": 900})

    for path in (
        f"/tasks/{task['id']}",
        f"/tasks/{task['id']}/edit",
        f"/tasks/{task['id']}/explain",
        f"/tasks/{task['id']}/occurrences",
        f"/tasks/{task['id']}/statistics",
        f"/tasks/{task['id']}/versions",
        f"/executions/timeline?task={task['id']}",
        f"/executions/{letter['execution_id']}",
        f"/executions/{letter['execution_id']}/explain",
        f"/dead-letters/{letter['id']}",
        f"/destinations/{host}",
        f"/workflows/{flow}",
        f"/workflow-runs/{run}",
        f"/workflow-runs/{run}/steps/only",
        "/workflows",
        "/tasks",
        "/executions",
        "/dead-letters",
        "/alerts",
        "/settings",
        "/settings/audit",
        "/",
    ):
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate(_TOO_WIDE) == 0, path
        assert page.evaluate(_SLIVERS) == [], path
        assert width > 720 or page.evaluate(_CROWDED) == [], path


def test_a_time_of_the_next_fires_does_not_break_on_a_phone(console: Console, page: Page) -> None:
    schedule = {
        "cron_expression": "0 9 * * *",
        "timezone": "America/New_York",
        "jitter_seconds": 600,
    }
    task = console.create_task("Far away", "/ok", schedule=schedule)
    page.set_viewport_size({"width": 390, "height": 900})

    for path in ("", "/explain", "/occurrences"):
        page.goto(f"/tasks/{task['id']}{path}")
        beside = page.locator(".beside, time[data-ago], .agenda time")
        expect(page.locator(".beside").first).to_be_visible()
        assert beside.evaluate_all(_BROKEN) == []


def test_hidden_fields_of_the_form_keep_no_place(page: Page) -> None:
    page.goto("/tasks/new?example=1")
    expect(page.locator("#preview table")).to_be_visible()

    assert page.evaluate(_HOLES) == []
