"""Make the role that the loops log in as, and tell whether it has what it may have.

It works for all tenants by BYPASSRLS, owns nothing, and has the rights of ``loop_grants``. What
needs the owner's rights, such as making the table of a day, is in functions that it may call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db import connection, transaction
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from operations.database_roles.granting import (
    RoleNotMade,
    execute,
    make_grants,
    named,
    read_tables,
    refused_in_words,
    set_password_of,
    wrong_grants,
)
from operations.database_roles.loop_grants import COLUMNS, FUNCTIONS, loop_rights_on
from shared.sql import rows
from shared.tenant_scope import across_of


@dataclass(frozen=True, slots=True)
class LoopsMade:
    """What was changed; all empty where the state was right."""

    roles: list[str] = field(default_factory=list)
    grants: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LoopsState:
    """The role of the loops and what is wrong with it; an empty role is the owner's."""

    role: str
    problems: tuple[str, ...]


def make_loops_role(url: str, web_url: str = "") -> LoopsMade:
    """Make the role that logs in by this address, and bring its rights to the allow-list.

    Raise RoleNotMade where the owner may not make roles and there is no such role, where the
    address names the role of the owner or of the web process, and where the role has a power that
    no process needs.
    """
    role, password = _login_of(url)
    _require_own(role, web_url)
    made = LoopsMade()
    with transaction.atomic():
        if _make_role(role):
            made.roles.append(role)
    if set_password_of(role, url, password):
        made.roles.append(role)
    wanted = {table.name: loop_rights_on(table.name) for table in read_tables()}
    made.grants.extend(make_grants(wanted, role, COLUMNS))
    made.grants.extend(close_functions(role))
    return made


def read_loops_state(url: str) -> LoopsState:
    """Compare the database with what the loops of this address need."""
    role, _ = _login_of(url)
    return LoopsState(role, tuple(_problems(role)) if role else ())


def close_functions(role: str = "") -> list[str]:
    """Let the role alone call the functions that have the owner's rights; return the changes.

    A restored backup knows no rights: every role may call a new function. Without a role, that
    alone is taken back.
    """
    may = {
        (function, caller) for function, caller in rows("roles/callers") if function in FUNCTIONS
    }
    # In the middle of the migrations, or on the way back, some are not there.
    there = {function for (function,) in rows("roles/functions")}
    wanted = {(function, role) for function in FUNCTIONS if role and function in there}
    # Without a role here: a process elsewhere may know one.
    beyond = {(function, who) for function, who in may - wanted if role or not who}
    changed: list[str] = []
    with transaction.atomic():
        for verb, path, pairs in (
            ("revoke", "roles/forbid_call", beyond),
            ("grant", "roles/let_call", wanted - may),
        ):
            for function, caller in sorted(pairs):
                whom = sql.Identifier(caller) if caller else sql.SQL("PUBLIC")
                execute(path, function=sql.SQL(function), role=whom)
                changed.append(f"{verb} EXECUTE on {function} {caller or 'PUBLIC'}")
    return changed


def _login_of(url: str) -> tuple[str, str]:
    parts = conninfo_to_dict(url) if url else {}
    return str(parts.get("user") or ""), str(parts.get("password") or "")


def _require_own(role: str, web_url: str) -> None:
    web, _ = _login_of(web_url)
    if not role or role in (connection.settings_dict["USER"], web, across_of(web)):
        raise RoleNotMade(
            "LOOPS_DATABASE_URL must name a role of its own, not the owner's or the web's."
        )


def _make_role(role: str) -> bool:
    """Make the role, or let it cross tenants and use the schema; return whether that was needed."""
    if powers := [word for (word,) in rows("roles/powers", {"role": role})]:
        raise RoleNotMade(
            f"The role {role} {' and '.join(powers)}: no process needs that. Take it from the "
            "role, or name another one in LOOPS_DATABASE_URL."
        )
    name = sql.Identifier(role)
    found = rows("roles/crosses", {"role": role})
    with refused_in_words(role):
        if not found:
            execute("roles/make_crossing_role", role=name)
        elif not found[0][0]:
            execute("roles/let_cross", role=name)
        if not rows("roles/crosses", {"role": role})[0][1]:
            execute("roles/use_schema", role=name)
    return not (found and found[0][0])


def _problems(role: str) -> Iterator[str]:
    found = rows("roles/crosses", {"role": role})
    if not found:
        yield f"there is no role {role}"
        return
    if not found[0][0]:
        yield f"row security holds the role {role} back: it lacks BYPASSRLS"
    for (word,) in rows("roles/powers", {"role": role}):
        yield f"the role {role} {word}"
    wanted = {table.name: loop_rights_on(table.name) for table in read_tables()}
    yield from wrong_grants(wanted, role, "the loops need", COLUMNS)
    callers = {(function, who) for function, who in rows("roles/callers") if function in FUNCTIONS}
    needed = {(function, role) for function in FUNCTIONS}
    for what, pairs in (("more", callers - needed), ("fewer", needed - callers)):
        told = [f"{function} by {who or 'every role'}" for function, who in pairs]
        yield from named(f"{what} callers of functions with their owner's rights than needed", told)
