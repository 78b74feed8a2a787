# Attempts have one index, by execution and id, instead of two.

from django.db import migrations, models

_FORWARD = """
ALTER TABLE attempts DROP CONSTRAINT attempts_pkey;
DROP INDEX attempts_of_execution_idx;
ALTER TABLE attempts ADD CONSTRAINT attempts_of_execution_idx UNIQUE (execution_id, id);
"""
_BACK = """
ALTER TABLE attempts DROP CONSTRAINT attempts_of_execution_idx;
CREATE INDEX attempts_of_execution_idx ON attempts (execution_id, number);
ALTER TABLE attempts ADD CONSTRAINT attempts_pkey PRIMARY KEY (id);
"""


class Migration(migrations.Migration):
    dependencies = [("executions", "0016_priority")]

    operations = [
        # Both ways may take longer than a statement of the product.
        migrations.RunSQL("SET LOCAL statement_timeout = 0", "SELECT 1"),
        migrations.RunSQL(
            _FORWARD,
            _BACK,
            state_operations=[
                migrations.RemoveIndex("attempt", "attempts_of_execution_idx"),
                migrations.AddConstraint(
                    "attempt",
                    models.UniqueConstraint(
                        fields=("execution", "id"), name="attempts_of_execution_idx"
                    ),
                ),
            ],
        ),
        migrations.RunSQL("SELECT 1", "SET LOCAL statement_timeout = 0"),
    ]
