"""Bring a database to the state that row security needs: role, grants, policies.

Run by ``migrate`` after the migrations and by ``roles make``, as the owner of the tables. Changes
only what differs: a start of an installation whose state is right locks no table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.db import connection, transaction
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from operations.database_roles.granting import (
    RoleNotMade,
    execute,
    make_grants,
    read_tables,
    refused_in_words,
    set_password_of,
)
from operations.database_roles.grants import FUNCTIONS_ACROSS, rights_on
from operations.database_roles.policies import MADE, Policy, Table, is_walled, policies_of
from shared.sql import rows
from shared.tenant_scope import across_of


@dataclass(frozen=True, slots=True)
class Made:
    """What was changed; all empty where the state was right."""

    roles: list[str] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)
    grants: list[str] = field(default_factory=list)


def make_roles(url: str) -> Made:
    """Make the role that logs in by this address, its grants, and the policies; return the changes.

    Raise RoleNotMade where the owner may not make roles and there is no such role, or where the
    role is the owner's, a superuser's or has BYPASSRLS.
    """
    parts = conninfo_to_dict(url)
    web, password = str(parts.get("user") or ""), str(parts.get("password") or "")
    if not web or web == connection.settings_dict["USER"]:
        raise RoleNotMade("WEB_DATABASE_URL must name a role of its own, not the owner's.")
    made = Made()
    across = across_of(web)
    with transaction.atomic():
        for role, login in ((web, True), (across, False)):
            if _make_role(role, login=login):
                made.roles.append(role)
        with refused_in_words(web):
            _let_reach(web, across)
    if set_password_of(web, url, password):
        made.roles.append(web)
    tables = read_tables()
    made.policies.extend(_make_policies(tables, web, across))
    _mark_leakproof()
    wanted = {table.name: rights_on(table.name) for table in tables}
    for role in (web, across):
        made.grants.extend(make_grants(wanted, role))
    made.grants.extend(_open_functions(across))
    return made


def wanted_policies(tables: Iterable[Table], web: str, across: str) -> list[Policy]:
    """Return the policies of all tables of tenants."""
    return [one for table in tables if is_walled(table) for one in policies_of(table, web, across)]


def _make_role(role: str, *, login: bool) -> bool:
    found = rows("roles/role", {"role": role})
    if found:
        is_super, bypasses, owns = found[0]
        if is_super or bypasses or owns:
            raise RoleNotMade(
                f"The role {role} is a superuser, has BYPASSRLS, or owns tables: row security does "
                "not apply to it. Name another role in WEB_DATABASE_URL."
            )
        return False
    words = sql.SQL("LOGIN" if login else "NOLOGIN")
    with refused_in_words(role):
        execute("roles/make_role", role=sql.Identifier(role), login=words)
    return True


def _let_reach(web: str, across: str) -> None:
    becomes, *uses = rows("roles/reach", {"role": web, "across": across})[0]
    if not becomes:
        execute("roles/may_become", across=sql.Identifier(across), role=sql.Identifier(web))
    for role, may in zip((web, across), uses, strict=True):
        if not may:
            execute("roles/use_schema", role=sql.Identifier(role))


def _make_policies(tables: list[Table], web: str, across: str) -> list[str]:
    present = {(table, name): text for table, name, text in rows("roles/policies")}
    wanted = {(one.table, one.name): one for one in wanted_policies(tables, web, across)}
    changed: list[str] = []
    for table in (one for one in tables if is_walled(one)):
        names = {name for place, name in (*present, *wanted) if place == table.name}
        stale = [
            name
            for name in sorted(names)
            if present.get((table.name, name)) != _text(wanted.get((table.name, name)))
        ]
        if stale or not table.is_secured:
            with transaction.atomic():
                execute("roles/enable", table=sql.Identifier(table.name))
                for name in stale:
                    _make_policy(table.name, name, wanted.get((table.name, name)))
            changed += [f"{table.name}.{name}" for name in stale]
    return changed


def _mark_leakproof() -> None:
    """Let the index of labels serve searches under row security, where the owner may say so."""
    if any(is_super for _, is_super in rows("roles/leaks")):
        with transaction.atomic():
            execute("roles/mark_contains")
            execute("roles/mark_exists")


def _text(policy: Policy | None) -> str | None:
    return policy.text if policy else None


def _make_policy(table: str, name: str, policy: Policy | None) -> None:
    place = {"table": sql.Identifier(table), "policy": sql.Identifier(name)}
    execute("roles/drop_policy", **place)
    if policy is None:
        return
    roles = sql.SQL(", ").join(map(sql.Identifier, policy.roles))
    function = sql.Identifier(f"tenant_of_{policy.parent}")
    if name == MADE:
        execute("roles/make_tenant_of", function=function, parent=sql.Identifier(policy.parent))
        execute("roles/close_function", function=function)
        execute("roles/open_function", function=function, roles=roles)
    execute(
        policy.statement,
        **place,
        roles=roles,
        function=function,
        column=sql.Identifier(policy.column),
        parent=sql.Identifier(policy.parent),
        command=sql.SQL("SELECT" if policy.command == "SELECT" else "ALL"),
        purposes=sql.Literal(list(policy.purposes)),
    )
    execute("roles/describe_policy", **place, text=sql.Literal(policy.text))


def _open_functions(role: str) -> Iterator[str]:
    for name in FUNCTIONS_ACROSS:
        asked = {"role": role, "function": f"public.{name}()"}
        # None: an older schema does not have it.
        if rows("roles/may_call", asked)[0][0] is False:
            execute("roles/open_reading", function=sql.Identifier(name), role=sql.Identifier(role))
            yield f"grant EXECUTE on {name} {role}"
