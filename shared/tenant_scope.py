"""The tenant of the work under way: set by authentication, sent to PostgreSQL for row security.

A request of the web process begins without a tenant. Authentication enters one, and every later
statement of the request runs bound to it: PostgreSQL shows no other tenant's rows (the policies of
``operations/database_roles``). A statement that names a table of tenants without a scope raises
:class:`NoTenantScope`. Work that reads across tenants on purpose says so with :func:`across`;
:class:`Purpose` is the whole list, and each purpose opens a few tables only.

Loops and commands have no scope: nothing is bound, and this module costs them one comparison per
statement. The scope is a context variable: other threads and tasks get it only with the context.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID


class Purpose(StrEnum):
    """A reason for which the web process may read rows of several tenants."""

    #: Find an API key, and its tenant, by the hash of the text.
    API_KEY = "api_key"
    #: Find a person's memberships, end sessions, and note sign-ins with each of the tenants.
    SIGN_IN = "sign_in"
    #: Find an invitation by the hash of its token.
    INVITATION = "invitation"
    #: Find a calendar feed by the hash of its token.
    CALENDAR_FEED = "calendar_feed"
    #: Find the tenant of the member that a signed link of a message names.
    MESSAGE_LINK = "message_link"
    #: Find the tenant of the execution that a verified execution token names.
    EXECUTION_TOKEN = "execution_token"  # noqa: S105 - a name
    #: Look for work for the callers that wait in long polls, of all tenants at once.
    LONG_POLL = "long_poll"
    #: Count the work in the pools of workers that all tenants share, to say whether one has room.
    POOL_ROOM = "pool_room"
    #: Count the work of the installation for its metrics, how late each tenant's is, and API keys
    #: that end.
    METRICS = "metrics"
    #: Count the attempts that were lost with workers, which serve all tenants.
    LOSSES = "losses"
    #: Add what a web process has answered to the counts of each tenant.
    API_COUNTS = "api_counts"
    #: The admin site, which superusers and staff use for the whole installation.
    ADMIN = "admin"


class NoTenantScope(RuntimeError):
    """A statement names a table of tenants, and no tenant is in scope: a bug of the caller."""

    def __init__(self, table: str) -> None:
        super().__init__(
            f"The table {table} belongs to tenants, and no tenant is in scope. Enter one "
            "(shared.tenant_scope.scoped), or name the purpose of crossing tenants (across)."
        )
        self.table = table


class Binding(NamedTuple):
    """The state of a database session: its role (``none``: the login's own), tenant, purpose."""

    role: str
    tenant: str
    purpose: str


#: A session that was just made, and one of a process without scopes.
CLEAR = Binding("none", "", "")
#: No tenant has this id: in its scope there are no rows, and asking is no mistake.
NO_TENANT = UUID(int=2**128 - 1)
#: Equal to no binding: the session must be bound before its next statement.
UNKNOWN = Binding("?", "?", "?")


@dataclass(frozen=True, slots=True)
class Scope:
    """One tenant, one purpose, or neither: a request that has no tenant yet."""

    tenant: str = ""
    purpose: str = ""

    @property
    def is_empty(self) -> bool:
        """Return whether neither a tenant nor a purpose is given."""
        return not (self.tenant or self.purpose)


EMPTY = Scope()


@dataclass(slots=True)
class Roles:
    """The database roles of the web process; without ``across`` no session is bound.

    ``web`` is ``none`` where the process logs in as the role itself, as the web process does.
    """

    web: str = "none"
    across: str = ""


def across_of(web: str) -> str:
    """Return the role to which the web's role changes for a purpose that crosses tenants."""
    return f"{web}_across"


#: Set once for the process: by the app's ``ready``, or by the fixtures of tests.
ROLES = Roles()
_scope: ContextVar[Scope | None] = ContextVar("tenant_scope", default=None)


class _Process:
    #: Whether work without a context of its own counts as work without a tenant.
    requires_scope = False


def require_everywhere() -> None:
    """Make an empty scope the default of this process: the web process forgets no tenant."""
    _Process.requires_scope = True


def current() -> Scope | None:
    """Return the scope; None in a process, or outside of a request, that knows no scopes."""
    found = _scope.get()
    return EMPTY if found is None and _Process.requires_scope else found


def is_held_back() -> bool:
    """Return whether the work under way runs as the web's role, which owns no table."""
    return bool(ROLES.across) and current() is not None


def wanted() -> Binding | None:
    """Return how a session has to be bound for the next statement; None where any state will do.

    An empty scope keeps the state, if it is one of the web's: its statements name no table of
    tenants (the database backend checks that).
    """
    scope = current()
    if scope is None:
        return CLEAR
    if scope.purpose:
        return Binding(ROLES.across, "", scope.purpose)
    if scope.tenant:
        return Binding(ROLES.web, scope.tenant, "")
    return None


@contextmanager
def of_request() -> Iterator[None]:
    """Begin without a tenant, also within another scope; forget at the end what was entered."""
    token = _scope.set(EMPTY)
    try:
        yield
    finally:
        _scope.reset(token)


def enter(tenant_id: UUID | str) -> None:
    """Work for this tenant until the request ends; authentication calls this, and nothing else."""
    if current() is not None:
        _scope.set(Scope(tenant=str(tenant_id)))


def enter_purpose(purpose: Purpose) -> None:
    """Work across tenants until the request ends; the admin site's guard calls this."""
    if current() is not None:
        _scope.set(Scope(purpose=purpose.value))


def covers(tenant_id: UUID | str) -> bool:
    """Return whether rows of this tenant can be written as the scope stands."""
    scope = current()
    return scope is None or scope.tenant == str(tenant_id) or scope.purpose == Purpose.ADMIN.value


@contextmanager
def scoped(tenant_id: UUID | str) -> Iterator[None]:
    """Work for this tenant within the block; no effect where no scopes are known."""
    with _within(Scope(tenant=str(tenant_id))):
        yield


@contextmanager
def across(purpose: Purpose) -> Iterator[None]:
    """Work across tenants within the block, on the tables of the purpose."""
    with _within(Scope(purpose=purpose.value)):
        yield


@contextmanager
def _within(scope: Scope) -> Iterator[None]:
    if current() is None:
        yield
        return
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)
