# In the index of due tasks each task has an entry of its own. Tasks of one instant shared entries
# of up to a hundred and thirty, which stay as long as one of them waits: each look at a partition
# visited the rows of those that had been planned since. What is there already is written singly
# when its task moves on.

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0009_lists_count_by_index"),
    ]

    operations = [
        migrations.RunSQL(
            "ALTER INDEX tasks_due_idx SET (deduplicate_items = off)",
            "ALTER INDEX tasks_due_idx RESET (deduplicate_items)",
        ),
    ]
