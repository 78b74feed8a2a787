"""The bugs that :mod:`bench.mutations` plants where stored values are sealed anew."""

from __future__ import annotations

from bench.mutation import one

_RACE = "tests/concurrency/test_resealing_race.py"
_SQL = "operations/sql/resealing.sql"

RESEALING = (
    one(
        "reseal-overwrites",
        "a value that another session has replaced is overwritten by the older one",
        (f"{_RACE}::test_a_value_that_was_replaced_since_it_was_read_stays",),
        _SQL,
        " AND {column} = %(old)s",
        " AND %(old)s::bytea IS NOT NULL",
        "-- name: write\n",
    ),
    one(
        "reseal-unlocked",
        "sealing anew waits for a session that has the row locked",
        (
            f"{_RACE}"
            "::test_a_row_that_another_session_has_locked_keeps_its_key_and_is_not_waited_for",
        ),
        _SQL,
        "\n    FOR NO KEY UPDATE SKIP LOCKED\n",
        "\n",
        "-- name: write\n",
    ),
    one(
        "reseal-locks-scans",
        "rows are locked while others are still looked for",
        (f"{_RACE}::test_rows_are_free_while_values_are_read_and_sealed",),
        "operations/resealing/sealing_anew.py",
        "            for group in _groups(_sealed(column, found, result)):\n"
        "                with transaction.atomic():\n"
        "                    result.done += sum(_write(column, value) for value in group)\n",
        "            with transaction.atomic():\n"
        "                for value in _sealed(column, found, result):\n"
        "                    result.done += _write(column, value)\n",
    ),
)
