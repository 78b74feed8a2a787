"""The list editor of a workflow: built, saved, undone and mended by the list alone."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.browser.console import Console, Watch

#: The requests of changes in the list.
CHANGES = "**/workflows/list"
#: A definition with a comment, for the list to show.
TEXT = """\
# The nightly report.
name: Report
steps:
  - key: extract
    target: {url: "https://api.example.com/extract"}
  - key: load
    depends_on: [extract]
    target: {url: "https://api.example.com/load"}
"""


#: The same as the list writes it, under another name.
WRITTEN = """\
name: Changed
steps:
- key: extract
  target:
    url: https://api.example.com/extract
- key: load
  depends_on:
  - extract
  target:
    url: https://api.example.com/load
"""


def card(page: Page, place: int) -> Any:
    """Return the card at a place of the list, from 1."""
    return page.locator("#list-cards > li").nth(place - 1)


def show_text(page: Page, text: str) -> None:
    """Write a text, and show it as a list."""
    page.goto("/workflows/new?view=text")
    page.get_by_label("Definition (YAML or JSON)").fill(text)
    page.get_by_role("button", name="As a list").click()
    expect(page.locator("#list[data-mode=list]")).to_be_visible()


def hold_changes(page: Page) -> list[Route]:
    """Keep the requests of changes from the server; return the list that they come into."""
    held: list[Route] = []
    page.route(CHANGES, lambda route: held.append(route))
    return held


def test_a_workflow_of_three_steps_is_built_by_the_list_and_saved(
    console: Console, page: Page
) -> None:
    page.goto("/workflows/new")
    for _ in range(4):
        page.locator("#list-cards summary").first.click()
        page.get_by_role("button", name="Remove", exact=True).click()
        expect(page.locator("#list-said")).to_contain_text("Removed")
    page.locator("#s0-name").fill("By the list")
    page.locator("#s0-schedule-timing").select_option("")

    page.get_by_role("button", name="Add a step", exact=True).click()
    expect(card(page, 1).get_by_label("Key", exact=True)).to_be_focused()
    page.keyboard.type("extract")
    page.keyboard.press("Control+A")
    page.keyboard.type("extract")
    card(page, 1).get_by_label("URL").fill("https://api.example.com/extract")
    card(page, 1).get_by_label("Payload").first.fill("day: '{{ input.day }}'")
    page.get_by_role("button", name="Add a step behind it").click()
    second = card(page, 2)
    expect(second.get_by_label("Key", exact=True)).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("approve")
    second.get_by_label("Kind").select_option("approval")
    expect(second.get_by_label("URL")).to_have_count(0)
    page.get_by_role("button", name="Add a step", exact=True).click()
    third = card(page, 3)
    expect(third.get_by_label("Key", exact=True)).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("publish")
    third.get_by_label("approve").check()
    expect(third.locator("summary").first).to_contain_text("waits for approve")
    third.get_by_label("URL").fill("https://api.example.com/publish")
    # The click leaves the field: what was just typed is saved, too.
    page.get_by_role("button", name="Create the workflow").click()

    expect(page.locator("h1")).to_contain_text("By the list")
    made = console.punctual.call("GET", f"/v1/workflows/{page.url.split('/')[-1]}")
    steps = made["steps"]
    assert [(one["key"], one["kind"], one["depends_on"]) for one in steps] == [
        ("extract", "target", []),
        ("approve", "approval", ["extract"]),
        ("publish", "target", ["approve"]),
    ]
    assert steps[0]["payload"] == {"day": "{{ input.day }}"}
    assert steps[2]["target"]["url"] == "https://api.example.com/publish"
    assert made["schedule"] is None


def test_a_look_at_the_list_keeps_comments_and_an_undone_change_does_too(page: Page) -> None:
    show_text(page, TEXT)
    page.get_by_role("button", name="As text").click()
    expect(page.get_by_label("Definition (YAML or JSON)")).to_have_value(TEXT)

    page.get_by_role("button", name="As a list").click()
    card(page, 2).locator("summary").first.click()
    card(page, 2).get_by_label("URL").fill("https://api.example.com/other")
    page.keyboard.press("Enter")
    expect(card(page, 2).locator("summary").first).to_contain_text("other")
    page.get_by_role("button", name="Undo").click()
    expect(card(page, 2).get_by_label("URL")).to_have_value("https://api.example.com/load")
    page.get_by_role("button", name="As text").click()
    expect(page.get_by_label("Definition (YAML or JSON)")).to_have_value(TEXT)

    page.get_by_role("button", name="As a list").click()
    page.locator("#s0-name").fill("Changed")
    page.keyboard.press("Enter")
    expect(page.locator("#check strong")).to_have_text("Changed")
    page.get_by_role("button", name="As text").click()
    expect(page.get_by_label("Definition (YAML or JSON)")).to_have_value(WRITTEN)


def test_text_that_is_no_value_stays_in_its_field_and_keeps_from_saving(page: Page) -> None:
    show_text(page, TEXT)
    card(page, 1).locator("summary").first.click()
    payload = card(page, 1).get_by_label("Payload").first
    payload.fill('{"day": ')
    card(page, 1).get_by_label("Headers").click()
    expect(payload).to_have_attribute("aria-invalid", "true")

    page.locator("#s0-name").fill("Another name")
    page.keyboard.press("Enter")
    expect(page.locator("#check strong")).to_have_text("Another name")
    expect(payload).to_have_value('{"day": ')
    page.get_by_role("button", name="Create the workflow").click()
    expect(payload).to_be_focused()
    expect(page.locator("#list-said")).to_contain_text("Mend this field first")

    payload.fill(json.dumps({"day": 1}))
    page.get_by_role("button", name="Create the workflow").click()
    expect(page.locator("h1")).to_contain_text("Another name")


def test_an_error_leads_to_its_field_by_the_keyboard(page: Page) -> None:
    show_text(page, TEXT + "    timeout_seconds: soon\n")

    link = page.locator("#check a[data-go]").first
    link.focus()
    page.keyboard.press("Enter")

    field = card(page, 2).get_by_label("Time limit of an attempt")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-describedby", "s2-timeout_seconds-error ")
    page.keyboard.press("Control+A")
    page.keyboard.type("60")
    page.keyboard.press("Tab")
    expect(page.locator("#check strong")).to_have_text("Report")


def test_steps_are_moved_by_the_keyboard_and_the_focus_goes_with_them(page: Page) -> None:
    show_text(page, TEXT)
    card(page, 1).locator("summary").first.focus()
    page.keyboard.press("Enter")
    button = page.get_by_role("button", name="Move down")
    button.focus()
    page.keyboard.press("Enter")

    expect(card(page, 2).locator("summary").first).to_contain_text("extract")
    expect(card(page, 2).get_by_role("button", name="Move down")).to_be_focused()


def test_long_names_fit_a_phone_and_what_a_change_did_is_in_sight(page: Page) -> None:
    page.set_viewport_size({"width": 320, "height": 800})
    show_text(page, TEXT.replace("extract", "e" * 60).replace("/load", "/" + "l" * 300))
    card(page, 2).locator("summary").first.click()
    page.get_by_role("button", name="Move up").click()

    expect(page.locator("#list-said")).to_have_text("Moved to place 1 of 2.")
    expect(page.locator("#list-said")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


def test_without_scripts_the_form_is_the_text(new_context: Any, console: Console) -> None:
    context = new_context(java_script_enabled=False)
    console.sign_in(context)
    page = context.new_page()
    page.goto("/workflows/new")

    expect(page.get_by_label("Definition (YAML or JSON)")).to_be_visible()
    expect(page.locator("#list")).to_be_hidden()
    page.get_by_role("button", name="Create the workflow").click()
    expect(page.locator("h1")).to_contain_text("Nightly report")


def test_boxes_that_are_clicked_faster_than_the_server_answers_stay(page: Page) -> None:
    show_text(page, TEXT + "".join(f"  - {{key: {key}, kind: approval}}\n" for key in "abc"))
    last = card(page, 5)
    last.locator("summary").first.click()
    expect(last.get_by_label("Key", exact=True)).to_be_visible()
    held = hold_changes(page)

    with page.expect_request(CHANGES):
        last.get_by_label("extract").check()
    last.get_by_label("load").check()
    # The first answer comes while the second change waits, and knows nothing of it.
    with page.expect_request(CHANGES):
        held[0].continue_()
    last.get_by_label("b", exact=True).check()
    held[1].continue_()
    page.unroute(CHANGES)

    expect(last.locator("summary").first).to_contain_text("waits for extract, load and b")
    for key in ("extract", "load", "b"):
        expect(last.get_by_label(key, exact=True)).to_be_checked()


def test_steps_that_are_chosen_in_a_select_faster_than_the_server_answers_stay(page: Page) -> None:
    more = "".join(f"  - {{key: s{n}, kind: approval}}\n" for n in range(30))
    show_text(page, TEXT + more)
    last = card(page, 32)
    last.locator("summary").first.click()
    expect(last.get_by_label("Key", exact=True)).to_be_visible()
    held = hold_changes(page)

    for key in ("s1", "s2"):
        last.get_by_label("Also for").select_option(key)
        last.get_by_label("Key", exact=True).focus()
    held[0].continue_()
    page.unroute(CHANGES)

    expect(last.locator("summary").first).to_contain_text("waits for s1 and s2")


def test_a_change_that_fails_is_not_saved_without_and_an_undo_that_fails_can_be_repeated(
    page: Page, watch: Watch
) -> None:
    watch.servers_go_away = True
    show_text(page, TEXT)
    held = hold_changes(page)
    with page.expect_request(CHANGES):
        page.get_by_role("button", name="Add a step", exact=True).click()
    page.get_by_role("button", name="Create the workflow").click()
    held[0].abort()
    page.unroute(CHANGES)
    expect(page.locator("#list-said")).to_contain_text("The server does not answer")

    page.locator("#s0-name").fill("Changed")
    page.keyboard.press("Enter")
    expect(page.locator("#check strong")).to_have_text("Changed")
    assert "/workflows/new" in page.url
    page.route(CHANGES, lambda route: route.abort())
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#list-said")).to_contain_text("The server does not answer")
    page.unroute(CHANGES)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#check strong")).to_have_text("Report")


def test_a_refused_change_says_why(page: Page, watch: Watch) -> None:
    watch.servers_go_away = True  # the browser reports the 409
    show_text(page, TEXT)
    page.evaluate(
        "document.querySelector('#workflow-form [name=form_tenant]').value = crypto.randomUUID()"
    )

    page.get_by_role("button", name="Add a step", exact=True).click()

    expect(page.locator("#list-said")).to_contain_text("this form belongs to another tenant")
    expect(page.locator("#list-cards > li")).to_have_count(2)


def test_a_click_in_the_error_summary_keeps_the_comments_of_the_text(
    page: Page, watch: Watch
) -> None:
    watch.servers_go_away = True  # the browser reports the 400
    text = TEXT + "    whatfor: 1\n"
    show_text(page, text)
    page.get_by_role("button", name="Create the workflow").click()
    expect(page.locator("#error-summary")).to_be_visible()
    page.get_by_role("button", name="As text").click()
    field = page.get_by_label("Definition (YAML or JSON)")
    field.fill(text + "# Another comment.\n")

    page.locator("#error-summary a").first.click()

    expect(field).to_be_focused()
    page.get_by_role("button", name="As a list").click()
    expect(page.locator("#list[data-mode=list]")).to_be_visible()
    page.get_by_role("button", name="As text").click()
    expect(field).to_have_value(text + "# Another comment.\n")
