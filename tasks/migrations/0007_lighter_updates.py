# A task is updated with each of its executions: pages keep room for it, and the index of labels
# holds only tasks that have labels.

import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("tasks", "0006_last_success"),
    ]

    operations = [
        # Building an index takes as long as the table is large.
        migrations.RunSQL("SET statement_timeout = 0", "RESET statement_timeout"),
        migrations.RunSQL(
            "ALTER TABLE tasks SET (fillfactor = 75)", "ALTER TABLE tasks RESET (fillfactor)"
        ),
        AddIndexConcurrently(
            model_name="task",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("labels", {}), _negated=True),
                fields=["labels"],
                name="tasks_labelled_idx",
            ),
        ),
        RemoveIndexConcurrently(model_name="task", name="tasks_by_label_idx"),
        migrations.RunSQL("RESET statement_timeout", migrations.RunSQL.noop),
    ]
