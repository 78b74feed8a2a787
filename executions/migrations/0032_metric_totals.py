"""Keep totals for metrics, and tell the age of the oldest snapshot to the web process."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    """Make the table of totals, and the function that the scrape asks."""

    dependencies = [("executions", "0031_holds")]

    operations = [
        migrations.CreateModel(
            name="MetricTotal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("series", ArrayField(models.TextField())),
                ("counts", ArrayField(models.BigIntegerField())),
            ],
            options={"db_table": "metric_totals"},
        ),
        # With the rights of its owner: PostgreSQL hides other roles' sessions from the web's role.
        migrations.RunSQL(
            "CREATE FUNCTION oldest_snapshot_seconds() RETURNS double precision"
            " LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp"
            " AS $$ SELECT coalesce(max(extract(epoch FROM clock_timestamp() - a.xact_start)), 0)"
            "::double precision FROM pg_catalog.pg_stat_activity a"
            " WHERE a.backend_xmin IS NOT NULL AND a.datname = current_database()"
            " AND a.backend_type = 'client backend' AND a.pid <> pg_backend_pid() $$;"
            "REVOKE ALL ON FUNCTION oldest_snapshot_seconds() FROM PUBLIC",
            "DROP FUNCTION oldest_snapshot_seconds()",
        ),
    ]
