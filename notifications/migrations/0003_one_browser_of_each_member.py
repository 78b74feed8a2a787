# Each member has a row of its own for a browser, so that none can take another's away.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0002_confirmed_addresses"),
        ("tenants", "0003_one_index_of_answers"),
    ]

    operations = [
        migrations.AddConstraint(
            model_name="pushsubscription",
            constraint=models.UniqueConstraint(
                fields=("membership", "endpoint"), name="one_push_subscription_per_browser"
            ),
        ),
        migrations.AlterField(
            model_name="pushsubscription",
            name="endpoint",
            field=models.CharField(max_length=2048),
        ),
    ]
