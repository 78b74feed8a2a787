# When a task last succeeded, for the templates of its webhook.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0005_tasks_with_calendars"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="last_success_at",
            field=models.DateTimeField(null=True),
        ),
    ]
