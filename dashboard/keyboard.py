"""The keyboard of the console, in one table: the help shows it, and the script reads it there.

``static/js/keys.js`` has an action for each ``does`` of the table and no keys of its own. Keys in
upper case change something; they need Shift, so that Caps Lock alone does nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from django.urls import reverse

from dashboard.context import seen_places


class Key(NamedTuple):
    """A key, or several that are pressed one after the other, and what they do.

    ``does`` is the name of an action of the script; "" for a key that the browser itself serves.
    ``url`` is where the action ``open`` leads.
    """

    keys: str
    does: str
    label: str
    url: str = ""

    @property
    def parts(self) -> list[str]:
        """Return the keys one by one, as they are printed on a keyboard."""
        return self.keys.split(" ")


class Group(NamedTuple):
    """Keys under one heading."""

    title: str
    keys: tuple[Key, ...]


_EVERYWHERE = (
    Key("Ctrl K", "palette", "Command palette: pages, tasks, ids, actions"),
    Key("/", "palette", "Search, in the same palette"),
    Key("r", "live", "Live updates on or off"),
    Key("t", "theme", "Next theme"),
    Key("?", "help", "This list"),
)
_LISTS = (
    Key("j", "next_row", "Next row"),
    Key("k", "previous_row", "Previous row"),
    Key("Enter", "", "Open the row"),
    Key("x", "select", "Select the row"),
    Key("X", "select_range", "Select all rows from the last selected one"),
    Key("a", "select_all", "Select all that match, or all rows of the page"),
    Key(".", "row_actions", "Actions of the row"),
    Key("[", "press", "Newer page"),
    Key("]", "press", "Older page"),
)
_PAGE = (
    Key("e", "explain", "Explain: why it ran or did not"),
    Key("R", "press", "Retry"),
    Key("P", "press", "Pause or resume"),
    Key("C", "press", "Cancel"),
)


def keyboard(*, may_edit: bool) -> list[Group]:
    """Return the keys of a member by heading; ``may_edit``: who may make tasks has a key for it."""
    new = Key("n", "open", "New task", reverse("dashboard:task_new"))
    there = tuple(
        Key(f"g {place.key}", "open", place.label, reverse(f"dashboard:{place.name}"))
        for place in seen_places()
    )
    return [
        Group("Everywhere", (*_EVERYWHERE, new) if may_edit else _EVERYWHERE),
        Group("In lists", _LISTS),
        Group("Where the page offers it", _PAGE),
        Group("Go to", there),
    ]
