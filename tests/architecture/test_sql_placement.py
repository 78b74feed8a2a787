"""SQL stands in named statements under <app>/sql, and each of them is used."""

from __future__ import annotations

import pytest

from tests.architecture import tree
from tests.architecture.rules import sql

# Path -> why this module may hold SQL.
ALLOWED: dict[str, str] = {
    "shared/day_indexes.py": "a step of migrations; which index and which table, each one says",
    "shared/statistics_kept.py": "steps of migrations; which table and columns, each one says",
}
LINES, SCRIPT_LINES = 60, 120


def test_production_python_holds_no_sql():
    modules = (module for module in tree.production() if not module.is_migration)

    found = tree.breaches(modules, sql.sql_text, except_for=ALLOWED)

    assert not found, tree.report(found)


def test_names_of_sql_files_are_unique_over_all_apps():
    names = [path.name for path in tree.sql_paths()]

    assert "dispatch.sql" in names
    assert len(names) == len(set(names))


def test_every_statement_is_named_and_says_what_it_guarantees():
    found = [
        f"{stage}.sql: {breach}"
        for stage, text in tree.sql_files().items()
        for breach in sql.statement_form(text)
    ]

    assert not found, tree.report(found)


def test_a_statement_and_a_part_of_one_have_sixty_lines_at_most():
    sizes = {
        f"{stage}.sql, {head}": sql.lines_of(body)
        for stage, text in tree.sql_files().items()
        for head, body in sql.pieces(text).items()
    }

    assert {"dispatch.sql, name: claim_due", "dispatch.sql, part: due"} <= set(sizes)
    assert {head: lines for head, lines in sizes.items() if lines > LINES} == {}


def test_every_part_is_used_by_a_statement_of_its_file():
    found = [
        f"{stage}.sql: {breach}"
        for stage, text in tree.sql_files().items()
        for breach in sql.unused_parts(text)
    ]

    assert not found, tree.report(found)


def test_a_script_has_a_hundred_and_twenty_lines_at_most():
    scripts = sorted((tree.REPOSITORY / "wire" / "lua").glob("*.lua"))
    sizes = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in scripts}

    assert "start.lua" in sizes
    assert {name: lines for name, lines in sizes.items() if lines > SCRIPT_LINES} == {}


def test_every_statement_is_used_and_every_used_one_exists():
    files = tree.sql_files()
    used: set[str] = set()
    for module in tree.production():
        # A route may read like the name of a statement.
        if not module.path.endswith("/urls.py"):
            used |= sql.used_statements(module.source, set(files))

    found = sql.unmatched_statements(files, used)

    assert not found, tree.report(found)


def test_statements_are_named_in_full_where_they_are_used():
    stages = set(tree.sql_files())

    found = tree.breaches(tree.production(), lambda source: sql.built_names(source, stages))

    assert not found, tree.report(found)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "  \n select id\n from tasks where true",
        "INSERT INTO events VALUES (1)",
        "UPDATE executions e SET status = 1",
        "update tasks set name = ''",
        "DELETE FROM tasks",
        "WITH due AS (SELECT 1) SELECT 1",
        "with recursive walk as (select 1) select * from walk",
        "CREATE TABLE x (id int)",
        "CREATE UNIQUE INDEX x ON y (z)",
        "alter table x add y int",
        "DROP DATABASE x",
        "TRUNCATE tasks",
        "NOTIFY punctual",
        "LISTEN punctual",
        "SET LOCAL lock_timeout = 1",
        "-- why\nSELECT 1",
    ],
)
def test_the_rule_finds_sql_in_a_constant(text: str):
    assert sql.sql_text(f"QUERY = {text!r}")


def test_the_rule_finds_sql_in_an_f_string():
    assert sql.sql_text('cursor.execute(f"SELECT * FROM {table}")')
    assert sql.sql_text('cursor.execute(f"CREATE TABLE {name} (id int)")')


@pytest.mark.parametrize(
    "text",
    [
        "DELETE",
        "UPDATE",
        "Select a task from the list.",
        "Delete from the queue what is done.",
        "Update the task, set a name.",
        "With this key as a prefix",
        "Create table tasks first",
        "with an alias as well",
        "listen to the stream",
        "set local time first",
        "truncate the body",
        "grant a lease",
        "dispatch/claim_due",
    ],
)
def test_the_rule_leaves_words_and_verbs_alone(text: str):
    assert not sql.sql_text(f"WORDS = {text!r}")


def test_the_rule_leaves_docstrings_alone():
    assert not sql.sql_text('def f():\n    "SELECT 1 is what it runs."')


def test_the_rule_wants_a_guarantee_below_each_name():
    assert not sql.statement_form("-- name: one\n-- What it promises.\nSELECT 1\n")
    assert sql.statement_form("-- name: one\nSELECT 1\n")
    assert sql.statement_form("-- name: one\n-- Nothing follows.\n")
    assert sql.statement_form("-- name: One-More\n-- Bad name.\nSELECT 1\n")
    assert sql.statement_form("SELECT 0\n-- name: one\n-- Text before.\nSELECT 1\n")
    assert sql.statement_form("-- name: one\n-- A.\nSELECT 1\n-- name: one\n-- B.\nSELECT 2\n")


def test_the_rule_wants_the_same_of_a_part():
    assert not sql.statement_form("-- part: one\n-- What it promises.\na AS (SELECT 1)\n")
    assert sql.statement_form("-- part: one\na AS (SELECT 1)\n")
    assert sql.statement_form("-- part: one\n-- A.\na AS ()\n-- name: one\n-- B.\nSELECT 2\n")


def test_the_rule_finds_a_part_that_no_statement_uses():
    part = "-- part: one\n-- A.\na AS (SELECT 1)\n"
    used = "-- name: two\n-- B.\nWITH -- parts: one\nb AS (SELECT 2) SELECT 3\n"

    assert sql.unused_parts(part) == ["part: one is not used"]
    assert not sql.unused_parts(part + used)


def test_the_rules_see_what_a_statement_does_in_its_parts():
    part = "-- part: one\n-- A.\na AS (UPDATE tasks SET status = 'x' RETURNING id)\n"
    text = part + "-- name: two\n-- B.\nWITH -- parts: one\nb AS (SELECT 2) SELECT 3\n"

    assert sql.writes_column(sql.statements(text)["two"], "tasks", "status")


def test_the_rule_matches_statements_with_their_uses():
    files = {"dispatch": "-- name: claim_due\n-- Claims.\nSELECT 1\n"}
    good = sql.used_statements('rows("dispatch/claim_due", {})', {"dispatch"})
    bad = sql.used_statements('rows("dispatch/claim", {})', {"dispatch"})

    assert not sql.unmatched_statements(files, good)
    # One name is missing and the other is unused.
    assert len(sql.unmatched_statements(files, bad)) == 2
    assert not sql.used_statements('path = "static/css"', {"dispatch"})


def test_the_rule_finds_names_built_at_run_time():
    assert sql.built_names('statement(f"dispatch/{name}")', {"dispatch"})
    assert not sql.built_names('open(f"static/{name}")', {"dispatch"})
    assert not sql.used_statements('statement(f"dispatch/{name}")', {"dispatch"})
