"""What the first page weighs, and what is left of the console without scripts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.console import Console, Watch, row_of

KB = 1000


@pytest.mark.parametrize("path", ["/", "/executions", "/tasks/new", "/workflows/new"])
def test_whichever_page_is_the_first_is_light(page: Page, path: str) -> None:
    whole, bodies = _weights(page, path)

    assert sum(whole.values()) < 150 * KB, whole
    assert bodies["Script"] < 60 * KB, bodies


def _weights(page: Page, path: str) -> tuple[dict[str, float], dict[str, float]]:
    """Open the page with an empty cache; return the bytes on the wire by kind of file.

    First with the headers of each answer, then the compressed bodies alone.
    """
    kinds: dict[str, str] = {}
    whole: dict[str, float] = defaultdict(float)
    bodies: dict[str, float] = defaultdict(float)

    def note_kind(event: dict[str, Any]) -> None:
        kinds[event["requestId"]] = event["type"]

    def note_body(event: dict[str, Any]) -> None:
        bodies[kinds.get(event["requestId"], "Other")] += event["encodedDataLength"]

    def note_whole(event: dict[str, Any]) -> None:
        whole[kinds.get(event["requestId"], "Other")] += event["encodedDataLength"]

    protocol = page.context.new_cdp_session(page)
    protocol.on("Network.responseReceived", note_kind)
    protocol.on("Network.dataReceived", note_body)
    protocol.on("Network.loadingFinished", note_whole)
    protocol.send("Network.enable")
    protocol.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.goto(path, wait_until="load")
    expect(page.locator("#live-text")).to_have_text("live")
    # What the page asks for again once it is live belongs to the next minute.
    return dict(whole), dict(bodies)


def test_the_console_can_be_read_and_a_letter_retried_without_scripts(
    console: Console, new_context: Callable[..., Any], watch: Watch
) -> None:
    task = console.create_task("Without scripts", "/status/504")
    letter = console.dead_letter(task["id"])
    context = new_context(java_script_enabled=False)
    console.sign_in(context)
    page: Page = context.new_page()
    watch.attend(page)

    page.goto("/")
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    for path in ("/tasks", "/executions", "/workers", "/alerts", "/settings", "/bulk-jobs"):
        page.goto(path)
        expect(page.locator("main h1")).to_be_visible()
    page.goto("/search?q=Without")
    expect(page.locator(".results a").first).to_contain_text("Without scripts")

    page.goto("/dead-letters?view=letters")
    row_of(page, "Without scripts").get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(letter["id"]))
    page.get_by_label("What the next attempt sends (JSON)").fill('{"n": 2}')
    page.get_by_role("button", name="Retry with this payload").click()

    expect(page).to_have_url(re.compile("/executions/"))
    expect(page.locator('[role="status"].flash')).to_contain_text("Retry requested")
    execution = page.url.rsplit("/", 1)[1]
    assert console.last_execution(task["id"])["id"] == execution
    page.reload()
    expect(page.locator("header.page-head")).to_contain_text("failed")
    assert console.punctual.received("/status/504", webhook_id=execution)[0]["body"] == '{"n":2}'


def test_a_task_is_created_and_pasted_without_scripts(
    console: Console, new_context: Callable[..., Any], watch: Watch
) -> None:
    context = new_context(java_script_enabled=False)
    console.sign_in(context)
    page: Page = context.new_page()
    watch.attend(page)

    page.goto("/tasks/new")
    page.locator("summary", has_text="Paste a crontab line").click()
    page.get_by_label("Crontab line or curl command").fill(
        f"15 6 * * 1 curl -X PUT {console.punctual.target('/ok')}"
    )
    page.get_by_role("button", name="Fill the form").click()
    expect(page.get_by_label("Cron expression")).to_have_value("15 6 * * 1")
    page.get_by_label("Name", exact=True).fill("Pasted")
    page.get_by_role("button", name="Create the task").click()

    expect(page.get_by_role("heading", name="Pasted", level=1)).to_be_visible()
    expect(page.locator("main")).to_contain_text("PUT")
