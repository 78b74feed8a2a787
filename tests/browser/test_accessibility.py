"""Every page against WCAG 2.2 AA by axe, in both themes, wide and as narrow as a phone.

Colours are all that a theme changes, so the dark theme is asked about colours only. The narrow and
the dark pages are for `make test-long`, as are the pages that admins open now and then: axe needs a
second of processor for each look.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.browser.console import Console, Watch
from tests.support.waiting import until

AXE = Path(__file__).parents[1] / "data/vendor/axe-core-4.14.1/axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OF_COLOURS = ["color-contrast", "link-in-text-block"]
WIDTHS = {"wide": 1280, "dark": 1280, "tablet": 768, "narrow": 320}
#: What `make test-long` looks at beside the wide page in the light theme.
OTHER_WIDTHS = [pytest.param(one, marks=pytest.mark.slow) for one in ("dark", "tablet", "narrow")]
EACH_WIDTH = pytest.mark.parametrize("width", ["wide", *OTHER_WIDTHS])
NOWHERE = "00000000-0000-7000-8000-000000000000"

#: Name of a page -> its path; those in braces are rows of the demo tenant.
PAGES = {
    "overview": "/",
    "tasks": "/tasks",
    "tasks-none": "/tasks?q=nothing+is+named+so",
    "task": "/tasks/{task}",
    "task-paused": "/tasks/{paused}",
    "task-explain": "/tasks/{paused}/explain",
    "task-occurrences": "/tasks/{task}/occurrences",
    "task-statistics": "/tasks/{task}/statistics",
    "task-versions": "/tasks/{task}/versions",
    "task-new": "/tasks/new?example=1",
    "task-edit": "/tasks/{task}/edit",
    "executions": "/executions?window=24h",
    "executions-timeline": "/executions/timeline?window=24h",
    "executions-none": "/executions?q=nothing+is+named+so",
    "execution": "/executions/{execution}",
    "execution-failed": "/executions/{failed}",
    "execution-explain": "/executions/{failed}/explain",
    "workflows": "/workflows",
    "workflow": "/workflows/{workflow}",
    "workflow-down": "/workflows/{workflow}?direction=down",
    "workflow-edit": "/workflows/{workflow}/edit",
    "workflow-explain": "/tasks/{workflow}/explain",
    "workflow-new": "/workflows/new",
    "workflow-text": "/workflows/new?view=text",
    "workflow-run": "/workflow-runs/{run}",
    "workflow-step": "/workflow-runs/{run}/steps/load",
    "workflow-step-approval": "/workflow-runs/{run}/steps/approve",
    "dead-letters": "/dead-letters",
    "dead-letters-one-by-one": "/dead-letters?view=letters",
    "dead-letters-resolved": "/dead-letters?state=resolved",
    "dead-letter": "/dead-letters/{letter}",
    "bulk-new": "/bulk-jobs/new?kind=dead_letters&action=retry&{cause}",
    "bulk-jobs": "/bulk-jobs",
    "destinations": "/destinations",
    "destination": "/destinations/{destination}",
    "pools": "/pools",
    "workers": "/workers",
    "worker": "/workers/{worker}",
    "alerts": "/alerts",
    "alert": "/alerts/{alert}",
    "settings": "/settings",
    "forecast": "/calendar",
    "month": "/calendar/month",
    "search": "/search?q=demo",
    "refused": f"/tasks/{NOWHERE}",
    "nowhere": "/no/such/page",
}
#: Pages that a tenant's admins open now and then: for `make test-long` at every width.
RARE_PAGES = {
    "account": "/account",
    "alert-rule-new": "/alert-rules/new",
    "alert-rules": "/alert-rules",
    "api": "/api",
    "api-key-new": "/settings/api-keys/new",
    "api-keys": "/settings/api-keys",
    "audit": "/settings/audit",
    "calendar-new": "/settings/calendars/new",
    "calendars": "/settings/calendars",
    "channel-new": "/settings/channels/new",
    "channels": "/settings/channels",
    "concurrency-keys": "/concurrency-keys",
    "calendar-feed-new": "/calendar/feeds/new",
    "calendar-feeds": "/calendar/feeds",
    "encryption-keys": "/settings/encryption-keys",
    "erasures": "/erasures",
    "event-webhook-new": "/settings/event-subscriptions/new",
    "event-webhooks": "/settings/event-subscriptions",
    "executions-misspelt": "/executions?filter=duraton:%3E2s",
    "maintenance": "/maintenance",
    "maintenance-new": "/maintenance/new",
    "members": "/settings/members",
    "objectives": "/objectives",
    "pauses": "/pauses",
    "quotas": "/settings/quotas",
    "second-factor": "/account/second-factor",
    "secret-new": "/settings/secrets/new",
    "secrets": "/settings/secrets",
    "shares": "/shares",
    "system": "/system",
    "task-backfill": "/tasks/{task}/backfill",
    "task-import": "/tasks/import",
    "usage": "/usage",
    "workers-earlier": "/workers/earlier",
    "zones": "/settings/zones",
}
#: Of a run with more steps and items than a page lists.
LARGE_PAGES = {
    "workflow": "/workflows/{flow}",
    "workflow-last": "/workflows/{flow}?steps_from=100",
    "run": "/workflow-runs/{run}",
    "run-waiting": "/workflow-runs/{run}?only=WAITING",
    "step": "/workflow-runs/{run}/steps/load",
    "step-succeeded": "/workflow-runs/{run}/steps/load?only=SUCCEEDED&page=2",
}
ADMIN_PAGES = {
    "index": "/admin/",
    "tasks": "/admin/tasks/task/",
    "executions": "/admin/executions/execution/",
    "dead-letters": "/admin/executions/deadletter/",
    "users": "/admin/auth/user/",
    "new-key": "/admin/tenants/apikey/add/",
}
#: Opens every part of the form and makes a choice in it.
UNFOLD = """([name, value]) => {
  document.querySelectorAll("#task-form details").forEach((one) => { one.open = true; });
  const field = document.getElementById(name);
  field.value = value;
  field.dispatchEvent(new Event("change", {bubbles: true}));
}"""
#: Opens every fold of a page; returns how many there were.
UNFOLD_ALL = """() => {
  const folds = [...document.querySelectorAll("main details:not(.menu, [open])")];
  folds.forEach((one) => { one.open = true; });
  return folds.length;
}"""
#: Opens every part of the list of a workflow's steps.
UNFOLD_LIST = """() => {
  document.querySelectorAll("#list details.fold").forEach((one) => { one.open = true; });
}"""
CHOSEN = "(select) => select.selectedOptions[0].textContent"
IN_DEMO = """async (path) => {
  const answer = await fetch(path, {headers: {Accept: "text/html"}});
  const found = new DOMParser().parseFromString(await answer.text(), "text/html");
  const link = found.querySelector("[data-row] a[data-open]");
  return link?.getAttribute("href").split(/[/?]/).pop() || "";
}"""


@pytest.fixture(scope="module")
def demo(console: Console, browser: Browser) -> tuple[StorageState, dict[str, str]]:
    """Return a session that looks at a demo tenant, and ids of rows on its pages."""
    made = console.punctual.manage("demo", "seed")
    assert made.returncode == 0, made.stderr
    context = browser.new_context(base_url=console.base)
    page = context.new_page()
    page.goto(console.login_link())
    page.locator("select#tenant").select_option(label="demo")
    expect(page.locator(".flash.success")).to_contain_text("demo")
    page.goto("/alerts")
    expect(page.locator("[data-row]").first).to_be_visible()
    lists = {
        "task": "/tasks?status=SCHEDULED&filter=host:*",
        "paused": "/tasks?status=PAUSED",
        "execution": "/executions?status=SUCCEEDED&window=24h",
        "failed": "/executions?status=FAILED&window=24h",
        "letter": "/dead-letters?view=letters",
        "alert": "/alerts",
        "destination": "/destinations",
        "worker": "/workers",
        "cause": "/dead-letters",
        "workflow": "/workflows",
        "run": "/workflows/{workflow}",
    }
    ids: dict[str, str] = {}
    for name, path in lists.items():
        ids[name] = page.evaluate(IN_DEMO, path.format(**ids))
    assert all(ids.values()), ids
    state = context.storage_state()
    context.close()
    return state, ids


@pytest.fixture(scope="module")
def large(console: Console) -> dict[str, str]:
    """Return a workflow of 120 steps and a run of it, whose fan-out of 120 items has ended."""
    waits = [{"key": f"s{n:03}", "kind": "delay", "delay_seconds": 3600} for n in range(119)]
    target = {"url": console.punctual.target("/ok")}
    load = {"key": "load", "target": target, "for_each": list(range(120)), "payload": "{{ item }}"}
    body = {"name": "Large", "steps": [load, *waits]}
    flow = console.punctual.call("POST", "/v1/workflows", body)["id"]
    run = console.punctual.call("POST", f"/v1/workflows/{flow}/runs", {"input": None})["id"]

    def is_loaded() -> bool:
        shown = console.punctual.call("GET", f"/v1/workflow-runs/{run}")
        return bool(shown["counts"].get("SUCCEEDED") == 1)

    until(is_loaded)
    return {"flow": flow, "run": run}


@pytest.fixture
def tab(
    new_context: Callable[..., Any], demo: tuple[StorageState, dict[str, str]], watch: Watch
) -> Page:
    """Return a tab that looks at the demo tenant, without transitions between colours."""
    context = new_context(storage_state=demo[0], reduced_motion="reduce")
    page: Page = context.new_page()
    watch.attend(page)
    return page


def violations(
    page: Page, rules: list[str] | None = None, *, covered: bool = False, preload: bool = True
) -> list[str]:
    """Run axe; return what it found, by rule and element.

    Where something covers a part of the page, targets below it may be as small as what is left.
    To preload styles that others import, axe makes inline ones, which the policy reports.
    """
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": LEVELS}
    options = {
        "runOnly": only,
        "resultTypes": ["violations"],
        "preload": preload,
        "rules": {"target-size": {"enabled": not covered}},
    }
    found = page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{one['id']}: {node['target']} {node['any'][0]['message'] if node['any'] else ''}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return wide


def in_theme(page: Page, theme: str) -> None:
    """Show the page in the theme, as its button does."""
    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)


def show_whole(page: Page, width: int) -> None:
    """Make the window as high as the page: no bar at its edge covers anything."""
    page.set_viewport_size({"width": width, "height": 700})
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": height})


def themes_of(width: str) -> list[Literal["light", "dark"]]:
    """Return the themes that a page is looked at in."""
    if width == "wide":
        return ["light"]
    return ["dark"] if width == "dark" else ["light", "dark"]


def findings(page: Page, width: str, *, covered: bool = False) -> dict[str, Any]:
    """Return what is wrong at the width: in the light theme, or the dark one, or both if narrow."""
    found: dict[str, Any] = {}
    show_whole(page, WIDTHS[width])
    for theme in themes_of(width):
        in_theme(page, theme)
        of_all = theme == "light"
        found[theme] = violations(page, covered=covered) if of_all else violations(page, OF_COLOURS)
    found["overflow"] = max(0, overflow(page))
    return {where: what for where, what in found.items() if what}


@EACH_WIDTH
@pytest.mark.parametrize("name", PAGES)
def test_every_page_can_be_used_by_everybody(
    name: str, width: str, tab: Page, demo: tuple[StorageState, dict[str, str]], watch: Watch
) -> None:
    is_lost = name in ("refused", "nowhere")
    watch.servers_go_away = is_lost  # the browser reports its 404
    answer = tab.goto(PAGES[name].format(**demo[1]))
    assert answer
    assert answer.status == (404 if is_lost else 200)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    expect(tab.locator("h1")).to_have_count(1)
    if name == "task-new":
        expect(tab.locator("#preview .sentence")).to_be_visible()

    found = findings(tab, width)

    assert not found, json.dumps(found, indent=1)


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", RARE_PAGES)
def test_every_page_of_admins_can_be_used_by_everybody(
    name: str, width: str, tab: Page, demo: tuple[StorageState, dict[str, str]]
) -> None:
    answer = tab.goto(RARE_PAGES[name].format(**demo[1]))
    assert answer
    assert answer.status == 200
    expect(tab.locator("h1")).to_have_count(1)

    found = findings(tab, width)

    assert not found, json.dumps(found, indent=1)


def at_every_width(page: Page, *, covered: bool = False) -> dict[str, Any]:
    """Return what is wrong with the page as it is now, by width."""
    found = {width: findings(page, width, covered=covered) for width in WIDTHS}
    return {width: what for width, what in found.items() if what}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PAGES, *RARE_PAGES])
def test_every_fold_and_menu_of_a_page_can_be_used_by_everybody(
    name: str, tab: Page, demo: tuple[StorageState, dict[str, str]], watch: Watch
) -> None:
    watch.servers_go_away = name in ("refused", "nowhere")  # the browser reports its 404
    tab.goto((PAGES | RARE_PAGES)[name].format(**demo[1]))
    found: dict[str, Any] = {}
    if tab.evaluate(UNFOLD_ALL):
        found["folds"] = at_every_width(tab)
    menus = tab.locator("main details.menu > summary")
    for place in range(menus.count()):
        menu = menus.nth(place)
        label = menu.get_attribute("aria-label") or menu.inner_text()
        menu.click()
        # Rows of a list have the same menu: the first one is looked at.
        if label not in found:
            found[label] = at_every_width(tab, covered=True)
        menu.click()

    assert not any(found.values()), json.dumps(found, indent=1)


@pytest.mark.slow
def test_the_questions_of_a_page_can_be_used_by_everybody(
    tab: Page, demo: tuple[StorageState, dict[str, str]]
) -> None:
    for button in ("Cancel the task", "Delete the task", "Erase the task"):
        tab.goto(f"/tasks/{demo[1]['task']}")
        tab.locator('summary[aria-label="More actions"]').click()
        if button.startswith("Erase"):
            tab.locator("#erase-reason").fill("Asked for by its owner")
        tab.get_by_role("button", name=button).click()
        expect(tab.locator("#confirm-dialog")).to_be_visible()

        found = at_every_width(tab, covered=True)

        assert not found, json.dumps(found, indent=1)


@EACH_WIDTH
@pytest.mark.parametrize("name", LARGE_PAGES)
def test_pages_of_large_runs_can_be_used_by_everybody(
    name: str, width: str, page: Page, large: dict[str, str]
) -> None:
    page.emulate_media(reduced_motion="reduce")
    answer = page.goto(LARGE_PAGES[name].format(**large))
    assert answer
    assert answer.status == 200

    found = findings(page, width)

    assert not found, json.dumps(found, indent=1)


@EACH_WIDTH
@pytest.mark.parametrize("kind", ["webhook", "pool", "handler", "command"])
def test_the_unfolded_form_can_be_used_by_everybody(kind: str, width: str, tab: Page) -> None:
    tab.goto("/tasks/new")
    tab.locator(f'input[name="kind"][value="{kind}"]').check()
    for field, value in (("auth_type", "oauth2"), ("completion", "callback")):
        tab.evaluate(UNFOLD, [field, value])

    found = findings(tab, width)

    assert not found, json.dumps(found, indent=1)


@EACH_WIDTH
@pytest.mark.parametrize(
    "kind", ["webhook", "pool", "handler", "command", "workflow", "wait_for_event"]
)
def test_the_unfolded_list_of_a_workflow_can_be_used_by_everybody(
    kind: str, width: str, tab: Page
) -> None:
    tab.goto("/workflows/new")
    tab.locator("#step-2 > summary").click()
    tab.locator("#s2-kind").select_option(kind)
    expect(tab.locator("#step-2 .tag")).to_have_text(tab.locator("#s2-kind").evaluate(CHOSEN))
    if kind in ("webhook", "pool", "handler", "command"):
        tab.evaluate(UNFOLD_LIST)
        tab.locator("#s2-compensate-kind").select_option(kind)
        expect(tab.locator("#s2-compensate-payload")).to_be_visible()
    tab.locator("#s0-name").fill("")
    tab.keyboard.press("Enter")
    expect(tab.locator("#s0-name-error")).to_be_visible()
    tab.evaluate(UNFOLD_LIST)

    found = findings(tab, width)

    assert not found, json.dumps(found, indent=1)


@EACH_WIDTH
@pytest.mark.parametrize("name", ADMIN_PAGES)
def test_the_admin_can_be_used_by_everybody(name: str, width: str, tab: Page) -> None:
    found: dict[str, Any] = {}
    for theme in themes_of(width):
        # Loaded in its theme: the admin's links fade from one colour to another.
        tab.emulate_media(color_scheme=theme)
        answer = tab.goto(ADMIN_PAGES[name])
        assert answer
        assert answer.status == 200
        show_whole(tab, WIDTHS[width])
        found[theme] = violations(tab, preload=False)

    assert not any(found.values()), json.dumps(found, indent=1)


@EACH_WIDTH
def test_the_way_in_can_be_used_by_everybody(width: str, stranger: Page) -> None:
    stranger.goto("/login")

    found = findings(stranger, width)

    assert not found, json.dumps(found, indent=1)


@EACH_WIDTH
def test_what_opens_over_a_page_can_be_used_by_everybody(width: str, tab: Page) -> None:
    tab.goto("/tasks")
    tab.locator("#palette-open").click()
    tab.keyboard.type("every 5")
    expect(tab.get_by_role("option", name="Every 5 seconds")).to_be_visible()
    found = findings(tab, width, covered=True)
    assert not found, json.dumps(found, indent=1)
    tab.keyboard.press("Escape")
    tab.locator('summary[aria-label^="Account"]').click()
    found = findings(tab, width, covered=True)
    assert not found, json.dumps(found, indent=1)

    tab.goto("/settings")
    show_whole(tab, WIDTHS["wide"])
    tab.get_by_role("button", name="Toast").click()
    expect(tab.locator("#toasts .toast").first).to_be_visible()
    tab.keyboard.press("?")
    expect(tab.locator("#help-dialog")).to_be_visible()
    found = findings(tab, width, covered=True)
    assert not found, json.dumps(found, indent=1)
