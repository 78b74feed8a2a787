"""States move in one module: executions in transitions.py, tasks in their service."""

from __future__ import annotations

import re

import pytest

from tests.architecture import tree
from tests.architecture.rules import sql, states

# Path -> why this module may write a status.
OWNERS = {
    "executions/transitions.py": "every move of an execution",
    "executions/materialize/instants.py": "the first state of an execution",
    "tasks/services.py": "the status of a task",
    "tasks/creation.py": "the first status of a task",
}
# Modules that may use a statement that writes the status of executions.
SQL_OWNERS = {
    "executions/transitions.py",
    "executions/materialize/instants.py",
    "executions/materialize/plain.py",
    # Rows of a past that never moved: they are made up in their last state.
    "operations/history_samples.py",
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
        if module.path not in OWNERS
        and not module.is_migration
        and not module.path.startswith("tasks/services/")
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
