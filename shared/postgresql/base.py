"""Django's backend for PostgreSQL; it closes a session that it cannot bring into order.

Django keeps a session that ends while it is set up, as when PostgreSQL restarts, with autocommit
off. The next ``atomic()`` takes itself for an inner one, fails before it has begun, and leaves the
connection marked as inside a transaction that no block ends: from then on each statement of that
thread is refused ("Cannot open a new connection in an atomic block"). A closed session cannot be
misread; the next statement connects anew. Django asks for a module of this name: ``ENGINE`` names
the package.
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
            self.connection = session
            raise self.Database.OperationalError("the session has ended")
        return session

    def set_autocommit(
        self, autocommit: bool, force_begin_transaction_with_broken_autocommit: bool = False
    ) -> None:
        """Begin or end a transaction, in a new session where this one cannot; raise what fails.

        Outside of a transaction nothing is lost with a session: one that the server has left, or
        that was cut off in the middle of a statement, is replaced. One that refuses is closed.
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
