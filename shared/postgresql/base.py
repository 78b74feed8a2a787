"""Django's PostgreSQL backend; closes a session whose setup fails, and binds sessions to tenants.

When PostgreSQL restarts while Django sets a session up, Django keeps that session with autocommit
off. The next ``atomic()`` then acts as an inner block, fails on entry, and leaves the connection
marked as inside a transaction. No block ends it, so Django refuses every later statement of that
thread ("Cannot open a new connection in an atomic block"). Once the session is closed, the next
statement connects again. ``ENGINE`` names the package; Django requires the module name ``base``.

Before each statement of the web process the session is bound to the tenant in scope (see
``shared.tenant_scope``), unless it is already. A session remembers its binding while it is in the
pool, and every statement compares: the binding of one request never reaches another one. One that
was set inside a transaction ends with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import Error
from django.db.backends.postgresql import base
from django.db.backends.postgresql.base import ServerBindingCursor
from psycopg.pq import PipelineStatus, TransactionStatus

from shared import tenant_scope
from shared.postgresql.tenant_tables import tenant_table_in
from shared.tenant_scope import CLEAR, UNKNOWN, Binding

#: They run in transactions that have failed, and touch no table.
_OF_TRANSACTIONS = ("SAVEPOINT", "ROLLBACK", "RELEASE")


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that outside of a transaction is either in order or closed."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        #: The binding that the open transaction has set; None where it has set none.
        self._local: Binding | None = None
        #: Whether a transaction that begins now is bound with its first statement.
        self._binds_late = False
        # First of all wrappers, so that the others see statements alone.
        self.execute_wrappers.append(self._bound)

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
        self._local = None
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
        transaction no work is lost with it. Binds the session before a transaction begins, so that
        the binding outlives it; within :meth:`binding_late` the transaction binds itself.
        """
        if not self.in_atomic_block and _is_out_of_order(self.connection):
            self.close()
        if not (autocommit or self.in_atomic_block or self._binds_late):
            self.bind()
        try:
            super().set_autocommit(autocommit, force_begin_transaction_with_broken_autocommit)
        except Error:
            if not self.in_atomic_block:
                self.close()
            raise
        self._local = None

    @contextmanager
    def binding_late(self) -> Iterator[None]:
        """Bind a transaction that begins within the block for itself, with its first statement.

        For transactions that begin with statements in one round trip: the binding shares it, and
        the session keeps the one that the next request needs first, to find its key.
        """
        before, self._binds_late = self._binds_late, True
        try:
            yield
        finally:
            self._binds_late = before

    def bind(self) -> None:
        """Bind the session to the tenant in scope, unless it is; one round trip at most."""
        if self._missing() is None:
            return
        # May replace a session that has ended, and with it its binding.
        self.close_if_health_check_failed()
        self.ensure_connection()
        wanted = self._missing()
        if wanted is not None:
            with self.wrap_database_errors:
                self._send(wanted)

    def _commit(self) -> Any:
        self._local = None
        return super()._commit()  # type: ignore[misc]  # the stubs leave it out

    def _rollback(self) -> Any:
        self._local = None
        return super()._rollback()  # type: ignore[misc]  # the stubs leave it out

    def _savepoint_rollback(self, sid: str) -> None:
        super()._savepoint_rollback(sid)  # type: ignore[misc]  # the stubs leave it out
        if self._local is not None:
            # The rollback took back what was set since the savepoint, and nothing before.
            self._local = UNKNOWN

    def _bound(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any
    ) -> Any:
        """Run a statement in a session that is bound as the scope wants it."""
        scope = tenant_scope.current()
        if scope is None and not tenant_scope.ROLES.across:
            return execute(sql, params, many, context)
        if (isinstance(sql, str) and sql.startswith(_OF_TRANSACTIONS)) or self._has_failed():
            return execute(sql, params, many, context)
        if scope is not None and scope.is_empty:
            table = tenant_table_in(sql if isinstance(sql, str) else sql.as_string(None))
            if table:
                raise tenant_scope.NoTenantScope(table)
        wanted = self._missing()
        if wanted is None:
            return execute(sql, params, many, context)
        if not many and self._may_share(context["cursor"]):
            # Both in one round trip; in one transaction, too, so that a failure takes both back.
            with self.wrap_database_errors, self.connection.pipeline():
                self._send(wanted, in_pipeline=True)
                answer = execute(sql, params, many, context)
            self._note(wanted)
            return answer
        with self.wrap_database_errors:
            self._send(wanted, in_pipeline=self._in_pipeline())
        return execute(sql, params, many, context)

    def _missing(self) -> Binding | None:
        """Return the binding that the session lacks; None where it has it, or needs none."""
        if not tenant_scope.ROLES.across:
            return None
        wanted = tenant_scope.wanted()
        has = self._binding()
        if wanted is None:
            # A state of the web's will do for statements that read no table of tenants.
            own = has.role in (tenant_scope.ROLES.web, tenant_scope.ROLES.across)
            wanted = has if own else Binding(tenant_scope.ROLES.web, "", "")
        return None if has == wanted else wanted

    def _binding(self) -> Binding:
        if self._local is not None:
            return self._local
        found: Binding = getattr(self.connection, "punctual_binding", CLEAR)
        return found

    def _may_share(self, cursor: Any) -> bool:
        inner = getattr(cursor, "cursor", cursor)
        return isinstance(inner, ServerBindingCursor) and not self._in_pipeline()

    def _in_pipeline(self) -> bool:
        return self.connection.pgconn.pipeline_status != PipelineStatus.OFF  # type: ignore[no-any-return]  # a plain comparison

    def _has_failed(self) -> bool:
        status = self.connection.info.transaction_status
        return status is TransactionStatus.INERROR

    def _send(self, wanted: Binding, *, in_pipeline: bool = False) -> None:
        # Read late: the statements are those of apps above.
        from shared.sql import statement

        parameters = {**wanted._asdict(), "local": not self.autocommit}
        if self.autocommit:
            self.connection.punctual_binding = UNKNOWN
        else:
            self._local = UNKNOWN
        self.connection.execute(statement("tenant_scope/bind"), parameters)
        if not in_pipeline and not self._in_pipeline():
            self._note(wanted)
        elif not self.autocommit:
            # Until the transaction ends: a failure in the pipeline fails the transaction.
            self._local = wanted

    def _note(self, wanted: Binding) -> None:
        if self.autocommit:
            self.connection.punctual_binding = wanted
        else:
            self._local = wanted


def _is_out_of_order(session: Any) -> bool:
    return session is not None and session.info.transaction_status is not TransactionStatus.IDLE
