"""Whether URLs and arguments of a tenant's targets are sealed: a column of its data keys."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

#: The way back would leave targets without their URLs and arguments to older processes.
_REFUSE_WHILE_TARGETS_ARE_SEALED = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM data_keys WHERE seals_targets) THEN
        RAISE EXCEPTION 'URLs and arguments are sealed: an older version cannot read them.';
    END IF;
END $$
"""


class Migration(migrations.Migration):
    """Add the column, false in every row: an older process does not write it."""

    dependencies: ClassVar = [("tenants", "0012_weight")]
    operations: ClassVar = [
        migrations.AddField(
            model_name="datakey",
            name="seals_targets",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, _REFUSE_WHILE_TARGETS_ARE_SEALED),
    ]
