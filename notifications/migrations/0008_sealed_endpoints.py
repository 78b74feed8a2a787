# Endpoints of browsers are sealed; those that stand in the clear are sealed by the processes.

from django.db import migrations, models

import shared.fields


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0007_alert_channels"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="pushsubscription",
            name="one_push_subscription_per_browser",
        ),
        migrations.AlterField(
            model_name="pushsubscription",
            name="endpoint",
            field=models.CharField(db_default="", default="", max_length=2048),
        ),
        migrations.AddField(
            model_name="pushsubscription",
            name="sealed_endpoint",
            field=shared.fields.SealedField(null=True),
        ),
        migrations.AddField(
            model_name="pushsubscription",
            name="endpoint_digest",
            field=models.CharField(max_length=64, null=True),
        ),
        migrations.AddField(
            model_name="pushsubscription",
            name="host",
            field=models.CharField(db_default="", default="", max_length=260),
        ),
        migrations.AddConstraint(
            model_name="pushsubscription",
            constraint=models.UniqueConstraint(
                fields=("membership", "endpoint_digest"), name="one_push_subscription_per_endpoint"
            ),
        ),
    ]
