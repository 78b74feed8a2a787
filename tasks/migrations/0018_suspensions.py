# The suspension of a tenant is a pause of a scope of its own.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0017_tasks_by_owner"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="pause",
            name="pause_scope_is_known",
        ),
        migrations.AddConstraint(
            model_name="pause",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("scope__in", ["label", "pool", "destination", "tenant", "suspension"])
                ),
                name="pause_scope_is_known",
            ),
        ),
    ]
