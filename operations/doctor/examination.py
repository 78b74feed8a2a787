"""Runs every check in order: machine, database, Redis, processes, mail and live messages.

Called by the command. A server that does not answer gives one finding, and the checks that would
need it are left out. Nothing else stops the examination.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

import redis
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError, ProgrammingError

from operations.doctor import data_directory, database, faces, machine, redis_server, runtime
from operations.doctor.finding import Finding, away, bad
from shared.commands import first_line

Check = Callable[[], Finding]

_MACHINE: Sequence[Check] = (
    machine.python_version,
    machine.packages,
    machine.zone_database,
    machine.debug_mode,
    data_directory.permissions,
    data_directory.disk_space,
    data_directory.sockets,
    data_directory.encryption_keys,
    data_directory.audit_keys,
)
_DATABASE: Sequence[Check] = (
    database.server_version,
    database.durability,
    database.connections,
    database.migrations,
    database.row_security,
    database.role_of_loops,
    database.day_tables,
    database.old_days,
    database.open_transactions,
    database.sealed_values,
    database.sealed_targets,
    database.zone_rules,
)
_REDIS: Sequence[Check] = (
    redis_server.server_version,
    redis_server.timeouts,
    redis_server.persistence,
    redis_server.eviction,
)
_DATABASE_AT_WORK: Sequence[Check] = (
    runtime.schedulers,
    runtime.partitions,
    runtime.oldest_due,
    runtime.pull_pools,
    runtime.destinations,
)
_REDIS_AT_WORK: Sequence[Check] = (runtime.workers, runtime.recorders, faces.channel_layer)


def examine() -> Iterator[Finding]:
    """Yield every finding as it is made."""
    for check in _MACHINE:
        yield check()
    database_there = yield from _ask("database", _DATABASE, _no_database)
    redis_there = False
    if settings.REDIS_URL:
        redis_there = yield from _ask("redis", _REDIS, _no_redis)
    else:
        yield _no_redis("redis", ImproperlyConfigured("No address is known."))
    yield runtime.processes()
    if database_there:
        yield from _ask("database", _DATABASE_AT_WORK, _no_database)
    if redis_there:
        yield from _ask("redis", _REDIS_AT_WORK, _no_redis)
    if database_there and redis_there:
        yield from _ask("clocks", (runtime.clocks,), _no_redis)
    yield faces.mail()
    yield faces.live_socket()


def _ask(
    server: str, checks: Sequence[Check], explain: Callable[[str, Exception], Finding]
) -> Generator[Finding, None, bool]:
    """Yield the findings; return whether the server answered."""
    for check in checks:
        try:
            yield check()
        except (
            OperationalError,
            InterfaceError,
            ImproperlyConfigured,
            redis.RedisError,
        ) as error:
            yield explain(server, error)
            return False
        except ProgrammingError as error:
            # Tables are missing; the check of the migrations has the remedy.
            yield bad(check.__name__, first_line(error), "Run `manage.py migrate`.")
    return True


def _no_database(check: str, error: Exception) -> Finding:
    if isinstance(error, ImproperlyConfigured):
        error = ImproperlyConfigured("No address is known.")
    return away(
        check,
        f"PostgreSQL does not answer. {first_line(error)}",
        "Start `manage.py up`, or start the server of DATABASE_URL; `manage.py config show` "
        "shows which address is used.",
    )


def _no_redis(check: str, error: Exception) -> Finding:
    return away(
        check,
        f"Redis does not answer. {first_line(error)}",
        "Start `manage.py up`, or start the server of REDIS_URL; `manage.py config show` "
        "shows which address is used.",
    )
