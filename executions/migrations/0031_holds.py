from __future__ import annotations

from django.db import migrations

_FUNCTION = """
CREATE FUNCTION judged_after_outage(
    held boolean, gated boolean, parked boolean, key_place smallint, pool text, reason text
) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT NOT parked AND CASE
        WHEN reason = '' THEN NOT held OR gated OR coalesce(key_place = 0, false)
        ELSE reason = 'tenant_limit' AND held AND pool = 'workflow' END
$$
"""


class Migration(migrations.Migration):
    """Index what waits on hold, say once what an outage makes late, give back places of keys.

    The function decides which prepared work the misfire policy judges after a time without a
    scheduler; ``executions/holds.py`` describes it by reason.
    """

    dependencies = [("executions", "0030_shares")]

    operations = [
        # Writes to the open executions wait for it: about a second for a million of them.
        migrations.RunSQL("SET LOCAL statement_timeout = 0", "SELECT 1"),
        migrations.RunSQL(
            _FUNCTION,
            "DROP FUNCTION judged_after_outage(boolean, boolean, boolean, smallint, text, text)",
        ),
        migrations.RunSQL(
            "CREATE INDEX open_executions_late_on_hold_idx ON open_executions (due_at)"
            " WHERE status = 'PENDING' AND held AND trigger = 'schedule' AND attempt = 0",
            "DROP INDEX open_executions_late_on_hold_idx",
        ),
        migrations.RunSQL(
            "CREATE INDEX open_executions_run_waits_idx ON open_executions (task_id, due_at)"
            " WHERE pool = 'workflow' AND status = 'PENDING' AND held AND run_id IS NOT NULL",
            "DROP INDEX open_executions_run_waits_idx",
        ),
        migrations.RunSQL(
            "CREATE INDEX open_executions_key_aside_idx ON open_executions (id)"
            " WHERE key_place = -1",
            "DROP INDEX open_executions_key_aside_idx",
        ),
        # Runs that wait for a limit of their tenant have no place of their key meanwhile.
        migrations.RunSQL(
            "UPDATE open_executions SET key_place = -1 WHERE status = 'PENDING' AND held"
            " AND reason = 'tenant_limit' AND pool = 'workflow' AND key_place >= 0",
            # A former version asks for the place before it frees such a run.
            "UPDATE open_executions SET key_place = 0 WHERE status = 'PENDING' AND held"
            " AND reason = 'tenant_limit' AND pool = 'workflow' AND key_place = -1",
        ),
    ]
