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
    "I5 what succeeded has one attempt that did, the last": """
        SELECT e.id, e.attempt FROM executions e WHERE e.status = 'SUCCEEDED' AND 1 <> (
            SELECT count(*) FILTER (WHERE a.outcome = 'SUCCEEDED' AND a.number = e.attempt)
                   + count(*) FILTER (WHERE a.outcome = 'SUCCEEDED' AND a.number <> e.attempt) * 2
            FROM attempts a WHERE a.execution_id = e.id)
    """,
    "I7 each failed execution has one dead letter": """
        SELECT e.id, count(d.execution_id)
        FROM executions e LEFT JOIN dead_letters d ON d.execution_id = e.id
        WHERE e.status = 'FAILED' GROUP BY e.id HAVING count(d.execution_id) <> 1
    """,
    "I8 what workers have is within its lease, or was taken back": """
        SELECT id, status, lease_expires_at FROM executions
        WHERE status IN ('QUEUED', 'RUNNING') AND lease_expires_at < now() - interval '10 seconds'
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
