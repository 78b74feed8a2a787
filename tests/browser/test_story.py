"""The story of a first evening: from the printed link to a dead letter that was mended."""

from __future__ import annotations

import json
import re
from email.message import EmailMessage

from playwright.sync_api import Page, expect

from tests.browser.console import Console
from tests.support.waiting import until

ADDRESS = "night.shift@example.test"


def test_a_first_evening_from_the_printed_link_to_a_mended_dead_letter(
    console: Console, stranger: Page
) -> None:
    page = stranger
    _sign_in_by_the_printed_link(page, console)
    _ask_for_messages(page, console)
    _create_the_example(page, console)
    _watch_it_run(page)
    task = _create_one_that_fails(page, console)
    _follow_the_toast(page)
    _find_the_cause(page)
    _read_the_mail(console)
    _mend_the_address(page, console, task)
    _retry_with_another_payload(page, console)


def _sign_in_by_the_printed_link(page: Page, console: Console) -> None:
    link = console.login_link()
    page.goto(link)
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="A first working task in a minute")).to_be_visible()
    expect(page.locator("#live-text")).to_have_text("live")
    console.remember(page.context)
    # Whoever finds the link in a log comes too late.
    second = page.context.browser.new_context()  # type: ignore[union-attr]  # it has one
    other = second.new_page()
    other.goto(link)
    expect(other).to_have_url(re.compile("/login$"))
    second.close()


def _ask_for_messages(page: Page, console: Console) -> None:
    page.get_by_role("link", name="Choose how failures reach you").click()
    page.get_by_label("E-mail address").fill(ADDRESS)
    reached = page.get_by_role("group", name="Alerts that reach me")
    reached.get_by_role("button", name="Save").click()
    expect(page.locator(".flash.success")).to_be_visible()
    # Nothing goes there before its owner has agreed.
    asked = until(lambda: _messages_about(console, "Confirm your address"))[-1]
    assert asked["To"] == ADDRESS
    body = asked.get_body(("plain",))
    assert body is not None
    link = re.search(r"http\S+", body.get_content())
    assert link
    settings = page.url
    page.goto(link[0])
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", name="Address confirmed")).to_be_visible()
    page.goto(settings)


def _create_the_example(page: Page, console: Console) -> None:
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="Create a task").click()
    preview = page.locator("#preview")
    fires = preview.locator("tbody tr")
    expect(preview.locator(".sentence")).to_contain_text("Every 10 seconds")
    expect(fires).to_have_count(10)

    # By cron instead, typed as a person types: words and fires follow, so does the complaint.
    page.get_by_label("By cron").check()
    cron = page.get_by_label("Cron expression")
    cron.press_sequentially("0 8 * * 61", delay=15)
    expect(preview.locator(".error-text").first).to_be_visible()
    expect(fires).to_have_count(0)
    cron.fill("")
    cron.press_sequentially("30 8 * * mon-fri", delay=15)
    expect(preview.locator(".sentence")).to_contain_text("8:30")
    expect(fires).to_have_count(10)
    expect(fires.first).to_contain_text("08:30:00")

    page.get_by_role("button", name="Send test now").click()
    result = page.locator("#test-result")
    expect(result).to_contain_text("Answer 200")
    expect(result.locator("svg").first).to_be_visible()
    expect(result.get_by_label("Answer body")).to_contain_text('"ok": true')
    assert console.punctual.received("/ok")[-1]["body"] == '{"hello":"world"}'

    # Every second, so that it can be watched.
    cron.fill("* * * * * *")
    expect(preview.locator(".sentence")).to_contain_text("second")
    page.get_by_label("Name", exact=True).fill("Every second")
    page.get_by_role("button", name="Create the task").click()
    expect(page.get_by_role("heading", name="Every second", level=1)).to_be_visible()


def _watch_it_run(page: Page) -> None:
    runs = page.locator("section").filter(has_text="Latest runs").locator("tbody tr[data-row]")
    expect(runs.filter(has_text="succeeded").first).to_be_visible()
    page.evaluate("window.notReloaded = true")
    # By their ids: the list has at most ten rows, and the oldest leave it.
    before = [row.get_attribute("data-row") for row in runs.all()]
    page.wait_for_function(
        """(before) => [...document.querySelectorAll('tr[data-row]')]
          .filter((row) => !before.includes(row.dataset.row)).length > 1""",
        arg=before,
    )
    assert page.evaluate("window.notReloaded")
    expect(page.locator("#task svg").first).to_be_visible()
    # Enough was seen; a page of another task is calmer without it.
    page.locator("summary", has_text="Pause").click()
    page.get_by_role("button", name="Pause the task").click()
    expect(page.locator(".flash.warning")).to_contain_text("Paused")


