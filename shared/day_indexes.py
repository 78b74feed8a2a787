"""An index on a table of days, built without blocking writers: for migrations."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently

_DAYS = """
SELECT c.relname FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = %s::regclass
  AND NOT EXISTS (
      SELECT FROM pg_inherits x JOIN pg_index d ON d.indexrelid = x.inhrelid
      WHERE x.inhparent = %s::regclass AND d.indrelid = c.oid)
ORDER BY c.relname
"""


class AddIndexDayByDay(AddIndexConcurrently):
    """Adds an index to a partitioned table: each day's part is built on its own, concurrently.

    PostgreSQL does not build an index of a partitioned table concurrently. A run that was cut off
    continues where it was. The migration has to be ``atomic = False``.
    """

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Build the index of each day that lacks it, and make them parts of one."""
        self._ensure_not_in_transaction(schema_editor)
        model = to_state.apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        table, name = model._meta.db_table, self.index.name
        # First the parent index, without parts: each new day then gets its part when it is made.
        whole = self._statement(model, schema_editor, f'ONLY "{table}"', name)
        schema_editor.execute(whole.replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS", 1))
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(_DAYS, [table, name])
            days = [row[0] for row in cursor.fetchall()]
        for day in days:
            part = f"{name}_{day.rpartition('_')[2]}"
            # An index from a run that was cut off is invalid and useless.
            schema_editor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{part}"')
            statement = self._statement(model, schema_editor, f'"{day}"', part)
            schema_editor.execute(statement.replace("CREATE INDEX", "CREATE INDEX CONCURRENTLY", 1))
            schema_editor.execute(f'ALTER INDEX "{name}" ATTACH PARTITION "{part}"')

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Drop the index of all days."""
        self._ensure_not_in_transaction(schema_editor)
        schema_editor.execute(f'DROP INDEX IF EXISTS "{self.index.name}"')

    def _statement(self, model: Any, schema_editor: Any, table: str, name: str) -> str:
        found: Any = self.index.create_sql(model, schema_editor)
        found.parts |= {"table": table, "name": f'"{name}"'}
        return str(found)
