"""Which policies the tables of a database need, derived from its catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shared.postgresql.tenant_tables import CHILDREN
from shared.tenant_scope import Purpose

#: Purpose -> the tables whose rows of all tenants it reads. Tables without a tenant of their own
#: are named, too: none is read because its parent is.
READ: dict[Purpose, frozenset[str]] = {
    Purpose.API_KEY: frozenset({"api_keys", "tenants"}),
    Purpose.SIGN_IN: frozenset({"memberships", "tenants"}),
    Purpose.INVITATION: frozenset({"invitations", "tenants"}),
    Purpose.CALENDAR_FEED: frozenset({"calendar_feeds"}),
    Purpose.MESSAGE_LINK: frozenset({"memberships"}),
    Purpose.EXECUTION_TOKEN: frozenset({"executions"}),
    Purpose.LONG_POLL: frozenset({"open_executions", "pools", "task_revisions"}),
    Purpose.POOL_ROOM: frozenset({"open_executions"}),
    Purpose.API_COUNTS: frozenset(),
    Purpose.METRICS: frozenset(
        {"api_keys", "dead_letters", "open_executions", "tenants", "workflow_runs"}
    ),
    Purpose.LOSSES: frozenset({"objective_counts"}),
}
#: Purposes that read and write the rows of all tenants, in every table.
WRITTEN = (Purpose.ADMIN,)
#: Purpose -> the tables to which it adds rows of all tenants; it reads none of them.
ADDED: dict[Purpose, frozenset[str]] = {Purpose.API_COUNTS: frozenset({"objective_counts"})}
#: Children that are made before their parent, in the same statement, or when it has gone.
MADE_WITH_PARENT = frozenset(
    {"bulk_job_items", "task_revisions", "workflow_fans", "workflow_inbox"}
)
#: The policy of such children, which needs a function.
MADE = "rows_made_with_parent"


@dataclass(frozen=True, slots=True)
class Table:
    """A table as the catalogue has it; ``tenant_column`` is empty where it has none."""

    name: str
    tenant_column: str
    has_shared_rows: bool
    is_secured: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy by its statement in ``roles.sql`` and the values in it."""

    table: str
    name: str
    statement: str
    roles: tuple[str, ...]
    column: str = ""
    parent: str = ""
    command: str = ""
    purposes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return all that makes the policy, for its comment: another text, another policy."""
        parts = (self.column, self.parent, self.command, *self.purposes)
        return " ".join(("v2", self.statement, *self.roles, *filter(None, parts)))


def table_of(name: str, has_tenant: bool, has_shared_rows: bool, is_secured: bool) -> Table:
    """Return the table of a row of the catalogue; a tenant's own row is named by its id."""
    column = "id" if name == "tenants" else "tenant_id" if has_tenant else ""
    return Table(name, column, has_shared_rows, is_secured)


def is_walled(table: Table) -> bool:
    """Return whether the rows of the table belong to tenants."""
    return bool(table.tenant_column) or table.name in CHILDREN


def policies_of(table: Table, web: str, across: str) -> Iterator[Policy]:
    """Yield the policies of a table of tenants."""
    if table.tenant_column:
        yield Policy(
            table.name, "tenant_rows", "roles/tenant_rows", (web,), column=table.tenant_column
        )
        if table.has_shared_rows:
            yield Policy(table.name, "shared_rows", "roles/shared_rows", (web,))
        yield from _of_purposes(table.name, across)
        return
    column, parent = CHILDREN[table.name]
    of_parent = Policy(
        table.name, "rows_of_parent", "roles/rows_of_parent", (web,), column=column, parent=parent
    )
    yield of_parent
    if table.name in MADE_WITH_PARENT:
        yield replace(of_parent, name=MADE, statement="roles/rows_made_with_parent")
    yield from _of_purposes(table.name, across)


def _of_purposes(table: str, across: str) -> Iterator[Policy]:
    reading = [purpose for purpose, tables in READ.items() if table in tables]
    adding = [purpose for purpose, tables in ADDED.items() if table in tables]
    shown, added = "roles/rows_of_purpose", "roles/rows_added_for_purpose"
    for name, statement, command, purposes in (
        ("read_for_purpose", shown, "SELECT", reading),
        ("added_for_purpose", added, "INSERT", adding),
        ("written_for_purpose", shown, "ALL", WRITTEN),
    ):
        if purposes:
            yield Policy(
                table,
                name,
                statement,
                (across,),
                command=command,
                purposes=_names(purposes),
            )


def _names(purposes: Sequence[Purpose]) -> tuple[str, ...]:
    return tuple(sorted(purpose.value for purpose in purposes))
