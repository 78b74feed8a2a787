# The networks that may use a key, where it was last used from, and the key that replaced it.

import django.contrib.postgres.fields
from django.db import migrations, models

import tenants.models.api_key


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0006_invitations"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="addresses",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=49),
                blank=True,
                db_default=[],
                default=tenants.models.api_key.everywhere,
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="last_used_address",
            field=models.CharField(blank=True, db_default="", default="", max_length=45),
        ),
        migrations.AddField(
            model_name="apikey",
            name="replaced_by",
            field=models.UUIDField(blank=True, editable=False, null=True),
        ),
    ]
