"""Forms: whatever becomes of the server meanwhile, what was typed stays on the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.console import Console, Watch

SECRET = "Authorization: Bearer of-nobody"
STORES = "() => JSON.stringify([{...localStorage}, {...sessionStorage}])"


@pytest.fixture(autouse=True)
def _calls_fail(watch: Watch) -> None:
    watch.servers_go_away = True


@pytest.fixture
def bulk_form(console: Console, page: Page) -> Page:
    """Open the form of a bulk run, with something typed."""
    yearly = {"cron_expression": "0 0 1 1 *", "timezone": "UTC"}
    task = console.create_task("Run in bulk", "/ok", schedule=yearly)
    page.goto(f"/bulk-jobs/new?kind=tasks&action=run&ids={task['id']}")
    page.locator("#name").fill("After the outage")
    return page


def _failures() -> list[Any]:
    return [
        pytest.param(lambda route: route.abort(), "does not answer", id="network"),
        pytest.param(lambda route: route.fulfill(status=500, body="<h1>no"), "(500)", id="500"),
        pytest.param(lambda route: route.fulfill(status=502, body=""), "(502)", id="proxy"),
    ]


@pytest.mark.parametrize(("fail", "told"), _failures())
def test_a_form_that_no_server_takes_stays_as_it_was_and_goes_out_later(
    bulk_form: Page, fail: Callable[[Route], None], told: str
) -> None:
    page = bulk_form
    page.route("**/bulk-jobs/create", fail)
    page.locator("main form button.primary").click()

    expect(page.locator("main form [role=alert]")).to_contain_text(told)
    expect(page.locator("#name")).to_have_value("After the outage")
    page.unroute("**/bulk-jobs/create")
    page.locator("main form button.primary").click()
    expect(page).to_have_url(re.compile(r"/bulk-jobs/[0-9a-f-]{36}"))
    expect(page.locator("main")).to_contain_text("After the outage")


def test_a_bad_value_is_marked_at_its_field_and_the_others_stay(bulk_form: Page) -> None:
    page = bulk_form
    page.locator("#rate_per_second").fill("many")
    page.locator("main form button.primary").click()

    expect(page.locator("#rate_per_second")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#rate_per_second")).to_be_focused()
    expect(page.locator("[data-sent-error]")).to_contain_text("must be a number")
    expect(page.locator("#name")).to_have_value("After the outage")
    page.locator("#rate_per_second").fill("5")
    page.locator("main form button.primary").click()
    expect(page).to_have_url(re.compile(r"/bulk-jobs/[0-9a-f-]{36}"))


def test_a_new_task_outlives_the_servers_absence_and_the_end_of_the_session(
    console: Console, page: Page
) -> None:
    page.goto("/tasks/new")
    page.locator("#name").fill("Typed in vain?")
    page.locator("#url").fill(console.punctual.target("/ok"))
    for fold in page.locator("details:has(#headers) > summary").all():
        fold.click()
    page.locator("#headers").fill(SECRET)
    page.locator("#cron_expression").fill("0 0 1 1 *")
    page.route("**/pulse", lambda route: route.abort())
    page.locator("#save").click()
    expect(page.locator("#task-form [role=alert]")).to_contain_text("does not answer")

    page.unroute("**/pulse")
    cookies = page.context.cookies()
    page.context.clear_cookies(name="sessionid")
    page.locator("#save").click()
    expect(page.locator("#task-form [role=alert]")).to_contain_text("session has ended")
    assert "of-nobody" not in page.evaluate(STORES)
    assert "Typed in vain?" in page.evaluate(STORES)
    # Not sent: the draft is still there on any other page, too.
    assert "draft-sent" not in page.evaluate(STORES)

    page.context.add_cookies(cookies)  # type: ignore[arg-type]  # what it gave
    page.locator("#save").click()
    expect(page.locator("h1")).to_contain_text("Typed in vain?")
    page.wait_for_function(f"() => !({STORES})().includes('Typed in vain?')")


def test_the_end_of_a_session_takes_no_typed_text_away(page: Page) -> None:
    page.goto("/tasks/new")
    expect(page.locator("#live-text")).to_have_text("live")
    page.locator("#name").fill("Half a name")
    cookies = page.context.cookies()
    page.context.clear_cookies(name="sessionid")
    page.evaluate("document.dispatchEvent(new CustomEvent('live:refresh'))")

    expect(page.locator("#stale")).to_contain_text("Your session has ended")
    expect(page.locator("#name")).to_have_value("Half a name")
    page.context.add_cookies(cookies)  # type: ignore[arg-type]  # what it gave
    expect(page.locator("#stale")).to_be_hidden()
    expect(page.locator("#name")).to_have_value("Half a name")

    # What comes back is shown as it was, and only to the person who typed it.
    page.get_by_label("At a fixed rate").check()
    page.locator("#url").fill("https://api.example.com/jobs?token=of-nobody")
    page.evaluate("() => sessionStorage.setItem('draft:0:of-another-person', '{}')")
    page.reload()
    page.get_by_role("button", name="Continue with it").click()
    expect(page.locator("#name")).to_have_value("Half a name")
    expect(page.locator("#every_count")).to_be_visible()
    expect(page.locator("#cron_expression")).to_be_hidden()
    expect(page.locator("#url")).to_have_value("")
    page.wait_for_function(f"() => !({STORES})().includes('of-another-person')")
    assert "of-nobody" not in page.evaluate(STORES)
    page.reload()
    page.get_by_role("button", name="Discard it").click()
    page.reload()
    expect(page.locator("#live-text")).to_have_text("live")
    expect(page.locator(".draft")).to_have_count(0)


def test_without_scripts_a_form_is_kept_until_one_has_signed_in(
    console: Console, new_context: Callable[..., Any], watch: Watch
) -> None:
    context = new_context(java_script_enabled=False)
    console.sign_in(context)
    page = context.new_page()
    page.goto("/tasks/new")
    page.locator("#name").fill("Kept without scripts")
    page.locator("#url").fill(console.punctual.target("/ok"))
    page.locator("#cron_expression").fill("0 0 1 1 *")
    cookies = context.cookies()
    context.clear_cookies(name="sessionid")
    page.locator("#save").click()
    expect(page.locator("h1")).to_have_text("Sign in, then send the form again")

    context.add_cookies(cookies)
    page.get_by_role("button", name="Send it again").click()
    expect(page.locator("h1")).to_contain_text("Kept without scripts")
