"""Whether the database keeps tenants apart by itself: roles, policies and grants as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from psycopg.conninfo import conninfo_to_dict

from operations.database_roles.granting import named, read_tables, wrong_grants
from operations.database_roles.grants import rights_on
from operations.database_roles.loop_grants import FUNCTIONS
from operations.database_roles.making import wanted_policies
from operations.database_roles.policies import Table, is_walled
from shared.sql import rows
from shared.tenant_scope import across_of


@dataclass(frozen=True, slots=True)
class State:
    """The role of the web process, how many tables are secured, and what is wrong.

    ``role`` is empty where the web process uses the owner's.
    """

    role: str
    secured: int
    problems: tuple[str, ...]


def read_state(url: str) -> State:
    """Compare the database with what the web process of this address needs."""
    role = str(conninfo_to_dict(url).get("user") or "") if url else ""
    if not role:
        return State("", 0, ())
    tables = [table for table in read_tables() if is_walled(table)]
    secured = sum(table.is_secured for table in tables)
    return State(role, secured, tuple(_problems(role)))


def _problems(role: str) -> Iterator[str]:
    for name in (role, across_of(role)):
        found = rows("roles/role", {"role": name})
        if not found:
            yield f"there is no role {name}"
        elif any(found[0]):
            yield f"row security does not hold the role {name} back"
    tables = read_tables()
    walled = [table for table in tables if is_walled(table)]
    yield from named("without row security", [one.name for one in walled if not one.is_secured])
    present = {(table, name): text for table, name, text in rows("roles/policies")}
    wanted = {
        (one.table, one.name): one.text for one in wanted_policies(tables, role, across_of(role))
    }
    wrong = {key for key in {*present, *wanted} if present.get(key) != wanted.get(key)}
    yield from named("another policy than wanted", [f"{table}.{name}" for table, name in wrong])
    yield from _of_rights(tables, role)
    views = [name for (name,) in rows("roles/views_without_invoker")]
    yield from named("views with their owner's rights", views)
    functions = [name for (name,) in rows("roles/functions_with_rights")]
    yield from named("functions with their owner's rights and no search path", functions)
    callers = rows("roles/callers")
    everybody = [function for function, who in callers if not who and function in FUNCTIONS]
    yield from named("functions with their owner's rights that every role may call", everybody)


def _of_rights(tables: list[Table], role: str) -> Iterator[str]:
    wanted = {table.name: rights_on(table.name) for table in tables}
    found = [
        problem
        for name in (role, across_of(role))
        for problem in wrong_grants(wanted, name, "the web needs")
    ]
    # Both roles have the same rights.
    yield from dict.fromkeys(found)
    everybody = [
        f"{right} on {relation}"
        for relation, right in rows("roles/of_everybody")
        if relation in wanted
    ]
    yield from named("rights of every role, to be revoked from PUBLIC", everybody)
