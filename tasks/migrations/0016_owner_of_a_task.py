# Who owns a task: an e-mail address or the name of an API key; empty for none.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0015_export_keys"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="owner",
            field=models.CharField(db_default="", default="", max_length=254),
        ),
    ]
