"""The two hands that do the tasks: one with a mouse, one with nothing but keys.

A task is written once. Each of its acts names what it is about; the hand decides how it gets there
and counts that. Reaching something the hand cannot reach is an error, not a detour.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from bench.installation import InstallationError
from bench.ten_tasks.pace import Tally

PATIENCE_MS = 30_000
#: Steps of Tab that a person takes at most before the way counts as lost.
MOST_TABS = 60
#: The pages of the navigation that the tasks begin with, and the letters that follow ``g``.
PLACES = {
    "tasks": "t",
    "executions": "e",
    "dead letters": "d",
    "destinations": "h",
    "settings": "s",
}
_IS_FOCUSED = "one => one === document.activeElement"
_NOTHING_HAS_FOCUS = "() => document.activeElement === document.body"


class Hand:
    """A person with a mouse, who types where something has to be typed."""

    name = "mouse"

    def __init__(self, page: Page) -> None:
        self.page = page
        self.tally = Tally()

    def go(self, place: str) -> None:
        """Open a page of the navigation."""
        self.do(self._place(place))
        self.see(self._place(place, "[aria-current=page]"))

    def find(self, name: str) -> None:
        """Open a task by its name, from anywhere."""
        self.go("tasks")
        self.do(self.page.get_by_role("link", name=name, exact=True))
        self.see(self.page.get_by_role("heading", name=name, level=1))

    def settle(self, name: str, words: str) -> None:
        """Open a page that the settings lead to; ``words`` is how a person would search for it."""
        self.go("settings")
        self.do(self.page.locator("main").get_by_role("link", name=name, exact=True))
        self.see(self.page.get_by_role("heading", name=name, level=1))

    def do(self, what: Locator, *, key: str = "", words: str = "") -> None:
        """Use a link or a button: by its key or its name in the palette where keys are used."""
        self.tally.think()
        self.tally.click()
        what.click()

    def row(self, row: Locator) -> None:
        """Turn to a row of a list."""

    def write(self, field: Locator, text: str, *, submit: bool = False) -> None:
        """Type a text into a field, and Enter after it where that sends the form."""
        self._reach(field)
        self.tally.press(len(text))
        field.fill(text)
        if submit:
            self.tally.press()
            field.press("Enter")

    def paste(self, field: Locator, text: str) -> None:
        """Paste a text that is in the clipboard already."""
        self._reach(field)
        self.tally.press(2)
        self.page.keyboard.insert_text(text)

    def choose(self, field: Locator, label: str) -> None:
        """Choose an entry of a select: open it, point at the entry."""
        self.tally.think()
        self.tally.click(2)
        field.select_option(label=label)

    def tick(self, box: Locator) -> None:
        """Tick a box or clear it, or choose one of several."""
        self.tally.think()
        self.tally.click()
        box.click()

    def see(self, what: Locator, text: str = "") -> None:
        """Wait until something is shown; the time is the console's."""
        began = time.monotonic()
        if text:
            expect(what).to_contain_text(text, timeout=PATIENCE_MS)
        else:
            expect(what).to_be_visible(timeout=PATIENCE_MS)
        self.tally.waited_seconds += time.monotonic() - began

    def is_at_work(self) -> None:
        """Wait for the scripts of a page that was just opened: earlier they hear no key."""
        self.see(self.page.locator("#live-text"), "live")

    def _place(self, place: str, state: str = "") -> Locator:
        return self.page.locator(f'nav.rail a[data-key="{PLACES[place]}"]{state}').first

    def _reach(self, field: Locator) -> None:
        self.tally.think()
        self.tally.click()
        field.click()


