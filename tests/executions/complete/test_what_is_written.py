"""How many rows and entries of indexes an execution costs, as the page of costs tells them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection

from tests.factories import finish, make_task, once, prepare, release

pytestmark = pytest.mark.django_db

PAGE = Path(__file__).parents[3] / "docs/architecture/costs.md"
#: Tables, and the condition that finds the one row of the test, days by their pattern.
TABLES = {
    r"tasks": "id = %(task)s",
    r"task_cursors": "task_id = %(task)s",
    r"open_executions": "task_id = %(task)s",
    r"executions_\d+": "task_id = %(task)s",
    r"attempts_\d+": "execution_id IN (SELECT id FROM executions WHERE task_id = %(task)s)",
}
WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def written() -> tuple[Counter[str], int]:
    """Return how many rows were written with new entries, by table, and how many without.

    The server counts those of the session's earlier transactions with them until it has told
    them, so only the difference between two readings is what came in between.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, n_tup_ins + n_tup_upd - n_tup_hot_upd, n_tup_hot_upd"
            " FROM pg_stat_xact_user_tables"
        )
        found = [row for row in cursor.fetchall() if _where(row[0])]
    return Counter({name: rows for name, rows, _ in found}), sum(hot for _, _, hot in found)


def entries(table: str, task: UUID) -> int:
    """Return how many indexes of the table have an entry of the task's row, as it is now."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(pg_get_expr(indpred, indrelid), 'true') FROM pg_index"
            " WHERE indrelid = %s::regclass",
            [table],
        )
        conditions = [row[0].replace("%", "%%") for row in cursor.fetchall()]
        cursor.execute(
            f"SELECT {' + '.join(f'coalesce({one}, false)::int' for one in conditions)}"
            f" FROM {table} WHERE {_where(table)}",
            {"task": task},
        )
        [(count,)] = cursor.fetchall()
    return int(count)


def _where(table: str) -> str | None:
    return next((by for name, by in TABLES.items() if re.fullmatch(name, table)), None)


def test_a_webhook_that_succeeds_at_once_writes_what_the_page_says(alpha):
    task = make_task(alpha, once())
    rows, by_step = 0, []

    def step(what):
        nonlocal rows
        (before, hot), result = written(), what()
        after, hot_after = written()
        assert hot_after == hot, "a version without new entries: count it apart"
        new = after - before
        rows += new.total()
        by_step.append({name: entries(name, task.id) for name in sorted(new)})
        return result

    step(prepare)
    [claimed] = step(release)
    step(lambda: finish(claimed))

    prepared, leased, finished = by_step
    days = {re.sub(r"_\d+", "", name): count for name, count in finished.items()}
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"writes {WORDS[rows]} rows" in text
    assert f"They have {sum(sum(one.values()) for one in by_step)} entries in indexes" in text
    assert "tasks" not in prepared
    assert (
        f"{WORDS[prepared['open_executions']]} of the open row and"
        f" {WORDS[leased['open_executions']]} of its version,"
        f" {WORDS[days['executions']]} of the history,"
        f" {WORDS[days['attempts']]} of the attempt, {WORDS[days['tasks']]} of the version of the"
        " task"
    ) in text
