# The index of the constraint begins with the task: another of the task alone serves nobody.

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0007_lighter_updates"),
    ]

    operations = [
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
