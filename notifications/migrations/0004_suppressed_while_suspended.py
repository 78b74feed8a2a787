# Another reason why a member was not told; the table stays as it is.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0003_one_browser_of_each_member"),
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
                ],
                default="",
                max_length=20,
            ),
        ),
    ]
