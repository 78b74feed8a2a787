# Lists find what is rare among millions: what did not succeed, what has an error, what ran in a
# pool other than that of webhooks. An execution that succeeds at once enters none of these.

from django.db import migrations, models

from shared.day_indexes import AddIndexDayByDay


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("executions", "0007_scheduler_reaches_redis"),
    ]

    operations = [
        # Building an index takes as long as the table is large.
        migrations.RunSQL("SET statement_timeout = 0", "RESET statement_timeout"),
        AddIndexDayByDay(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("status__in", ["FAILED", "CANCELLED", "SKIPPED"])),
                fields=["tenant", "status", "-id"],
                name="executions_unsuccessful_idx",
            ),
        ),
        AddIndexDayByDay(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("error_code", ""), _negated=True),
                fields=["tenant", "-id"],
                name="executions_with_error_idx",
            ),
        ),
        AddIndexDayByDay(
            model_name="execution",
            index=models.Index(
                condition=models.Q(("pool", "default"), _negated=True),
                fields=["tenant", "pool", "-id"],
                name="executions_of_pool_idx",
            ),
        ),
        migrations.RunSQL("RESET statement_timeout", migrations.RunSQL.noop),
    ]
