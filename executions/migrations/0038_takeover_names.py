# Which scheduler lost a partition, and which one took it over: two columns with a constant default.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("executions", "0037_target_days")]

    operations = [
        migrations.AddField(
            model_name="unownedstretch",
            name="lost_by",
            field=models.CharField(db_default="", default="", max_length=120),
        ),
        migrations.AddField(
            model_name="unownedstretch",
            name="taken_by",
            field=models.CharField(db_default="", default="", max_length=120),
        ),
    ]
