"""Django's PostgreSQL backend; it closes a session whose setup fails.

When PostgreSQL restarts while Django sets a session up, Django keeps that session with autocommit
off. The next ``atomic()`` then acts as an inner block, fails on entry, and leaves the connection
marked as inside a transaction. No block ends it, so Django refuses every later statement of that
thread ("Cannot open a new connection in an atomic block"). Once the session is closed, the next
statement connects again. ``ENGINE`` names the package; Django requires the module name ``base``.
"""

from __future__ import annotations

from typing import Any

from django.db import Error
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that outside of a transaction is either in order or closed."""

    def connect(self) -> None:
        """Connect, and set the session up; raise what fails, and leave no session behind."""
        try:
            super().connect()
        except BaseException:
            self.close()
            raise

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a session; raise OperationalError for one that has ended in the pool."""
        session = super().get_new_connection(conn_params)
        if _is_out_of_order(session):
            # connect() closes it, which gives it back to the pool.
            self.connection = session
            raise self.Database.OperationalError("the session has ended")
        return session

    def set_autocommit(
        self, autocommit: bool, force_begin_transaction_with_broken_autocommit: bool = False
    ) -> None:
        """Begin or end a transaction; raise the error, and close the session, where that fails.

        Replaces a session that is closed or was interrupted in a statement. Outside of a
        transaction no work is lost with it.
        """
        if not self.in_atomic_block and _is_out_of_order(self.connection):
            self.close()
        try:
            super().set_autocommit(autocommit, force_begin_transaction_with_broken_autocommit)
        except Error:
            if not self.in_atomic_block:
                self.close()
            raise


def _is_out_of_order(session: Any) -> bool:
    return session is not None and session.info.transaction_status is not TransactionStatus.IDLE
