"""No reason to wait without something that ends it, a text that shows it and a row in the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils.module_loading import import_string

from executions.holds import HOLDS, Hold, render_holds
from insight.explain.answer import CHECKS
from insight.explain.reasons import REASONS
from shared.sql import composed
from tests.architecture import tree

PAGE = tree.REPOSITORY / "docs" / "architecture" / "on-hold.md"
#: Statements that write the mark and hold nothing: their rows are free, or stay as they were.
_FREE = {"materialize/take_plain"}
#: Rows as each reason leaves them: held, gated, parked, place of the key, pool.
_ROWS: dict[str, tuple[bool, bool, bool, int | None, str]] = {
    "task PAUSED; `key_place` -1": (True, False, False, -1, "default"),
    "`gated`": (True, True, False, None, "default"),
    "`key_place` 0": (True, False, False, 0, "default"),
    "run of a workflow on hold; `key_place` -1": (True, False, False, -1, "workflow"),
    "step on hold": (True, False, False, None, "default"),
    "on hold; `key_place` -1": (True, False, False, -1, "default"),
    "step on hold; `key_place` -1": (True, False, False, -1, "workflow"),
    "`parked`": (False, False, True, None, "default"),
    "neither held nor parked": (False, False, False, None, "default"),
}


def statements() -> dict[str, str]:
    """Return every named statement, without its comments."""
    return {
        f"{Path(path).stem}/{name}": re.sub(r"--.*", "", body)
        for path in tree.REPOSITORY.glob("*/sql/*.sql")
        for name, body in composed(path.read_text(encoding="utf-8")).items()
    }


def writes(body: str, column: str) -> bool:
    """Return whether a statement writes a column of open executions."""
    changed = re.findall(r"UPDATE open_executions\b(.*?)(?:\bWHERE\b|\bFROM\b|$)", body, re.DOTALL)
    inserted = re.findall(r"INSERT INTO open_executions \(([^)]*)\)", body)
    return any(re.search(rf"\b{column} = ", one) for one in changed) or any(
        re.search(rf"\b{column}\b", one) for one in inserted
    )


@pytest.mark.parametrize("column", ["held", "parked"])
def test_a_statement_that_puts_work_on_hold_or_frees_it_is_in_the_table(column: str):
    named = {name for one in HOLDS for name in (*one.sets, *one.frees)}
    writing = {name for name, body in statements().items() if writes(body, column)}
    # An edit lets what waited for the former destination go to the new one.
    elsewhere = {"changing/adopt_prepared"} if column == "parked" else set()

    assert writing - _FREE - elsewhere <= named


def test_the_table_names_statements_that_exist():
    known = statements()

    assert {name for one in HOLDS for name in (*one.sets, *one.frees)} <= set(known)


def test_the_rule_finds_a_statement_that_is_not_named():
    assert writes("UPDATE open_executions e SET a = 1, held = true WHERE e.id = 1", "held")
    assert writes("INSERT INTO open_executions (id, held) SELECT 1, true", "held")
    assert not writes("UPDATE open_executions e SET a = 1 WHERE held = true", "held")


def test_the_words_of_the_table_are_those_with_which_work_waits():
    waiting = {word for word, reason in REASONS.items() if "PENDING" in reason.states}

    assert {one.reason for one in HOLDS if one.reason} == waiting


@pytest.mark.parametrize("hold", HOLDS, ids=lambda hold: hold.name)
def test_each_reason_has_what_sets_it_ends_it_wakes_it_and_shows_it(hold: Hold):
    assert all((hold.sets, hold.frees, hold.why))
    assert import_string(hold.wakes)
    assert hold.check in CHECKS
    assert not hold.reason or REASONS[hold.reason].check == hold.check


@pytest.mark.django_db
@pytest.mark.parametrize("hold", HOLDS, ids=lambda hold: hold.name)
def test_the_database_judges_the_reasons_that_the_table_says(hold: Hold):
    held, gated, parked, place, pool = _ROWS[hold.mark]

    assert _judged(held, gated, parked, place, pool, hold.reason) == hold.judged


@pytest.mark.django_db
def test_free_work_is_judged_unless_its_reason_says_that_it_was():
    assert _judged(False, False, False, None, "default", "")
    assert not _judged(False, False, False, None, "default", "misfire_coalesced")


def _judged(*row: Any) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT judged_after_outage(%s, %s, %s, %s::smallint, %s, %s)", row)
        found: bool = cursor.fetchone()[0]
    return found


def test_the_page_has_the_table():
    assert render_holds() in PAGE.read_text(encoding="utf-8"), (
        "write it anew: the table of executions.holds.render_holds()"
    )
