# The index of the constraint begins with the tenant; one of the tenant alone only misled the planner.

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0007_scheduler_reaches_redis"),
        ("tenants", "0002_default_jitter"),
    ]

    operations = [
        migrations.AlterField(
            model_name="destination",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="tenants.tenant",
            ),
        ),
    ]