class KeysHand(Hand):
    """A person with nothing but the keyboard: shortcuts, the palette, and Tab."""

    name = "keys"

    def go(self, place: str) -> None:
        """Open a page by its two letters."""
        self.tally.think()
        self._press("g", PLACES[place])
        self.see(self._place(place, "[aria-current=page]"))
        self.is_at_work()

    def find(self, name: str) -> None:
        """Open a task by the palette."""
        self._palette(name.lower(), name)
        self.see(self.page.get_by_role("heading", name=name, level=1))
        self.is_at_work()

    def settle(self, name: str, words: str) -> None:
        """Open a page by the palette."""
        self._palette(words, name)
        self.see(self.page.get_by_role("heading", name=name, level=1))
        self.is_at_work()

    def do(self, what: Locator, *, key: str = "", words: str = "") -> None:
        """Press its key, or name it in the palette, or go there by Tab and press Enter."""
        if key:
            self.tally.think()
            self._press(key)
        elif words:
            self._palette(words, words)
        else:
            self._reach(what)
            self._press("Enter")

    def row(self, row: Locator) -> None:
        """Move the cursor of the list to the row."""
        self.tally.think()
        for _ in range(MOST_TABS):
            self._press("j")
            if "cursor" in (row.get_attribute("class") or ""):
                return
        raise InstallationError("the row is not reached by j")

    def write(self, field: Locator, text: str, *, submit: bool = False) -> None:
        """Go to the field by Tab and type over what it has."""
        self._reach(field)
        if field.input_value():
            self._press("ControlOrMeta+a")
        self.tally.press(len(text))
        self.page.keyboard.insert_text(text)
        if submit:
            self._press("Enter")

    def choose(self, field: Locator, label: str) -> None:
        """Go to the select by Tab and move in it by arrows."""
        self._reach(field)
        labels = [one.strip() for one in field.locator("option").all_text_contents()]
        steps = labels.index(label) - field.evaluate("one => one.selectedIndex")
        self._press(*(["ArrowDown" if steps > 0 else "ArrowUp"] * abs(steps)))

    def tick(self, box: Locator) -> None:
        """Go to the box by Tab and press Space; of a group of radio buttons, by arrows."""
        if box.get_attribute("type") != "radio":
            self._reach(box)
            self._press("Space")
            return
        group = self.page.locator(f'input[name="{box.get_attribute("name")}"]')
        self._reach(self.page.locator(f'input[name="{box.get_attribute("name")}"]:checked'))
        for _ in range(group.count()):
            if box.is_checked():
                return
            self._press("ArrowRight")
        if not box.is_checked():
            raise InstallationError("the choice is not reached by arrows")

    def _palette(self, words: str, label: str) -> None:
        self.tally.think()
        self._press("ControlOrMeta+k")
        self.see(self.page.locator("#palette-input"))
        self.tally.think()
        self.tally.press(len(words))
        self.page.keyboard.insert_text(words)
        chosen = self.page.locator('#palette [aria-selected="true"] .palette-label')
        began = time.monotonic()
        expect(chosen).to_have_text(_like(label), timeout=PATIENCE_MS)
        self.tally.waited_seconds += time.monotonic() - began
        self._press("Enter")

    def _reach(self, field: Locator) -> None:
        self.tally.think()
        if field.evaluate(_IS_FOCUSED):
            return
        if self.page.evaluate(_NOTHING_HAS_FOCUS):
            # The first Tab of a page is the way past its navigation.
            self._press("Tab", "Enter")
        for _ in range(MOST_TABS):
            self._press("Tab")
            if field.evaluate(_IS_FOCUSED):
                return
        raise InstallationError(f"{field} is not within {MOST_TABS} steps of Tab")

    def _press(self, *keys: str) -> None:
        self.tally.press(sum(1 + key.count("+") for key in keys))
        for key in keys:
            self.page.keyboard.press(key)


def _like(label: str) -> re.Pattern[str]:
    return re.compile(f"^{re.escape(label)}", re.IGNORECASE)


#: Each way of doing the tasks.
HANDS: dict[str, Callable[[Page], Hand]] = {"mouse": Hand, "keys": KeysHand}
