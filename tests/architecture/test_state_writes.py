"""States move in one module: of executions in executions/transitions.py, of tasks in tasks'."""

from __future__ import annotations

import re

import pytest

from tests.architecture import tree
from tests.architecture.rules import sql, states

# Path -> why this module may write a status.
OWNERS = {
    "executions/transitions.py": "every move of an execution",
    "executions/materialize/instants.py": "the first state of an execution",
    "tasks/transitions.py": "every move of a task",
}
# Modules that may use a statement that writes the status of executions.
SQL_OWNERS = {
    "executions/transitions.py",
    "executions/materialize/instants.py",
    "executions/materialize/plain.py",
    # Begin and end of runs, and the first state of their steps.
    "workflows/transitions.py",
    # Rows of a past that never moved: they are made up in their last state.
    "operations/history_samples.py",
    # A table that names statements, and runs none.
    "executions/holds.py",
}
# Modules that may use a statement that writes tasks, and why.
TASK_SQL_OWNERS = {
    "tasks/transitions.py": "every move of a task",
    "tasks/creation.py": "new tasks",
    "tasks/erasing.py": "what is left of an erased task",
    "tasks/editing.py": "the next version of a task",
}
_TABLES = ("executions", "open_executions", "ended_executions")
_SCOPE = (
    *("tasks", "wire", "delivery", "worker", "executions", "workflows", "insight"),
    *("api", "dashboard", "receiver", "launcher", "operations", "scheduler_site"),
)


def test_only_the_owners_write_a_status():
    found = [
        f"{module.path}: {breach}"
        for module in tree.modules(*_SCOPE)
        if module.path not in OWNERS and not module.is_migration
        for breach in states.state_writes(module.source, in_models="/models/" in module.path)
    ]

    assert not found, tree.report(found)


def test_statements_that_write_a_status_belong_to_the_owners():
    files = tree.sql_files()
    writing = _writing(files)

    found = [
        f"{module.path}: uses {name}, which writes the status of executions"
        for module in tree.production()
        if module.path not in SQL_OWNERS
        for name in sorted(sql.used_statements(module.source, set(files)) & writing)
    ]

    assert not found, tree.report(found)


def test_there_are_statements_that_write_a_status():
    # Were the table or the column renamed, the rule above would find nothing and say nothing.
    assert "dispatch/claim_due" in _writing(tree.sql_files())


def test_statements_that_write_tasks_stand_with_their_owners():
    files = tree.sql_files()
    writing = _writing_tasks(files)

    found = [
        f"{module.path}: uses {name}, which writes tasks"
        for module in tree.production()
        if module.path not in TASK_SQL_OWNERS
        for name in sorted(sql.used_statements(module.source, set(files)) & writing)
    ]
    at_home = {path.stem for path in tree.sql_paths() if path.parts[-3] == "tasks"}
    elsewhere = {name.partition("/")[0] for name in writing} - at_home

    assert not found, tree.report(found)
    assert not elsewhere, tree.report(sorted(elsewhere))


def test_there_are_statements_that_write_tasks():
    writing = _writing_tasks(tree.sql_files())

    assert {"transitions/settle", "creation/insert_tasks"} <= writing


def _writing_tasks(files: dict[str, str]) -> set[str]:
    return {
        f"{stage}/{name}"
        for stage, text in files.items()
        for name, body in sql.statements(text).items()
        if sql.writes_table(body, "tasks")
    }


def _writing(files: dict[str, str]) -> set[str]:
    return {
        f"{stage}/{name}"
        for stage, text in files.items()
        for name, body in sql.statements(text).items()
        if any(sql.writes_column(body, table, "status") for table in _TABLES)
    }


@pytest.mark.parametrize(
    "code",
    [
        "execution.status = Status.QUEUED",
        "a, execution.status = 1, 2",
        "execution.status: str = 'QUEUED'",
        "rows.update(status='QUEUED')",
        "Execution.objects.filter(id=1).update(status='QUEUED')",
        "Execution.objects.create(status='QUEUED')",
        "Execution(status='QUEUED')",
        "setattr(execution, 'status', 'QUEUED')",
        "Execution.objects.bulk_update(rows, ['status'])",
        "Execution.objects.bulk_update(rows, fields=['status'])",
        "Task.objects.filter(id=1).update(status='PAUSED')",
    ],
)
def test_the_rule_finds_a_write_of_a_status(code: str):
    assert states.state_writes(code)


@pytest.mark.parametrize(
    "code",
    [
        "if execution.status == Status.QUEUED: pass",
        "self.status = 200",
        "status = 404",
        "Execution.objects.filter(status='QUEUED').update(held=True)",
        "DeadLetter.objects.filter(id=1).update(status='RESOLVED')",
        "Response(status=404)",
        "Execution.objects.bulk_update(rows, ['held'])",
    ],
)
def test_the_rule_leaves_reads_and_other_models_alone(code: str):
    assert not states.state_writes(code)


def test_the_rule_refuses_a_model_that_moves_itself():
    assert states.state_writes("self.status = 'QUEUED'", in_models=True)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE executions SET status = 'QUEUED' WHERE id = 1",
        "UPDATE executions e\nSET held = false, status = 'QUEUED'",
        "UPDATE executions SET a = extract(epoch FROM now()), status = 'x' FROM due",
        "UPDATE executions SET a = CASE WHEN b THEN c END, status = 'x'",
        "INSERT INTO executions (id, status) VALUES (1, 'x')",
        "INSERT INTO executions\nSELECT * FROM gone",
        "WITH a AS (UPDATE executions SET status = 'x' RETURNING id) SELECT 1",
    ],
)
def test_the_rule_finds_statements_that_write_the_status(statement: str):
    assert sql.writes_column(statement, "executions", "status")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT status FROM executions WHERE status = 'x'",
        "UPDATE executions SET held = true WHERE status = 'x'",
        "UPDATE executions SET held = (SELECT status = 'x' FROM other)",
        "UPDATE tasks SET status = 'x'",
        "UPDATE executions SET response_status = 200",
        "INSERT INTO executions (id) SELECT id FROM tasks WHERE status = 'x'",
        "-- UPDATE executions SET status = 'x'\nSELECT 1",
    ],
)
def test_the_rule_leaves_statements_that_only_read_it_alone(statement: str):
    assert not sql.writes_column(re.sub(r"\s+$", "", statement), "executions", "status")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tasks SET failure_streak = 0",
        "UPDATE tasks t\nSET deleted_at = now()",
        "UPDATE ONLY tasks SET name = ''",
        "INSERT INTO tasks (id) VALUES (1)",
        "DELETE FROM tasks WHERE id = 1",
        "MERGE INTO tasks t USING other o ON true WHEN MATCHED THEN DELETE",
        "WITH a AS (update tasks SET status = 'x' RETURNING id) SELECT 1",
    ],
)
def test_the_rule_finds_statements_that_write_tasks(statement: str):
    assert sql.writes_table(statement, "tasks")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM tasks FOR NO KEY UPDATE",
        "UPDATE task_cursors k SET held = true FROM tasks t WHERE t.id = k.task_id",
        "DELETE FROM tasks_old",
        "-- UPDATE tasks SET status = 'x'\nSELECT 1",
    ],
)
def test_the_rule_leaves_statements_that_only_read_tasks_alone(statement: str):
    assert not sql.writes_table(statement, "tasks")
