"""The table of keys: what the script can do, what the help shows and what the docs say."""

from __future__ import annotations

import re
from pathlib import Path

from dashboard.context import PLACES
from dashboard.keyboard import Key, keyboard
from tests.architecture.tree import REPOSITORY

#: Keys that change something.
DANGEROUS = {"R", "P", "C"}


def keys(*, may_edit: bool = True) -> list[Key]:
    return [key for group in keyboard(may_edit=may_edit) for key in group.keys]


def actions_of_script() -> set[str]:
    script = (REPOSITORY / "static/js/keys.js").read_text(encoding="utf-8")
    found = re.search(r"^const ACTIONS = \{\n(.*?)^\};", script, re.MULTILINE | re.DOTALL)
    assert found
    return set(re.findall(r"^  (\w+)", found[1], re.MULTILINE))


def test_no_key_is_taken_twice_and_none_begins_another():
    taken = [key.keys for key in keys()]

    assert len(set(taken)) == len(taken)
    assert not [(one, other) for one in taken for other in taken if other.startswith(f"{one} ")]


def test_the_script_has_each_action_of_the_table_and_no_other():
    assert {key.does for key in keys() if key.does} == actions_of_script()


def test_the_script_names_no_key_of_the_table_itself():
    script = (REPOSITORY / "static/js/keys.js").read_text(encoding="utf-8")
    named = set(re.findall(r'"(\S)"', script)) - {"1", "0", "⌘"}

    # The two that also press what a page has marked for them.
    assert named == {"e", "a"}


def test_what_changes_something_is_in_upper_case():
    upper = {key.keys for key in keys() if re.fullmatch("[A-Z]", key.keys)}

    # X selects rows, which changes nothing.
    assert upper == DANGEROUS | {"X"}


def test_every_place_is_reached_by_its_letter():
    chords = {key.keys: key.label for key in keys() if key.keys.startswith("g ")}

    assert chords == {f"g {place.key}": place.label for place in PLACES}


def test_only_who_may_make_a_task_has_a_key_for_it():
    assert "n" in {key.keys for key in keys()}
    assert "n" not in {key.keys for key in keys(may_edit=False)}


def test_every_key_that_a_page_marks_is_in_the_table():
    pages = (REPOSITORY / "templates").rglob("*.html")
    marked = {
        key
        for page in pages
        for key in re.findall(r'data-hotkey="([^"]+)"', page.read_text(encoding="utf-8"))
    }

    assert marked
    assert marked <= {key.keys for key in keys()}


def test_the_page_about_the_console_lists_the_keys():
    page = (Path(__file__).parents[2] / "docs/howto/console.md").read_text(encoding="utf-8")
    _, _, table = page.partition("## Keyboard")
    table, _, _ = table.partition("## Live")
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    listed = {row[1].strip(): row[2].strip() for row in rows}

    wanted = {_written(key.keys): key.label for key in keys() if not key.keys.startswith("g ")}
    letters = " ".join(f"`{place.key}`" for place in PLACES)
    names = ", ".join(place.label for place in PLACES)
    assert listed == {**wanted, f"`g`, then {letters}": f"Go to {names}"}


def _written(key: str) -> str:
    return f"`{key}`"
