"""What is about delivery, in a browser: kinds of targets, pools, destinations, the phone's menu."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.console import Console, Watch, press_together, row_of


def fill_once(page: Page, name: str) -> None:
    """Fill what every task needs: a name, and once, in an hour."""
    page.goto("/tasks/new")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Once, after a delay").check()
    page.get_by_label("Delay in seconds").fill("3600")


def test_the_form_shows_what_the_kind_of_target_needs(page: Page):
    fill_once(page, "Shown")
    url = page.get_by_label("Address", exact=True)
    handler = page.get_by_label("Handler", exact=True)

    expect(url).to_be_visible()
    expect(handler).to_be_hidden()
    page.get_by_label("A handler in Python").check()
    expect(url).to_be_hidden()
    expect(handler).to_be_visible()
    expect(page.get_by_role("button", name="Send test now")).to_be_hidden()


def test_a_pool_is_made_and_a_task_sent_to_it(page: Page, console: Console):
    page.goto("/pools")
    page.get_by_label("Name", exact=True).fill("browser-etl")
    page.get_by_role("button", name="Create the pool").click()
    expect(page.get_by_role("heading", name="browser-etl")).to_be_visible()
    expect(page.locator("#call-2")).to_contain_text("/v1/pools/browser-etl/lease")

    fill_once(page, "Invoices of the pool")
    page.get_by_label("Workers of a pool").check()
    page.get_by_label("Pool", exact=True).select_option("browser-etl")
    page.get_by_label("What the worker shall do").fill("generate_invoices")
    page.get_by_role("button", name="Create the task").click()

    expect(page.get_by_role("heading", name="Invoices of the pool")).to_be_visible()
    page.get_by_role("link", name="browser-etl").click()
    expect(page.get_by_role("link", name="Invoices of the pool")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".flash.success")).to_contain_text("Paused")


def test_a_secret_is_typed_once_and_stays(page: Page, console: Console):
    fill_once(page, "With a secret")
    page.get_by_label("Address", exact=True).fill(console.punctual.target("/ok"))
    page.get_by_text("More about the call").click()
    page.get_by_text("Authentication", exact=True).click()
    page.get_by_label("It proves itself with").select_option("bearer")
    page.get_by_label("Token", exact=True).fill("s3cret-of-the-browser")
    page.get_by_role("button", name="Create the task").click()
    expect(page.get_by_text("a bearer token")).to_be_visible()

    page.get_by_role("link", name="Edit").click()
    token = page.get_by_label("Token", exact=True)
    expect(token).to_be_visible()
    expect(token).to_have_value("")
    expect(token).to_have_attribute("placeholder", "stored")
    assert "s3cret-of-the-browser" not in page.content()
    page.get_by_label("Name", exact=True).fill("With a kept secret")
    page.get_by_role("button", name="Save as version 2").click()
    expect(page.get_by_text("a bearer token")).to_be_visible()


def test_a_destination_is_found_by_keyboard_and_limited(page: Page, console: Console):
    console.create_task("Calls a destination", "/ok", schedule={"every": "P1D"})
    page.goto("/")
    press_together(page, "gh", re.compile("/destinations"))
    expect(page.get_by_role("heading", name="Destinations")).to_be_visible()
    host = f"127.0.0.1:{console.punctual.receiver_port}"
    row_of(page, host).get_by_role("link", name=host).click()

    expect(page.get_by_role("link", name="Calls a destination")).to_be_visible()
    page.get_by_label("Requests at a time").fill("50")
    page.get_by_role("button", name="Save the limits").click()
    expect(page.locator(".flash.success")).to_contain_text("Saved")
    expect(page.get_by_label("Requests at a time")).to_have_value("50")
    page.get_by_role("button", name="Reset the circuit").click()
    page.locator("#confirm-ok").click()
    expect(page.locator(".flash.success")).to_contain_text("Circuit reset")


def test_a_worker_shows_what_it_does(page: Page):
    page.goto("/workers")
    page.locator("a.name").first.click()

    expect(page.get_by_role("heading", name="Facts")).to_be_visible()


def test_every_place_can_be_reached_on_a_phone(
    new_context: Callable[..., BrowserContext], console: Console, watch: Watch
):
    context = new_context(viewport={"width": 360, "height": 740})
    console.sign_in(context)
    page = context.new_page()
    watch.attend(page)
    page.goto("/")
    places = page.locator(".rail ul:first-of-type > li > a").evaluate_all(
        "links => links.map((link) => link.getAttribute('href'))"
    )

    for path in places:
        link = page.locator(f'.rail a[href="{path}"]:visible')
        if not link.count():
            page.locator(".rail-more > summary").click()
        link.first.click()
        page.wait_for_url(f"**{path}")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, (path, wide)


def test_a_task_of_another_kind_is_made_without_javascript(
    new_context: Callable[..., BrowserContext], console: Console
):
    context = new_context(java_script_enabled=False)
    console.sign_in(context)
    page = context.new_page()
    page.goto("/tasks/new")

    page.get_by_label("A handler in Python").check()
    page.get_by_label("Handler", exact=True).fill("reports.daily")
    page.get_by_label("Cron expression").fill("0 8 * * *")
    page.get_by_role("button", name="Create the task").click()

    expect(page.get_by_text("reports.daily").first).to_be_visible()
