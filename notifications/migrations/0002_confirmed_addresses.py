# A member's own address is used once it is confirmed; those that are in use stay in use.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="notificationpreference",
            name="confirmed_email_address",
            field=models.EmailField(blank=True, max_length=254, null=True),
        ),
        migrations.RunSQL(
            "UPDATE notification_preferences SET confirmed_email_address = email_address"
            " WHERE email_address IS NOT NULL",
            migrations.RunSQL.noop,
        ),
    ]
