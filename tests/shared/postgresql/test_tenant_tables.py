from __future__ import annotations

import pytest

from shared.postgresql.tenant_tables import tenant_table_in, tenant_tables


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ('SELECT "tasks"."id" FROM "tasks"', "tasks"),
        ("SELECT 1 FROM public.tasks", "tasks"),
        ("SELECT count(*) FROM open_executions e", "open_executions"),
        ("WITH x AS (SELECT 1) INSERT INTO workflow_waits SELECT 1", "workflow_waits"),
        ("-- reads tasks\nSELECT 1", ""),
        ("SELECT 'tasks', 1", ""),
        ('SELECT "django_session"."session_key" FROM "django_session"', ""),
        ("SELECT id FROM alert_tasks", "alert_tasks"),
        ("SELECT id FROM my_tasks, tasks_of", ""),
    ],
)
def test_a_statement_names_a_table_of_tenants(statement, table):
    assert tenant_table_in(statement) == table


def test_the_tables_are_those_of_models_and_the_ones_without():
    assert {
        "tasks",
        "tenants",
        "memberships",
        "workflow_waits",
        "task_revisions",
    } <= tenant_tables()
    assert not {"auth_user", "django_session", "sign_ins", "partition_leases"} & tenant_tables()
