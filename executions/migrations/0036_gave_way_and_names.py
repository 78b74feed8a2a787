from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Mark runs that gave their place at the gate away; correct a cause, and a name for people.

    The column is mostly null. A status that was not told stood in causes of dead letters as a
    word, so that equal causes were two groups.
    """

    dependencies = [("executions", "0035_waiting_approvals")]

    operations = [
        migrations.AddField("execution", "gave_way", models.BooleanField(null=True)),
        migrations.RunSQL(
            "UPDATE dead_letters SET error_signature = 'http_status'"
            " WHERE error_signature = 'http_status:None'",
            migrations.RunSQL.noop,
        ),
        migrations.AlterModelOptions(
            "unownedstretch", {"verbose_name_plural": "unowned stretches"}
        ),
    ]
