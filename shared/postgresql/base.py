"""Django's backend for PostgreSQL; it closes a session that it cannot bring into order.

Django keeps a session that ends while it is set up, as when PostgreSQL restarts, with autocommit
off. The next ``atomic()`` takes itself for an inner one, fails before it has begun, and leaves the
connection marked as inside a transaction that no block ends: from then on each statement of that
thread is refused ("Cannot open a new connection in an atomic block"). A closed session cannot be
misread; the next statement connects anew. Django asks for a module of this name: ``ENGINE`` names
the package.
"""

from __future__ import annotations

from django.db import Error
from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that outside of a transaction is either in order or closed."""

    def connect(self) -> None:
        """Connect, and set the session up; raise what fails, and leave no session behind."""
        try:
            super().connect()
        except BaseException:
            self.close()
            raise

    def set_autocommit(
        self, autocommit: bool, force_begin_transaction_with_broken_autocommit: bool = False
    ) -> None:
        """Begin or end a transaction; close the session that refuses, outside of a transaction."""
        try:
            super().set_autocommit(autocommit, force_begin_transaction_with_broken_autocommit)
        except Error:
            if not self.in_atomic_block:
                self.close()
            raise
