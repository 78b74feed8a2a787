# What delivery needs: destinations and their limits, pull pools, long jobs, the load of workers.

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import shared.ids


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0005_counted_executions"),
        ("tasks", "0006_last_success"),
        ("tenants", "0002_default_jitter"),
    ]

    operations = [
        migrations.CreateModel(
            name="Destination",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=shared.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("host", models.CharField(max_length=260)),
                ("max_in_flight", models.PositiveIntegerField(null=True)),
                ("rate_per_second", models.FloatField(null=True)),
                ("breaker", models.BooleanField(default=True)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "updated_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "db_table": "destinations",
            },
        ),
        migrations.CreateModel(
            name="Pool",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=shared.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=50)),
                ("paused", models.BooleanField(default=False)),
                ("max_in_flight", models.PositiveIntegerField(null=True)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "updated_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "db_table": "pools",
            },
        ),
        migrations.CreateModel(
            name="WorkerMinute",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("worker", models.CharField(max_length=120)),
                ("minute", models.DateTimeField()),
                ("pool", models.CharField(max_length=63)),
                ("host", models.CharField(default="", max_length=120)),
                ("version", models.CharField(default="", max_length=40)),
                ("slots", models.IntegerField(default=0)),
                ("running", models.IntegerField(default=0)),
                ("held", models.IntegerField(default=0)),
                ("cpu_percent", models.FloatField(default=0)),
                ("memory_bytes", models.BigIntegerField(null=True)),
                ("ended", models.BigIntegerField(default=0)),
            ],
            options={
                "db_table": "worker_minutes",
            },
        ),
        migrations.RemoveIndex(
            model_name="execution",
            name="executions_due_idx",
        ),
        migrations.AddField(
            model_name="execution",
            name="accepted_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="execution",
            name="destination",
            field=models.CharField(db_default="", default="", max_length=260),
        ),
        migrations.AddField(
            model_name="execution",
            name="parked",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="execution",
            name="sealed_progress",
            field=models.BinaryField(null=True),
        ),
        migrations.AddField(
            model_name="execution",
            name="sealed_result",
            field=models.BinaryField(null=True),
        ),
        migrations.AddIndex(
            model_name="execution",
            index=models.Index(
                condition=models.Q(
                    ("held", False), ("parked", False), ("status__in", ["PENDING", "RETRYING"])
                ),
                fields=["band", "due_at"],
                name="executions_due_idx",
            ),
        ),
        migrations.AddIndex(
            model_name="execution",
            index=models.Index(
                condition=models.Q(
                    ("held", False), ("parked", True), ("status__in", ["PENDING", "RETRYING"])
                ),
                fields=["tenant", "destination", "band", "due_at"],
                name="executions_parked_idx",
            ),
        ),
        migrations.AddIndex(
            model_name="execution",
            index=models.Index(
                condition=models.Q(
                    ("held", False),
                    ("parked", False),
                    ("pool__startswith", "pull."),
                    ("status__in", ["PENDING", "RETRYING"]),
                ),
                fields=["tenant", "pool", "band", "due_at"],
                name="executions_pull_idx",
            ),
        ),
        migrations.AddField(
            model_name="destination",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="tenants.tenant"
            ),
        ),
        migrations.AddField(
            model_name="pool",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="tenants.tenant"
            ),
        ),
        migrations.AddIndex(
            model_name="workerminute",
            index=models.Index(fields=["minute"], name="worker_minutes_idx"),
        ),
        migrations.AddConstraint(
            model_name="workerminute",
            constraint=models.UniqueConstraint(
                fields=("worker", "minute"), name="worker_has_one_row_a_minute"
            ),
        ),
        migrations.AddConstraint(
            model_name="destination",
            constraint=models.UniqueConstraint(
                fields=("tenant", "host"), name="destination_is_one_row"
            ),
        ),
        migrations.AddConstraint(
            model_name="destination",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("max_in_flight__isnull", True), ("max_in_flight__gte", 1), _connector="OR"
                    ),
                    models.Q(
                        ("rate_per_second__isnull", True),
                        ("rate_per_second__gt", 0),
                        _connector="OR",
                    ),
                ),
                name="destination_limits_are_positive",
            ),
        ),
        migrations.AddConstraint(
            model_name="pool",
            constraint=models.UniqueConstraint(fields=("tenant", "name"), name="pool_is_one_row"),
        ),
        migrations.AddConstraint(
            model_name="pool",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("max_in_flight__isnull", True), ("max_in_flight__gte", 1), _connector="OR"
                ),
                name="pool_limit_is_positive",
            ),
        ),
    ]
