"""The tables of workflows, and the columns of executions that are steps of their runs."""

from __future__ import annotations

from pathlib import Path

from django.db import migrations, models


def _sql(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


class Migration(migrations.Migration):
    """Add what runs of workflows need; nothing that is there changes.

    The version before ignores the new columns and tables: it has no workflow.
    """

    dependencies = [("executions", "0021_leased_by_pull_workers")]

    operations = [
        migrations.RunSQL(
            _sql("0022_workflows.sql"),
            _sql("0022_workflows.down.sql"),
            state_operations=[
                migrations.AddField("execution", "run_id", models.UUIDField(null=True)),
                migrations.AddField("execution", "step", models.SmallIntegerField(null=True)),
                migrations.AddField("execution", "item", models.IntegerField(null=True)),
                migrations.AddField("execution", "take", models.SmallIntegerField(null=True)),
                migrations.CreateModel(
                    name="EndedWorkflowRun",
                    fields=[
                        ("id", models.UUIDField(primary_key=True, serialize=False)),
                        ("execution_id", models.UUIDField()),
                        ("tenant_id", models.UUIDField()),
                        ("task_id", models.UUIDField()),
                        ("version", models.IntegerField()),
                        ("partition", models.SmallIntegerField()),
                        ("take", models.SmallIntegerField()),
                        ("phase", models.CharField(max_length=12)),
                        ("reason", models.CharField(db_default="", default="", max_length=40)),
                        ("states", models.BinaryField()),
                        ("takes", models.BinaryField()),
                        ("ends", models.IntegerField(db_default=0, default=0)),
                        ("first_failed", models.SmallIntegerField(null=True)),
                        ("sealed_input", models.BinaryField(null=True)),
                        ("scheduled_for", models.DateTimeField()),
                        ("began_at", models.DateTimeField()),
                        ("deadline_at", models.DateTimeField()),
                        ("root_id", models.UUIDField()),
                        ("depth", models.SmallIntegerField(db_default=0, default=0)),
                        ("parent_run", models.UUIDField(null=True)),
                        ("parent_step", models.SmallIntegerField(null=True)),
                        ("parent_item", models.IntegerField(null=True)),
                        ("parent_take", models.SmallIntegerField(null=True)),
                        ("status", models.CharField(max_length=9)),
                        ("finished_at", models.DateTimeField()),
                    ],
                    options={
                        "db_table": "ended_workflow_runs",
                    },
                ),
                migrations.CreateModel(
                    name="WorkflowRun",
                    fields=[
                        ("id", models.UUIDField(primary_key=True, serialize=False)),
                        ("execution_id", models.UUIDField()),
                        ("tenant_id", models.UUIDField()),
                        ("task_id", models.UUIDField()),
                        ("version", models.IntegerField()),
                        ("partition", models.SmallIntegerField()),
                        ("take", models.SmallIntegerField()),
                        ("phase", models.CharField(max_length=12)),
                        ("reason", models.CharField(db_default="", default="", max_length=40)),
                        ("states", models.BinaryField()),
                        ("takes", models.BinaryField()),
                        ("ends", models.IntegerField(db_default=0, default=0)),
                        ("first_failed", models.SmallIntegerField(null=True)),
                        ("sealed_input", models.BinaryField(null=True)),
                        ("scheduled_for", models.DateTimeField()),
                        ("began_at", models.DateTimeField()),
                        ("deadline_at", models.DateTimeField()),
                        ("root_id", models.UUIDField()),
                        ("depth", models.SmallIntegerField(db_default=0, default=0)),
                        ("parent_run", models.UUIDField(null=True)),
                        ("parent_step", models.SmallIntegerField(null=True)),
                        ("parent_item", models.IntegerField(null=True)),
                        ("parent_take", models.SmallIntegerField(null=True)),
                    ],
                    options={
                        "db_table": "workflow_runs",
                    },
                ),
                migrations.CreateModel(
                    name="WorkflowStep",
                    fields=[
                        ("id", models.UUIDField(primary_key=True, serialize=False)),
                        ("run_id", models.UUIDField()),
                        ("tenant_id", models.UUIDField()),
                        ("step", models.SmallIntegerField()),
                        ("item", models.IntegerField()),
                        ("take", models.SmallIntegerField()),
                        ("status", models.CharField(max_length=9)),
                        ("reason", models.CharField(max_length=40)),
                        ("place", models.IntegerField()),
                        ("execution_id", models.UUIDField(null=True)),
                        ("started_at", models.DateTimeField(null=True)),
                        ("finished_at", models.DateTimeField()),
                        ("error_code", models.CharField(default="", max_length=30)),
                        ("error_message", models.CharField(default="", max_length=1000)),
                        ("actor", models.CharField(default="", max_length=254)),
                        ("note", models.CharField(default="", max_length=1000)),
                        ("sealed_output", models.BinaryField(null=True)),
                    ],
                    options={
                        "db_table": "workflow_steps",
                    },
                ),
            ],
        ),
    ]
