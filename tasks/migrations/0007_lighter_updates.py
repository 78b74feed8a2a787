# A task is updated with each of its executions: pages keep room for it, the index of labels holds
# only tasks that have labels, and revisions have no index that another one begins with.

import django.contrib.postgres.indexes
import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("tasks", "0006_last_success"),
    ]

    operations = [
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
        migrations.AlterField(
            model_name="taskrevision",
            name="task",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="revisions",
                to="tasks.task",
            ),
        ),
    ]
