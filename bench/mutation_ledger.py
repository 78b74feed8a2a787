"""Bugs of claims, cursors, and the two parts of the ledger; see :mod:`bench.mutation_list`."""

from __future__ import annotations

from bench.mutation import one

_ENGINE = "tests/executions/engine"
_PARTS = "tests/concurrency/test_parts_race.py"
_SQL = "executions/sql"

LEDGER = (
    one(
        "claimed-twice",
        "two schedulers may claim the same work",
        ("tests/concurrency/test_dispatch_race.py",),
        f"{_SQL}/dispatch.sql",
        "        LIMIT v.most\n        FOR NO KEY UPDATE SKIP LOCKED\n    ) AS d",
        "        LIMIT v.most\n    ) AS d",
    ),
    one(
        "cursor-unchecked",
        "materialize moves a cursor that an edit has moved",
        (f"{_ENGINE}/test_materialize.py::test_an_edit_that_moved_the_cursor_meanwhile_wins",),
        f"{_SQL}/materialize.sql",
        "t.next_run_at = p.cursor AND ",
        "",
    ),
    one(
        "ended-again",
        "an instant that ended while its row was prepared again is open beside its end",
        (_PARTS,),
        "executions/engine/instants.py",
        'if met := {row[0] for row in rows("materialize/already_ended", look)}:',
        "if met := set():",
    ),
    one(
        "skipped-beside-open",
        "an instant that is open is skipped as well",
        (_PARTS,),
        f"{_SQL}/materialize.sql",
        "    WHERE NOT EXISTS (SELECT FROM open_executions e WHERE e.id = p.id)\n",
        "",
    ),
    one(
        "cancel-tried-again",
        "what is asked to be cancelled is tried again",
        (_PARTS,),
        f"{_SQL}/complete.sql",
        " AND e.cancel_requested_at IS NULL THEN true",
        " THEN true",
    ),
    one(
        "ended-before-open",
        "a change looks for an execution among the ended first, and misses one that ends meanwhile",
        (_PARTS,),
        "executions/querysets.py",
        "few.filter(status__in=sorted(FINAL))",
        "few.none()",
    ),
)