def _create_one_that_fails(page: Page, console: Console) -> str:
    page.get_by_role("link", name="Tasks", exact=True).first.click()
    page.get_by_role("link", name="New task").click()
    page.get_by_label("Name", exact=True).fill("Nightly invoices")
    page.get_by_label("Address").fill(console.punctual.target("/status/503"))
    page.get_by_label("Payload").fill('{"invoice": 41}')
    page.get_by_label("Once, after a delay").check()
    page.get_by_label("Delay in seconds").fill("1")
    page.get_by_text("If it fails").click()
    page.get_by_role("textbox", name="Attempts").fill("2")
    page.get_by_label("First wait, in seconds").fill("0.5")
    page.get_by_role("button", name="Create the task").click()
    expect(page.get_by_role("heading", name="Nightly invoices", level=1)).to_be_visible()
    page.evaluate("window.notReloaded = true")
    return page.url.rsplit("/", 1)[1]


def _follow_the_toast(page: Page) -> None:
    toast = page.locator("#toasts .toast").filter(has_text="Nightly invoices")
    # It stays while the mouse is over it.
    toast.first.hover()
    expect(page.locator("#task").get_by_text("failed").first).to_be_visible()
    assert page.evaluate("window.notReloaded")
    toast.first.get_by_role("link").click()


def _read_the_mail(console: Console) -> None:
    # A sender that was lost holds its claim for two minutes; another one sends it then.
    message = until(lambda: _messages_about(console, "Nightly invoices"), timeout=200.0)[-1]
    assert message["To"] == ADDRESS
    assert "503" in message["Subject"]
    body = message.get_body(("plain",))
    assert body is not None
    text = body.get_content()
    assert "127.0.0.1" in text
    assert f"{console.base}/executions/" in text
    # As the bytes came over the wire: a mail that a strict server takes.
    assert all(line.endswith(b"\r") for line in console.mail.raw[-1].split(b"\n")[:-1])


def _messages_about(console: Console, name: str) -> list[EmailMessage]:
    return [one for one in console.mail.messages if name in one["Subject"]]


def _find_the_cause(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text("Nightly invoices")
    page.locator("dt:has-text('First execution') + dd a").click()

    expect(page.locator(".flash.error")).to_contain_text("503")
    expect(page.get_by_role("region", name="Path")).to_contain_text("failed")
    attempts = page.get_by_role("region", name=re.compile(r"^Attempt \d"))
    expect(attempts).to_have_count(2)
    expect(attempts.first).to_contain_text("503")
    expect(page.get_by_label(re.compile("^Answer body of attempt")).first).to_be_visible()
    expect(page.get_by_label("Payload", exact=True).first).to_contain_text('"invoice": 41')


def _mend_the_address(page: Page, console: Console, task: str) -> None:
    page.goto(f"/tasks/{task}/edit")
    page.get_by_label("Address").fill(console.punctual.target("/ok"))
    page.get_by_role("button", name="Save as version 2").click()
    expect(page.locator(".flash.success")).to_contain_text("Saved")


def _retry_with_another_payload(page: Page, console: Console) -> None:
    page.get_by_role("link", name=re.compile("^Dead letters")).click()
    page.get_by_role("link", name="HTTP 503").click()
    page.get_by_role("link", name="Nightly invoices").click()
    letter = page.url.rsplit("/", 1)[1]
    field = page.get_by_label("What the next attempt sends (JSON)")
    expect(field).to_have_value(re.compile('"invoice": 41'))
    field.fill('{"invoice": 42}')
    page.get_by_role("button", name="Retry with this payload").click()

    # This is the new execution; its success comes by itself.
    expect(page).to_have_url(re.compile("/executions/"))
    page.evaluate("window.notReloaded = true")
    expect(page.locator("header.page-head")).to_contain_text("succeeded")
    assert page.evaluate("window.notReloaded")
    execution = page.url.rsplit("/", 1)[1]
    (request,) = console.punctual.received("/ok", webhook_id=execution)
    assert json.loads(request["body"]) == {"invoice": 42}

    page.goto(f"/dead-letters/{letter}")
    expect(page.locator(".note")).to_contain_text("Resolved as retried")
    expect(page.locator('pre[aria-label="Payload"]')).to_contain_text('"invoice": 41')
    expect(page.get_by_label("Edited payload")).to_contain_text('"invoice": 42')
