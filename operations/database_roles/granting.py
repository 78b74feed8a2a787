"""Gives a role the rights of its allow-list, and takes all others from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import psycopg
from django.db import ProgrammingError, connection, transaction
from psycopg import sql

from operations.database_roles.policies import Table, table_of
from shared.exceptions import Conflict
from shared.sql import rows, statement

_CONNECT_SECONDS = 5
_MOST_NAMED = 5


class RoleNotMade(Conflict):
    """A role of the processes cannot be made, or would have more rights than it may."""

    code = "role_not_made"


def read_tables() -> list[Table]:
    """Return the tables of the schema, without those of single days."""
    return [table_of(*row) for row in rows("roles/tables")]


def execute(path: str, **names: sql.Composable) -> None:
    """Run a statement of ``roles.sql`` that names roles or relations."""
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(statement(path)).format(**names))


@contextmanager
def refused_in_words(role: str) -> Iterator[None]:
    """Say what to do where the server refuses a change of a role."""
    try:
        with transaction.atomic():
            yield
    except ProgrammingError as error:
        if isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
            raise RoleNotMade(
                f"The owner of the database may not make the role {role}, or not change it. Have "
                "an administrator of the server do it: see docs/howto/protect-the-database.md."
            ) from error
        raise


def set_password_of(role: str, url: str, password: str) -> bool:
    """Give the role this password unless the address answers; return whether it was given."""
    if not password or _answers(url):
        return False
    connection.ensure_connection()
    session = connection.connection
    # Stored in this form; the text itself is in no log of the server.
    stored = session.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
    with refused_in_words(role):
        execute(
            "roles/set_password",
            role=sql.Identifier(role),
            password=sql.Literal(stored.decode()),
        )
    return True


#: A right on a column: table, column, right.
ColumnRight = tuple[str, str, str]


def make_grants(
    wanted: Mapping[str, frozenset[str]], role: str, columns: Iterable[ColumnRight] = ()
) -> list[str]:
    """Bring a role's rights on tables and columns to the wanted ones, and give it all sequences.

    Return the changes.
    """
    given: dict[str, set[str]] = {}
    kinds: dict[str, str] = {}
    for relation, kind, right in rows("roles/given", {"role": role}):
        given.setdefault(relation, set()).add(right)
        kinds[relation] = "SEQUENCE" if kind == "S" else "TABLE"
    wanted = dict(wanted)
    for (name,) in rows("roles/sequences"):
        wanted[name], kinds[name] = frozenset({"USAGE"}), "SEQUENCE"
    changed: list[str] = []
    with transaction.atomic():
        for relation in sorted({*given, *wanted}):
            has, should = given.get(relation, set()), wanted.get(relation, frozenset())
            for verb, path, rights in (
                ("grant", "roles/grant", should - has),
                ("revoke", "roles/revoke", has - should),
            ):
                if rights:
                    execute(
                        path,
                        rights=sql.SQL(", ".join(sorted(rights))),
                        kind=sql.SQL(kinds.get(relation, "TABLE")),
                        relation=sql.Identifier(relation),
                        role=sql.Identifier(role),
                    )
                    changed.append(f"{verb} {', '.join(sorted(rights))} on {relation} {role}")
        # Behind the tables: what is taken from a role there is taken from the columns, too.
        changed += _make_column_grants(set(columns), role)
    return changed


def _make_column_grants(wanted: set[ColumnRight], role: str) -> list[str]:
    given = set(rows("roles/given_columns", {"role": role}))
    # In the middle of the migrations, or on the way back, some are not there.
    there = set(rows("roles/columns")) if wanted else set()
    wanted = {one for one in wanted if one[:2] in there}
    changed: list[str] = []
    for verb, path, found in (
        ("grant", "roles/grant_column", wanted - given),
        ("revoke", "roles/revoke_column", given - wanted),
    ):
        for table, column, right in sorted(found):
            execute(
                path,
                right=sql.SQL(right),
                column=sql.Identifier(column),
                relation=sql.Identifier(table),
                role=sql.Identifier(role),
            )
            changed.append(f"{verb} {right} on {table}.{column} {role}")
    return changed


def wrong_grants(
    wanted: Mapping[str, frozenset[str]],
    role: str,
    who: str,
    columns: Iterable[ColumnRight] = (),
) -> Iterator[str]:
    """Yield in words which rights on tables the role has beyond the wanted ones, or lacks."""
    needed = {(table, right) for table, rights in wanted.items() for right in rights}
    needed |= {(name, "USAGE") for (name,) in rows("roles/sequences")}
    needed |= {(f"{table}.{column}", right) for table, column, right in columns}
    given = {(relation, right) for relation, _, right in rows("roles/given", {"role": role})}
    given |= {
        (f"{table}.{column}", right)
        for table, column, right in rows("roles/given_columns", {"role": role})
    }
    for what, found in (("more", given - needed), ("fewer", needed - given)):
        told = [f"{right} on {relation}" for relation, right in found]
        yield from named(f"{what} rights than {who}", told)


def named(what: str, names: Iterable[str]) -> Iterator[str]:
    """Yield one problem with the first of its places; nothing without a place."""
    ordered = sorted(names)
    if ordered:
        more = ", …" if len(ordered) > _MOST_NAMED else ""
        yield f"{what}: {', '.join(ordered[:_MOST_NAMED])}{more}"


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=_CONNECT_SECONDS).close()
    except psycopg.OperationalError:
        return False
    return True
