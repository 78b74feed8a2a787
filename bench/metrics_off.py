"""A copy of the checkout in which nothing is counted for metrics, to measure what counting costs.

No setting turns counting off: it is part of the transactions that it counts. So the copy is the
commit with the counting taken out of its statements and functions.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from bench.installation import CHECKOUT
from bench.mutation import Edit
from bench.mutations import mutated

_TOTALS = "executions/ledger/totals.py"
_MATERIALIZE = "executions/sql/materialize.sql"


def _never(path: str, before: str) -> Edit:
    """Return the edit after which a statement adds no row of totals."""
    return Edit(path, f"{before} HAVING count(*) > 0", f"{before} HAVING false")


EDITS = (
    Edit(_TOTALS, "    if counted:\n", "    if not counted:\n"),
    Edit(_TOTALS, "    add = found.get\n", "    return found\n"),
    _never(_MATERIALIZE, "SELECT ARRAY['scheduled/schedule'], ARRAY[count(*)] FROM made"),
    _never(_MATERIALIZE, "WHERE s.series IS NOT NULL"),
    _never(_MATERIALIZE, "WHERE m.reason LIKE 'misfire_%%'"),
    _never(
        "executions/sql/complete.sql", "SELECT ARRAY['dead_letters'], ARRAY[count(*)] FROM made"
    ),
    _never(
        "workflows/sql/workflow_takes.sql",
        "SELECT ARRAY['scheduled/workflow'], ARRAY[count(*)] FROM made",
    ),
    Edit("executions/beat.py", '                Stage("totals", self._totals),\n', ""),
    Edit("api/protocol/request_counts.py", "web_counts.count_request(*asked)", "pass"),
)
"""What is taken out: totals of statements and batches, their folding, the counts of requests."""


def copy_to(folder: Path) -> Path:
    """Clone the commit into a folder that does not exist, and take the counting out; return it."""
    command = ["git", "-c", "advice.detachedHead=false", "clone", "-q"]
    subprocess.run([*command, str(CHECKOUT), str(folder)], check=True)
    for edit in EDITS:
        path = folder / edit.path
        path.write_text(mutated(path.read_text(encoding="utf-8"), edit), encoding="utf-8")
    (folder / ".venv").symlink_to(CHECKOUT / ".venv")
    return folder
