"""Write down where each task's work goes, so that tasks can be found by it."""

from django.db import migrations

_FILL = r"""
UPDATE tasks t
SET destination = lower(coalesce(
        substring(r.definition -> 'target' ->> 'url' FROM '^[^:]+://([^/?#]+)'), ''))
FROM task_revisions r
WHERE r.task_id = t.id AND r.version = t.version
"""


class Migration(migrations.Migration):
    dependencies = [("tasks", "0003_calendars_pauses_zones")]

    operations = [migrations.RunSQL(_FILL, migrations.RunSQL.noop)]
