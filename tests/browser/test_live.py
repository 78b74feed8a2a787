"""Live pages: nothing moves under the hand, and every server may die and come back."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.console import Console, Watch, row_of

STATE = "#live"


def marked(page: Page, path: str) -> Page:
    """Open a page, wait until it is live, and leave a mark that a reload would take away."""
    page.goto(path)
    expect(page.locator("#live-text")).to_have_text("live")
    page.evaluate("window.notReloaded = true")
    return page


def run_once(console: Console, name: str) -> dict[str, Any]:
    return console.create_task(name, "/ok")


def test_rows_wait_behind_a_pill_while_the_list_is_in_use(console: Console, page: Page) -> None:
    seen = run_once(console, "Seen at first")
    console.last_execution(seen["id"])
    marked(page, "/executions")
    row = row_of(page, "Seen at first").first
    row.hover()
    place = row.bounding_box()

    run_once(console, "Came while hovering")

    pill = page.locator("button.pill")
    expect(pill).to_contain_text("new")
    expect(row_of(page, "Came while hovering")).to_have_count(0)
    after = row.bounding_box()
    assert place is not None
    assert after == place
    pill.click()
    expect(row_of(page, "Came while hovering")).to_have_count(1)
    assert page.evaluate("window.notReloaded")


def test_r_pauses_the_page_and_takes_all_when_it_goes_on(console: Console, page: Page) -> None:
    marked(page, "/executions")
    page.keyboard.press("r")
    expect(page.locator("#live-text")).to_contain_text("paused")
    expect(page.locator(STATE)).to_have_attribute("aria-pressed", "false")

    task = run_once(console, "Ran during the pause")
    console.last_execution(task["id"])
    # The list is asked for by another tab: had this one been live, it would have followed.
    other = page.context.new_page()
    other.goto("/executions")
    expect(row_of(other, "Ran during the pause")).to_have_count(1)
    other.close()
    expect(row_of(page, "Ran during the pause")).to_have_count(0)

    page.keyboard.press("r")
    expect(row_of(page, "Ran during the pause")).to_have_count(1)
    assert page.evaluate("window.notReloaded")


def test_a_killed_web_server_is_found_again_without_a_reload(
    console: Console, page: Page, watch: Watch
) -> None:
    watch.servers_go_away = True
    marked(page, "/executions")

    console.kill("web")

    expect(page.locator("#live-text")).to_contain_text("reconnecting")
    expect(page.locator("#live-text")).to_have_text("live", timeout=180_000)
    run_once(console, "After the web server died")
    expect(row_of(page, "After the web server died")).to_have_count(1)
    assert page.evaluate("window.notReloaded")


def test_a_killed_valkey_is_survived_without_a_reload(
    console: Console, page: Page, watch: Watch
) -> None:
    watch.servers_go_away = True
    marked(page, "/executions")

    console.kill("valkey")

    task = run_once(console, "After Valkey died")
    expect(row_of(page, "After Valkey died")).to_contain_text("succeeded", timeout=180_000)
    expect(page.locator("#live-text")).to_have_text("live", timeout=180_000)
    assert console.last_execution(task["id"])["status"] == "SUCCEEDED"
    assert page.evaluate("window.notReloaded")


def test_a_network_that_was_away_leaves_no_gap(console: Console, page: Page, watch: Watch) -> None:
    watch.servers_go_away = True
    marked(page, "/executions")

    page.context.set_offline(True)
    task = run_once(console, "While the network was away")
    console.last_execution(task["id"])
    page.context.set_offline(False)

    expect(row_of(page, "While the network was away")).to_contain_text("succeeded")
    expect(page.locator("#live-text")).to_have_text("live")
    assert page.evaluate("window.notReloaded")


def test_signing_out_in_another_tab_ends_this_one_too(console: Console, stranger: Page) -> None:
    # A session of its own: the other tests go on with theirs.
    page = stranger
    page.goto(console.login_link())
    marked(page, "/executions")
    other = page.context.new_page()
    other.goto("/")
    other.locator('summary[aria-label^="Account"]').click()
    other.get_by_role("button", name="Sign out").click()
    expect(other).to_have_url(re.compile("/login"))

    page.keyboard.press("r")
    page.keyboard.press("r")

    expect(page).to_have_url(re.compile("/login"))
    expect(page.get_by_role("heading", name="Sign in to Punctual")).to_be_visible()


def test_a_page_that_is_being_left_is_not_read_again(page: Page) -> None:
    page.clock.install()
    page.goto("/executions")
    expect(page.locator("#live-text")).to_have_text("live")
    # What the browser says first when a form or a link leads away.
    page.evaluate("window.dispatchEvent(new Event('beforeunload', { cancelable: true }))")
    page.evaluate(
        """() => {
          window.reads = 0;
          const fetched = window.fetch;
          window.fetch = (...asked) => { window.reads += 1; return fetched(...asked); };
        }"""
    )

    seen = []
    for _ in range(2):
        page.evaluate("document.dispatchEvent(new CustomEvent('live:refresh'))")
        page.clock.fast_forward(6000)
        seen.append(page.evaluate("window.reads"))

    assert seen[0] == 0
    assert seen[1] > 0


def test_a_page_whose_task_was_deleted_elsewhere_says_so(
    console: Console, page: Page, watch: Watch
) -> None:
    watch.servers_go_away = True  # the browser reports the 404
    at = {"cron_expression": "0 0 1 1 *", "timezone": "UTC"}
    task = console.create_task("Deleted elsewhere", "/ok", schedule=at)
    marked(page, f"/tasks/{task['id']}")

    status, _ = console.punctual.answer("DELETE", f"/v1/tasks/{task['id']}")

    assert status == 204
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()


def test_a_second_tab_is_told_of_a_run_in_which_no_execution_moves(
    console: Console, page: Page
) -> None:
    body = {"name": "Waits", "steps": [{"key": "ok", "kind": "approval"}]}
    flow = console.punctual.call("POST", "/v1/workflows", body)
    run = console.punctual.call("POST", f"/v1/workflows/{flow['id']}/runs", {"input": None})
    address = f"/workflow-runs/{run['id']}"
    with page.expect_websocket() as opening:
        marked(page, address)
    expect(page.get_by_role("button", name="Approve")).to_be_visible()

    # The page asks by the clock, too: that it is told is what the frame says.
    with opening.value.expect_event("framereceived", is_of_executions):
        console.punctual.call("POST", f"/v1{address}/pause")

    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert page.evaluate("window.notReloaded")


def test_a_part_that_has_not_changed_is_not_sent_again_and_stays(
    console: Console, page: Page
) -> None:
    body = {"name": "Waits on", "steps": [{"key": "ok", "kind": "approval"}]}
    flow = console.punctual.call("POST", "/v1/workflows", body)
    run = console.punctual.call("POST", f"/v1/workflows/{flow['id']}/runs", {"input": None})
    address = f"/workflow-runs/{run['id']}"
    marked(page, address)
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    page.evaluate("document.querySelector('#run-graph svg').drawn = 'once'")

    with page.expect_response(lambda one: "x-live-have" in one.request.headers) as asked:
        console.punctual.call("POST", f"/v1{address}/pause")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()

    assert '<div id="run-graph" class="part" data-unchanged></div>' in asked.value.text()
    assert page.evaluate("document.querySelector('#run-graph svg').drawn") == "once"


def test_an_open_menu_stays_and_an_edited_field_does_not_keep_its_part_stale(
    console: Console, page: Page
) -> None:
    body = {"name": "Is edited", "steps": [{"key": "ok", "kind": "approval"}]}
    flow = console.punctual.call("POST", "/v1/workflows", body)
    run = console.punctual.call("POST", f"/v1/workflows/{flow['id']}/runs", {"input": None})
    marked(page, f"/workflow-runs/{run['id']}")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    menu, part = page.locator("summary", has_text="Retry"), page.locator("#run-retry")
    menu.click()

    console.punctual.call("PUT", f"/v1/workflows/{flow['id']}", {**body, "name": "Is edited 2"})
    read_again(page)
    expect(part.locator("#version")).to_have_value("original")
    expect(part.locator("#version-hint")).to_have_count(0)
    menu.click()
    read_again(page)
    expect(part.locator("#version")).to_have_value("latest")

    menu.click()
    part.locator("#input").fill('{"day": 1}')
    menu.click()
    console.punctual.call("PUT", f"/v1/workflows/{flow['id']}", {**body, "name": "Is edited 3"})
    read_again(page)
    expect(part).to_contain_text("3, the latest")
    expect(part.locator("#input")).to_have_value('{"day": 1}')
    # It is not all that its version says: it is sent again until it is.
    expect(page.locator("#run-retry[data-version]")).to_have_count(0)
    part.locator("#input").evaluate("field => { field.value = field.defaultValue; }")
    read_again(page)
    expect(page.locator("#run-retry[data-version]")).to_have_count(1)


def read_again(page: Page) -> None:
    """Let the page read itself again, and wait until it shows what it has read."""
    for _ in range(2):
        page.evaluate(
            """() => new Promise((done) => {
              document.addEventListener("live:morphed", () => done(), { once: true });
              document.dispatchEvent(new CustomEvent("live:refresh"));
            })"""
        )


def is_of_executions(frame: str | bytes) -> bool:
    return bool(json.loads(frame).get("topic") == "executions")


def test_a_toast_leads_to_pages_of_this_host_only(console: Console, page: Page) -> None:
    marked(page, "/executions")

    led = page.evaluate(
        """async (urls) => {
          const { toast } = await import("/static/js/toasts.js");
          return urls.map((url) => {
            document.getElementById("toasts").replaceChildren();
            toast({ id: "x", severity: "error", title: "x", url });
            return document.querySelector("#toasts a").getAttribute("href");
          });
        }""",
        [
            *("//evil.example/x", "/\\evil.example", "/\t/evil.example", "https://evil.example/"),
            *("javascript:alert(1)", "", None, "/tasks/1?a=b#c"),
        ],
    )

    assert led == ["/alerts"] * 7 + ["/tasks/1?a=b#c"]
