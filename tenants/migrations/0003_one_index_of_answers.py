# The index of the constraint begins with the tenant. Of two that serve, a plan made while the table
# was empty took that of the tenant alone, and read all its answers to find one.

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0002_default_jitter"),
    ]

    operations = [
        migrations.AlterField(
            model_name="idempotencyrecord",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="tenants.tenant",
            ),
        ),
    ]
