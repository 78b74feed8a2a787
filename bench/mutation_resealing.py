"""The bugs that :mod:`bench.mutations` plants where stored values are sealed anew."""

from __future__ import annotations

from bench.mutation import one

_RACE = "tests/concurrency/test_resealing_race.py"
_SQL = "executions/sql/resealing.sql"

RESEALING = (
    one(
        "reseal-overwrites",
        "a value that another session has replaced is overwritten by the older one",
        (f"{_RACE}::test_a_value_that_was_replaced_since_it_was_read_stays",),
        _SQL,
        " AND {column} = w.old_one",
        " AND w.old_one IS NOT NULL",
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
        "\n    FOR NO KEY UPDATE OF t SKIP LOCKED\n",
        "\n",
        "-- name: write\n",
    ),
    one(
        "reseal-locks-scans",
        "rows are locked while others are still looked for",
        (f"{_RACE}::test_rows_are_free_while_values_are_read_and_sealed",),
        "executions/resealing/sealing_anew.py",
        "            for group in _groups(_sealed(column, found, result)):\n"
        "                result.done += _write(column, place.stretch, group)\n",
        "            with transaction.atomic():\n"
        "                for value in _sealed(column, found, result):\n"
        "                    result.done += _write(column, place.stretch, [value])\n",
    ),
    one(
        "reseal-targets-overwrites",
        "a version that another session has changed since it was read gets its former content back",
        (
            "tests/executions/resealing/test_open_targets.py"
            "::test_a_version_that_another_session_has_changed_since_it_was_read_stays",
        ),
        _SQL,
        " AND sealed = %(old)s AND NOT",
        " AND %(old)s::bytea IS NOT NULL AND NOT",
        "-- name: close_version\n",
    ),
    one(
        "targets-open-url",
        "the URL stays in clear beside its sealed copy",
        (
            "tests/tasks/test_sealed_targets.py"
            "::test_a_target_comes_back_from_its_parts_and_nothing_secret_is_in_clear",
        ),
        "tasks/sealed_targets.py",
        "secret[key] = plain.pop(key)",
        "secret[key] = plain[key]",
    ),
)
