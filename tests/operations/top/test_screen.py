from __future__ import annotations

from uuid import uuid4

import pytest

from operations.top.screen import KEYS, NOTHING, Screen
from operations.top.tables import TABS, Row, Shown

TENANT = uuid4()
FIRST, SECOND = (
    Row(("aaa", "RUNNING", "Nightly invoices"), TENANT, uuid4()),
    Row(("bbb", "QUEUED", "Weekly report"), TENANT, uuid4()),
)
TABLE = Shown(("id", "state", "task"), (FIRST, SECOND))


def screen(tab: str = "under way", table: Shown = TABLE) -> Screen:
    made = Screen(tab=list(TABS).index(tab))
    made.show(table)
    return made


def press(made: Screen, *keys: str) -> None:
    for key in keys:
        assert made.press(key) is None


def texts(made: Screen, width: int = 60, height: int = 8) -> list[str]:
    return [text for text, _ in made.lines(width, height)]


def test_a_screen_is_filled_from_its_tabs_to_its_keys():
    made = screen()

    assert texts(made) == [
        " overview   [under way]   waiting    failed    workers ",
        "id   state    task",
        "aaa  RUNNING  Nightly invoices",
        "bbb  QUEUED   Weekly report",
        *["", ""],
        "2",
        KEYS,
    ]
    assert [style for _, style in made.lines(60, 8)][2:4] == ["chosen", "plain"]


@pytest.mark.parametrize(("width", "height"), [(1, 1), (10, 3), (20, 5), (200, 60)])
def test_no_line_is_wider_than_the_terminal_whatever_is_in_it(width: int, height: int):
    wild = Row(("x" * 300, "\x1b[2J\n", "ü" * 90), TENANT, uuid4())
    made = screen(table=Shown(("id", "state", "task"), (wild, *[FIRST] * 90)))

    found = texts(made, width, height)

    assert all(len(text) <= width and "\x1b" not in text for text in found)
    assert len(found) == max(height, 4)


def test_the_chosen_row_stays_in_sight_and_stays_chosen_when_others_come_and_go():
    rows = tuple(Row((f"r{n}", "RUNNING", "t"), TENANT, uuid4()) for n in range(30))
    made = screen(table=Shown(("id", "state", "task"), rows))
    press(made, *["down"] * 40)
    assert ("r29  RUNNING  t", "chosen") in list(made.lines(60, 8))

    made.show(Shown(TABLE.heading, rows[20:]))
    assert made.rows[made.row] == rows[29]

    made.show(Shown(TABLE.heading, rows[:3]))
    assert made.rows[made.row] == rows[2]


def test_arrows_go_round_the_tabs_and_forget_what_the_tab_before_had():
    made = screen("workers")
    press(made, "right")
    assert (made.name, made.table) == ("overview", NOTHING)
    press(made, "left")
    assert made.name == "workers"


def test_the_filter_takes_letters_until_enter_and_escape_removes_it():
    made = screen()
    press(made, "/", *"q Inv")
    assert (made.rows, made.ended) == ([], False)
    press(made, *["backspace"] * 5, *"inv RUN", "enter")
    assert made.rows == [FIRST]
    assert texts(made)[-2] == "1 of 2 by /inv RUN"
    press(made, "/", "escape")
    assert made.rows == [FIRST, SECOND]
    press(made, "q")
    assert made.ended


@pytest.mark.parametrize("no", ["n", "enter", "C", "q", ""])
def test_what_changes_something_asks_and_only_yes_is_a_yes(no: str):
    made = screen()
    press(made, "down", "C")
    assert texts(made)[-2] == "Cancel bbb Weekly report? y/N"

    assert made.press(no) is None
    assert (texts(made)[-2], made.ended) == ("Nothing was changed.", False)

    press(made, "C")
    made.show(Shown(TABLE.heading, (FIRST,)))
    asked = made.press("y")
    assert asked is not None
    assert (asked.key, asked.row) == ("C", SECOND)


@pytest.mark.parametrize(
    ("tab", "key", "table"),
    [
        ("failed", "C", TABLE),
        ("under way", "R", TABLE),
        ("workers", "C", TABLE),
        ("overview", "R", Shown((), (Row(("healthy",)),))),
        ("failed", "R", NOTHING),
    ],
)
def test_a_key_that_does_nothing_here_says_where_it_does(tab: str, key: str, table: Shown):
    made = screen(tab, table)

    press(made, key)

    assert "choose a row under" in texts(made)[-2]
