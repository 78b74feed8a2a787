# Further reasons why a channel was not told; the table stays as it is.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0008_sealed_endpoints"),
    ]

    operations = [
        migrations.AlterField(
            model_name="delivery",
            name="reason",
            field=models.CharField(
                choices=[
                    ("muted", "Muted"),
                    ("quiet_hours", "Quiet hours"),
                    ("no_address", "No address"),
                    ("no_subscription", "No browser subscribed"),
                    ("unsubscribed", "Unsubscribed meanwhile"),
                    ("tenant_suspended", "Tenant suspended"),
                    ("acknowledged", "Acknowledged meanwhile"),
                    ("not_told", "Its beginning was not told"),
                ],
                default="",
                max_length=20,
            ),
        ),
    ]
