"""Write down where each task's work goes, so that tasks can be found by it.

In batches that commit one by one: no row stays locked for longer than a batch takes. An
interrupted run begins anew and changes nothing twice.
"""

from __future__ import annotations

from django.db import migrations

BATCH = 5000

FILL = r"""
DO $$
DECLARE
    done uuid := '00000000-0000-0000-0000-000000000000';
    upto uuid;
BEGIN
    LOOP
        SELECT id INTO upto FROM (
            SELECT id FROM tasks WHERE id > done ORDER BY id LIMIT {batch}
        ) AS chunk ORDER BY id DESC LIMIT 1;
        EXIT WHEN upto IS NULL;
        UPDATE tasks t
        SET destination = lower(coalesce(
                substring(r.definition -> 'target' ->> 'url' FROM '^[^:]+://([^/?#]+)'), ''))
        FROM task_revisions r
        WHERE t.id > done AND t.id <= upto AND r.task_id = t.id AND r.version = t.version;
        COMMIT;
        done := upto;
    END LOOP;
END $$
"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("tasks", "0003_calendars_pauses_zones")]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0", "RESET statement_timeout"),
        migrations.RunSQL(FILL.format(batch=BATCH), migrations.RunSQL.noop),
        migrations.RunSQL("RESET statement_timeout", migrations.RunSQL.noop),
    ]
