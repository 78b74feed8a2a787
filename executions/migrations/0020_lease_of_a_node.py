from __future__ import annotations

from django.db import migrations, models

_FORWARD = """
UPDATE scheduler_nodes n SET lease_expires_at = (
    SELECT max(l.expires_at) FROM partition_leases l WHERE l.owner = n.id);
UPDATE partition_leases l SET expires_at = NULL
WHERE EXISTS (SELECT FROM scheduler_nodes n WHERE n.id = l.owner AND n.lease_expires_at IS NOT NULL);
ALTER TABLE partition_leases RESET (fillfactor);
"""
_BACK = """
ALTER TABLE partition_leases SET (fillfactor = 10);
UPDATE partition_leases l SET expires_at = least(l.expires_at, n.lease_expires_at)
FROM scheduler_nodes n WHERE n.id = l.owner;
"""


class Migration(migrations.Migration):
    """One lease of a scheduler for all its partitions, in place of one of each partition.

    Every two seconds one row is written in place of 256, and partitions are read as they are: of a
    row that is written so often, beside a transaction that stays open, every version is read.
    """

    dependencies = [("executions", "0019_fewer_statistics")]

    operations = [
        migrations.AddField(
            model_name="schedulernode",
            name="lease_expires_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.RunSQL(_FORWARD, _BACK),
    ]
