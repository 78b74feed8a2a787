"""The same work without a mouse: every step is a key, and the focus can be seen."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

from playwright.sync_api import Page, Route, expect

from tests.browser.console import Console, press_together

_IS_VISIBLE_FOCUS = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return "nothing has the focus";
  const style = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) return "no outline";
  if (box.bottom <= 0 || box.top >= innerHeight) return "outside of the window";
  return "";
}"""

# After the last element the browser's own controls have their turn, with nothing of the page.
_IS_WITHIN_DIALOG = """() => document.activeElement === document.body
  || document.activeElement.closest("dialog") !== null"""


def tab_to(page: Page, selector: str, most: int = 60) -> None:
    """Press Tab until the element has the focus, and see that it shows."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            assert page.evaluate(_IS_VISIBLE_FOCUS) == ""
            return
    raise AssertionError(f"{selector} is not within {most} steps of Tab")


def type_over(page: Page, text: str) -> None:
    """Replace what the focused field holds."""
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(text)


def test_from_the_login_link_to_a_retried_dead_letter_by_keys_alone(
    console: Console, stranger: Page
) -> None:
    page = stranger
    page.goto(console.login_link())
    expect(page.locator("#live-text")).to_have_text("live")
    console.remember(page.context)

    page.keyboard.press("n")
    expect(page).to_have_url(re.compile("/tasks/new"))
    _fill_the_form(page, console)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="By keys alone", level=1)).to_be_visible()
    task = page.url.rsplit("/", 1)[1]

    # The toast comes while the page is looked at; Tab reaches it, Enter follows it to the cause.
    expect(page.locator("#toasts .toast").filter(has_text="By keys alone").first).to_be_visible()
    tab_to(page, "#toasts .toast a", most=120)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/alerts/"))
    tab_to(page, '#alert a[href^="/executions/"]')
    page.keyboard.press("Enter")
    expect(page.locator(".flash.error")).to_contain_text("502")
    _mend_the_address(page, console)

    letter = console.dead_letter(task)
    _open_the_letter(page)
    assert page.url.endswith(letter["id"])
    tab_to(page, "textarea#payload")
    type_over(page, '{"keys": 2}')
    tab_to(page, "form.stack button.primary", most=2)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/executions/"))
    _is_at_work(page)
    execution = page.url.rsplit("/", 1)[1]
    expect(page.locator("header.page-head")).to_contain_text("succeeded")
    (request,) = console.punctual.received("/ok", webhook_id=execution)
    assert json.loads(request["body"]) == {"keys": 2}

    # The capital letter of a retry works where the page offers one.
    page.keyboard.press("Shift+R")
    # The page before says so too: the next one has another address.
    expect(page).not_to_have_url(re.compile(execution))
    expect(page.locator('[role="status"].flash')).to_contain_text("Retry requested")


def _mend_the_address(page: Page, console: Console) -> None:
    tab_to(page, '.crumbs a[href^="/tasks/"]')
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="By keys alone", level=1)).to_be_visible()
    tab_to(page, 'main a[href$="/edit"]')
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Edit By keys alone", level=1)).to_be_visible()
    tab_to(page, "#url")
    type_over(page, console.punctual.target("/ok"))
    page.keyboard.press("Enter")
    expect(page.locator(".flash.success")).to_contain_text("Saved")


def _fill_the_form(page: Page, console: Console) -> None:
    tab_to(page, "#name")
    type_over(page, "By keys alone")
    tab_to(page, "#url", most=3)
    type_over(page, console.punctual.target("/status/502"))
    tab_to(page, "#payload", most=3)
    type_over(page, '{"keys": 1}')
    # Between them are the folded parts of the form, each one step.
    tab_to(page, 'input[name="when"]', most=15)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    tab_to(page, "#delay_seconds", most=3)
    type_over(page, "0.5")
    tab_to(page, "details:has(#max_attempts) > summary", most=5)
    page.keyboard.press("Enter")
    tab_to(page, "#max_attempts", most=1)
    type_over(page, "1")
    expect(page.locator("#preview .sentence")).to_be_visible()


def _is_at_work(page: Page) -> None:
    """Wait for the scripts of a page that was just opened: earlier they hear no key."""
    expect(page.locator("#live-text")).to_have_text("live")


def _open_the_letter(page: Page) -> None:
    press_together(page, "gd", re.compile("/dead-letters$"))
    _is_at_work(page)
    # No row is chosen yet: none is retried.
    page.keyboard.press("Shift+R")
    cause = page.locator('[data-row="http_status:502"]')
    for _ in range(page.locator("[data-row]").count()):
        page.keyboard.press("j")
        if "cursor" in (cause.get_attribute("class") or ""):
            break
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("error_signature=http_status"))
    _is_at_work(page)
    page.keyboard.press("j")
    assert page.evaluate(_IS_VISIBLE_FOCUS) == ""
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/dead-letters/"))


def test_the_palette_finds_tasks_ids_pages_and_actions_by_keys_alone(
    console: Console, page: Page
) -> None:
    at = {"cron_expression": "0 0 1 1 *", "timezone": "UTC"}
    task = console.create_task("Rare name of a task", "/ok", schedule=at)
    heading = page.get_by_role("heading", name="Rare name of a task", level=1)
    palette, field = page.locator("#palette"), page.locator("#palette-input")
    page.goto("/")
    _is_at_work(page)

    page.keyboard.press("/")
    expect(field).to_be_focused()
    size = palette.bounding_box()
    # Letters are text here; the task comes from the server.
    page.keyboard.type("rare name")
    expect(page.get_by_role("option", name="Rare name of a task")).to_be_visible()
    assert palette.bounding_box() == size
    page.keyboard.press("Tab")
    assert page.evaluate(_IS_WITHIN_DIALOG)
    page.keyboard.press("Shift+Tab")
    expect(field).to_be_focused()
    expect(page.locator('#palette [aria-selected="true"]')).to_contain_text("Rare name")
    page.keyboard.press("Enter")
    expect(heading).to_be_visible()

    # An action of the page, which asks for something: its first field has the focus.
    _is_at_work(page)
    page.keyboard.press("ControlOrMeta+k")
    page.keyboard.type("pause")
    expect(page.locator('#palette [aria-selected="true"]')).to_contain_text("Pause")
    page.keyboard.press("Enter")
    expect(palette).to_be_hidden()
    expect(page.locator("select#hours")).to_be_focused()

    # A page of the settings, though the focus is in a field; Esc gives the focus back.
    page.keyboard.press("ControlOrMeta+k")
    page.keyboard.press("Escape")
    expect(page.locator("select#hours")).to_be_focused()
    page.keyboard.press("ControlOrMeta+k")
    page.keyboard.type("encr")
    expect(page.get_by_role("option", name="Encryption keys")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/settings/encryption-keys"))

    # A pasted id jumps, even before the server has said what it is.
    _is_at_work(page)
    page.keyboard.press("ControlOrMeta+k")
    page.keyboard.insert_text(task["id"])
    page.keyboard.press("Enter")
    expect(heading).to_be_visible()


def test_the_palette_acts_on_the_page_of_one_row_opens_tabs_and_sorts(
    console: Console, page: Page
) -> None:
    at = {"cron_expression": "0 0 1 1 *", "timezone": "UTC"}
    task = console.create_task("Calls a host", "/ok", schedule=at)
    console.create_task("Has run", "/ok")
    host = quote(task["target"]["url"].split("/")[2])
    page.goto(f"/destinations/{host}")
    _is_at_work(page)

    page.keyboard.press("ControlOrMeta+k")
    page.keyboard.type("pause it")
    expect(page.locator('#palette [aria-selected="true"]')).to_contain_text("Pause it")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile("/pauses"))

    # A tab of a page, by its name; then a column of a list, which it sorts.
    page.goto(f"/tasks/{task['id']}")
    _is_at_work(page)
    page.keyboard.press("ControlOrMeta+k")
    page.keyboard.type("statistics")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/statistics"))
    press_together(page, "ge", re.compile("/executions$"))
    _is_at_work(page)
    # Only a list with rows has columns.
    expect(page.locator("[data-row]").first).to_be_visible()
    page.keyboard.press("ControlOrMeta+k")
    page.keyboard.type("sort by dur")
    expect(page.locator('#palette [aria-selected="true"]')).to_contain_text("Sort by duration")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("ordering=-duration"))


def test_what_is_typed_before_the_palette_is_loaded_is_searched_for_and_is_no_key(
    page: Page,
) -> None:
    page.goto("/tasks")
    _is_at_work(page)
    field, status = page.locator("#palette-input"), page.locator("#palette-status")
    held: list[Route] = []
    page.route("**/palette*.js", lambda route: held.append(route))

    with page.expect_request("**/palette*.js"):
        page.keyboard.press("ControlOrMeta+k")
    page.keyboard.type("dead let")
    page.keyboard.press("Enter")
    expect(field).to_have_value("dead let")
    expect(status).to_have_text("Loading…")
    (asked,) = held
    asked.continue_()
    expect(page).to_have_url(re.compile("/dead-letters$"))

    # One that cannot be loaded says so.
    _is_at_work(page)
    page.unroute("**/palette*.js")
    broken = "throw new Error('broken')"
    page.route(
        "**/palette*.js", lambda route: route.fulfill(content_type="text/javascript", body=broken)
    )
    page.keyboard.press("/")
    expect(status).to_contain_text("could not be loaded")
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()


def test_keys_move_select_and_act_in_a_list(console: Console, page: Page) -> None:
    at = {"cron_expression": "0 0 1 1 *", "timezone": "UTC"}
    for number in range(3):
        console.create_task(f"Of a list {number}", "/ok", schedule=at)
    page.goto("/tasks?q=Of+a+list")
    _is_at_work(page)
    picked = page.locator("input[data-pick]:checked")
    cursor = page.locator("[data-row].cursor")

    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(picked).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Shift+X")
    expect(picked).to_have_count(3)
    matching = page.locator("input[data-pick-matching]")
    page.keyboard.press("a")
    expect(matching).to_be_checked()
    expect(page.locator("#matching-count")).to_have_text("3")
    # A row that is taken out again is not acted on with all that match.
    page.keyboard.press("x")
    expect(picked).to_have_count(2)
    expect(matching).not_to_be_checked()
    for count in (3, 0):
        page.keyboard.press("a")
        expect(picked).to_have_count(count)
    page.keyboard.press("k")
    expect(cursor).to_contain_text("Of a list 1")

    page.keyboard.press(".")
    expect(page.get_by_role("option", name="Open Of a list 1")).to_be_visible()
    page.keyboard.type("explain")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/tasks/[^/]+/explain"))


def test_help_holds_the_focus_and_gives_it_back(page: Page) -> None:
    page.goto("/tasks")
    tab_to(page, "#theme")
    page.keyboard.press("?")
    dialog = page.locator("#help-dialog")
    expect(dialog).to_be_visible()
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate(_IS_WITHIN_DIALOG)
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page).to_have_url(re.compile("/tasks$"))
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("#theme")).to_be_focused()


def test_a_question_holds_the_focus_and_asks_before_it_acts(console: Console, page: Page) -> None:
    at = {"cron_expression": "0 0 1 1 *", "timezone": "UTC"}
    task = console.create_task("Asked about", "/ok", schedule=at)
    page.goto(f"/tasks/{task['id']}")
    tab_to(page, 'summary[aria-label="More actions"]')
    page.keyboard.press("Enter")
    tab_to(page, f'form[action$="{task["id"]}/delete"] button', most=4)
    page.keyboard.press("Enter")
    dialog = page.locator("#confirm-dialog")
    expect(dialog).to_contain_text("Delete Asked about?")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert page.evaluate("document.activeElement.textContent") == "Delete the task"
    page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    tab_to(page, "#confirm-ok", most=3)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/tasks$"))
    status, _ = console.punctual.answer("GET", f"/v1/tasks/{task['id']}")
    assert status == 404


def test_a_question_asked_again_at_once_is_answered_by_its_own_answer(
    console: Console, page: Page
) -> None:
    at = {"cron_expression": "0 0 1 1 *", "timezone": "UTC"}
    task = console.create_task("Asked twice", "/ok", schedule=at)
    page.goto(f"/tasks/{task['id']}")
    # One script turn: the browser tells of the first closing when the question is open again.
    page.evaluate(
        """(action) => {
          const dialog = document.getElementById("confirm-dialog");
          const form = document.querySelector(`form[action$="${action}"]`);
          form.requestSubmit(form.querySelector("button"));
          dialog.close();
          form.requestSubmit(form.querySelector("button"));
        }""",
        f"{task['id']}/delete",
    )
    page.locator("#confirm-ok").click()
    expect(page).to_have_url(re.compile("/tasks$"))
    status, _ = console.punctual.answer("GET", f"/v1/tasks/{task['id']}")
    assert status == 404


def test_a_question_outlives_the_form_it_was_asked_for(console: Console, page: Page) -> None:
    at = {"cron_expression": "0 0 1 1 *", "timezone": "UTC"}
    task = console.create_task("Replaced meanwhile", "/ok", schedule=at)
    page.goto(f"/tasks/{task['id']}")
    page.evaluate(
        """(action) => {
          const form = document.querySelector(`form[action$="${action}"]`);
          form.requestSubmit(form.querySelector("button"));
          form.replaceWith(form.cloneNode(true));
        }""",
        f"{task['id']}/delete",
    )
    page.locator("#confirm-ok").click()
    expect(page).to_have_url(re.compile("/tasks$"))


def test_letter_keys_can_be_turned_off_and_caps_lock_retries_nothing(page: Page) -> None:
    page.goto("/tasks")
    # Caps Lock: the letter is in upper case, and Shift is not pressed.
    page.evaluate(
        """() => {
          window.pressed = 0;
          const button = Object.assign(document.createElement("button"), { textContent: "Retry" });
          button.dataset.hotkey = "R";
          button.onclick = () => { window.pressed += 1; };
          document.querySelector("main").append(button);
          for (const shiftKey of [false, true]) {
            const event = { key: "R", shiftKey, bubbles: true };
            document.body.dispatchEvent(new KeyboardEvent("keydown", event));
          }
        }"""
    )
    assert page.evaluate("window.pressed") == 1
    page.keyboard.press("?")
    tab_to(page, "#keys-off", most=4)
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.keyboard.press("?")
    expect(page.locator("#help-dialog")).to_be_hidden()
    expect(page).to_have_url(re.compile("/tasks$"))
    page.keyboard.press("ControlOrMeta+k")
    expect(page.locator("#palette")).to_be_visible()
