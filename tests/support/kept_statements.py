"""Statements that stay prepared when a test rolls back.

psycopg forgets all prepared statements at each rollback, since what was made in the transaction may
be gone. Nearly every test ends with a rollback, and few make tables: without those, the next test
goes on with the plans of the last one, as a process does whose transactions commit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from psycopg._preparing import Prepare, PrepareManager
from psycopg.pq import ExecStatus

#: Beginnings of what PostgreSQL says of statements after which others may mean something else.
_OF_SCHEMA = re.compile(
    rb"(?:CREATE|ALTER|DROP|TRUNCATE|COMMENT|DO|GRANT|REVOKE|DISCARD|DEALLOCATE)\b"
).match


class KeptStatements(PrepareManager):
    """Prepared statements of a session that a rollback leaves alone, unless it has made tables."""

    prepared_max = 1000

    def __init__(self) -> None:
        super().__init__()
        self._has_changed_schema = False

    def clear(self) -> bool:
        """Forget all statements if the transaction that is rolled back has changed the schema."""
        if not self._has_changed_schema:
            return False
        self._has_changed_schema = False
        return super().clear()

    def _should_discard(self, prep: Prepare, results: Sequence[Any], *_: Any) -> bool:
        said = [one.command_status or b"" for one in results if one.status == ExecStatus.COMMAND_OK]
        self._has_changed_schema |= any(map(_OF_SCHEMA, said))
        if b"ROLLBACK" in said:
            # To a savepoint: what was made before it is there still.
            return self._has_changed_schema and super().clear()
        return super()._should_discard(prep, results)
