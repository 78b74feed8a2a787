"""What must hold of the ledger after every experiment: statements that find what breaks it.

The letters are those of the counting rules. Each statement returns one line per breach.
"""

from __future__ import annotations

from bench.chaos.site import Site

_SHOWN = 3

#: Invariant -> a statement whose rows break it.
INVARIANTS = {
    "I1 one row for each instant of a task": """
        SELECT task_id, scheduled_for, count(*) FROM executions WHERE trigger = 'schedule'
        GROUP BY task_id, series_id, scheduled_for HAVING count(*) > 1
    """,
    "I2 an execution ends once": """
        SELECT s.id, count(*) FROM events e
        CROSS JOIN LATERAL unnest(coalesce(e.subjects, ARRAY[e.subject_id])) AS s (id)
        WHERE e.name IN ('execution.succeeded', 'execution.failed', 'execution.cancelled')
        GROUP BY s.id HAVING count(*) > 1
    """,
    "I3 attempts are numbered one by one, up to the number allowed": """
        SELECT a.execution_id, array_agg(a.number ORDER BY a.number)
        FROM attempts a JOIN executions e ON e.id = a.execution_id
        GROUP BY a.execution_id, e.max_attempts
        HAVING count(*) <> max(a.number) OR min(a.number) <> 1 OR max(a.number) > e.max_attempts
    """,
    "I4 tokens rise from attempt to attempt": """
        SELECT execution_id, number, fencing_token FROM (
            SELECT execution_id, number, fencing_token,
                   lag(fencing_token) OVER (PARTITION BY execution_id ORDER BY number) AS former
            FROM attempts) AS pairs
        WHERE fencing_token <= former
    """,
    # No worker runs the take of a run.
    "I5 what succeeded has one attempt that did, the last": """
        SELECT e.id, e.attempt FROM executions e
        WHERE e.status = 'SUCCEEDED' AND e.pool <> 'workflow' AND 1 <> (
            SELECT count(*) FILTER (WHERE a.outcome = 'SUCCEEDED' AND a.number = e.attempt)
                   + count(*) FILTER (WHERE a.outcome = 'SUCCEEDED' AND a.number <> e.attempt) * 2
            FROM attempts a WHERE a.execution_id = e.id)
    """,
    # A step has none: its run has.
    "I7 each failed execution has one dead letter": """
        SELECT e.id, count(d.execution_id)
        FROM executions e LEFT JOIN dead_letters d ON d.execution_id = e.id
        WHERE e.status = 'FAILED' AND e.step IS NULL
        GROUP BY e.id HAVING count(d.execution_id) <> 1
    """,
    "I8 what workers have is within its lease, or was taken back": """
        SELECT id, status, lease_expires_at FROM executions
        WHERE status IN ('QUEUED', 'RUNNING') AND lease_expires_at < now() - interval '10 seconds'
    """,
    "I9 a take of a run has each step and item once": """
        SELECT run_id, step, item, take, count(*) FROM executions WHERE step IS NOT NULL
        GROUP BY run_id, step, item, take HAVING count(*) > 1
    """,
    "I10 a run that has ended leaves nothing that is open": """
        SELECT e.id, e.take FROM ended_workflow_runs e
        WHERE NOT EXISTS (SELECT FROM workflow_runs r WHERE r.id = e.id) AND (
            EXISTS (SELECT FROM open_executions o WHERE o.run_id = e.id)
            OR EXISTS (SELECT FROM workflow_inbox i WHERE i.run_id = e.id)
            OR EXISTS (SELECT FROM workflow_waits w WHERE w.run_id = e.id)
            OR EXISTS (SELECT FROM workflow_fans f WHERE f.run_id = e.id))
    """,
}


def broken(site: Site) -> list[str]:
    """Return the invariants that do not hold, with examples."""
    found = []
    for sentence, statement in INVARIANTS.items():
        rows = site.rows(statement)
        if rows:
            shown = ", ".join(str(row) for row in rows[:_SHOWN])
            found.append(f"{sentence}: {len(rows)} breaches, as {shown}")
    return found
