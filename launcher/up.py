"""The whole of ``manage.py up``: lock, embedded servers, supervisor, readiness table.

Called by the command of that name. Promises: one ``up`` per data directory, ports checked
before anything starts, ``runtime.json`` true at every moment, nothing left when it returns.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings

from launcher import local_state
from launcher.command_account import require_account
from launcher.console import Console
from launcher.embedded import (
    EmbeddedError,
    EmbeddedServer,
    place_servers,
    remove_sockets,
)
from launcher.embedded_postgres import EmbeddedPostgres
from launcher.embedded_valkey import EmbeddedValkey
from launcher.plan import (
    DRAIN_ORDER,
    UpOptions,
    fork_environment,
    loops_database_url,
    make_stages,
    web_database_url,
)
from launcher.privileges import PrivilegeError
from launcher.run_lock import AlreadyHeld, RunLock
from launcher.spawning import Spawner
from launcher.strikes import FILE, Strikes
from launcher.supervisor import StartFailure, Supervisor
from shared.receiver_address import key_of, segment_of

log = logging.getLogger(__name__)

CONFLICT = 4


class UpFailure(Exception):
    """Punctual cannot be started; ``code`` is the exit code of the command."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def run_up(options: UpOptions, console: Console, say: Callable[[str], None]) -> None:
    """Run everything until it is stopped; raise UpFailure when it cannot start."""
    try:
        with RunLock(options.data_dir):
            _refuse_open_demo(options)
            _refuse_taken_ports(options)
            servers = _prepare_servers(options)
            accounts = [server.placement.account for server in servers.values()]
            require_account(options.data_dir, accounts[0] if accounts else None)
            _supervise(options, servers, console, say)
    except AlreadyHeld as held:
        url = local_state.load_runtime(options.data_dir).get("public_url", options.public_url)
        raise UpFailure(f"Punctual already runs (pid {held.pid}, {url})", CONFLICT) from held
    except (EmbeddedError, PrivilegeError) as error:
        raise UpFailure(str(error)) from error


def _supervise(
    options: UpOptions,
    servers: dict[str, EmbeddedServer],
    console: Console,
    say: Callable[[str], None],
) -> None:
    supervisor = Supervisor(
        make_stages(options, servers),
        DRAIN_ORDER,
        console.log,
        spawner=Spawner(fork_environment(), console.log),
    )
    if options.demo:
        path = options.data_dir / FILE
        supervisor.services = [Strikes(path, supervisor.processes, console.log)]
    runtime = Runtime(options, servers, supervisor)
    supervisor.changed = runtime.write
    supervisor.started = lambda: _announce(options, json.loads(supervisor.heard["bootstrap"]), say)
    runtime.write()
    try:
        supervisor.spawner.start()
        asyncio.run(supervisor.run())
    except StartFailure as failure:
        raise UpFailure(f"Punctual did not start: {failure}", failure.code) from failure
    finally:
        (options.data_dir / local_state.RUNTIME_FILE).unlink(missing_ok=True)
        for server in servers.values():
            remove_sockets(server.placement)


def _announce(options: UpOptions, bootstrap: dict[str, Any], say: Callable[[str], None]) -> None:
    """Say that all is ready: a table for people, or a log line, which holds no secrets."""
    if settings.LOGGING["json"]:
        log.info(
            "installation.ready",
            extra={
                "url": options.public_url,
                "receiver_url": options.receiver_url,
                "fenced": bool(bootstrap.get("fenced")),
            },
        )
    else:
        say(readiness_table(options, bootstrap, secret=sys.stdout.isatty()))


@dataclass(frozen=True)
class Runtime:
    """The content of ``runtime.json``: the addresses and every process that lives now."""

    options: UpOptions
    servers: dict[str, EmbeddedServer]
    supervisor: Supervisor

    def write(self) -> None:
        """Write the file anew; called at every start and end of a process."""
        try:
            local_state.write_runtime(self.options.data_dir, self._content())
        except OSError as error:
            # A full disk makes `ps` stale; it must not end the watch over the processes.
            self.supervisor.log("supervisor", f"cannot write {local_state.RUNTIME_FILE}: {error}")

    def _content(self) -> dict[str, Any]:
        options = self.options
        return {
            "pid": os.getpid(),
            "public_url": options.public_url,
            "local_url": options.local_url,
            "database_url": options.database_url or self.servers["postgresql"].url,
            "web_database_url": web_database_url(options, self.servers),
            "loops_database_url": loops_database_url(options, self.servers),
            "redis_url": options.redis_url or self.servers["valkey"].url,
            "receiver_url": options.receiver_url,
            "receiver_network": options.receiver_network,
            "demo": options.demo,
            "webhook_allowed_networks": options.allowed_networks,
            "processes": self._processes(),
        }

    def _processes(self) -> list[dict[str, Any]]:
        return [
            {
                "kind": process.spec.kind,
                "name": process.spec.name,
                "pid": process.pid,
                "restarts": process.restarts,
                "started_at": process.started_at,
            }
            for process in self.supervisor.processes
        ]


def _refuse_open_demo(options: UpOptions) -> None:
    """Refuse a demo that others could reach: its pages kill processes of this machine."""
    if not options.demo:
        return
    if not options.receiver:
        raise UpFailure("DEMO=true needs the test receiver: leave out TEST_RECEIVER=false.")
    hosts = {"HOST": options.host, "PUBLIC_URL": urlsplit(options.public_url).hostname or ""}
    for variable, host in hosts.items():
        if not _is_this_machine(host):
            raise UpFailure(
                f"DEMO=true is for this machine alone, because its pages kill processes: "
                f"{variable} names {host!r}. Leave it out, or start without DEMO."
            )


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_taken_ports(options: UpOptions) -> None:
    wanted = [("PORT", options.host, options.port)]
    if options.receiver:
        wanted.append(("RECEIVER_PORT", "127.0.0.1", options.receiver_port))
    for variable, host, port in wanted:
        family, kind, protocol, _, address = _resolve(host, port)
        with socket.socket(family, kind, protocol) as probe:
            # As the servers do: connections of an earlier run that linger are no obstacle.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address)
            except OSError as error:
                raise UpFailure(
                    f"Port {port} on {host} cannot be used ({error.strerror}). "
                    f"Stop what uses it, or set {variable}."
                ) from error


def _resolve(host: str, port: int) -> Any:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise UpFailure(f"HOST {host!r} is not an address of this machine.") from error


def _prepare_servers(options: UpOptions) -> dict[str, EmbeddedServer]:
    if options.database_url and options.redis_url:
        return {}
    placement = place_servers(options.data_dir)
    secrets = local_state.ensure_secrets(options.data_dir)
    servers: dict[str, EmbeddedServer] = {}
    if not options.database_url:
        servers["postgresql"] = EmbeddedPostgres(placement, secrets)
    if not options.redis_url:
        servers["valkey"] = EmbeddedValkey(placement, secrets)
    for server in servers.values():
        server.prepare()
    return servers


_HOW_TO_SIGN_IN = "run `manage.py accounts login-link admin` in a terminal"


def readiness_table(options: UpOptions, bootstrap: dict[str, Any], *, secret: bool = True) -> str:
    """Return the table that a person needs after a start, with the secrets that it shows once.

    Without ``secret``, where output is collected, it names the command that prints a login link.
    """
    url = options.public_url
    rows = [
        ("Web", f"{url}/"),
        ("API docs", f"{url}/v1/docs/"),
    ]
    if options.receiver:
        own = segment_of(key_of(settings.SECRET_KEY), UUID(bootstrap["tenant_id"]))
        rows.append(("Test receiver", f"{options.receiver_url}{own}/  (first tenant's own)"))
    if not os.environ.get("EMAIL_URL"):
        rows.append(("Mail", f"{options.data_dir / 'mail'}  (files; set EMAIL_URL to send it)"))
    if bootstrap.get("api_key"):
        rows.append(("API key", f"{bootstrap['api_key']}  (first tenant's owner, shown once)"))
    if bootstrap.get("login_url"):
        link = str(bootstrap["login_url"])
        whole = f"{url}{link}" if link.startswith("/") else link
        rows.append(("Login link", whole if secret else _HOW_TO_SIGN_IN))
    if bootstrap.get("fenced"):
        rows.append(("Held back", "nothing runs until `manage.py restore --confirm`"))
    rows.append(("Stop", "Ctrl-C, or `make down`"))
    clock = time.strftime("%H:%M:%S")
    return "\n".join([f"Punctual is ready ({clock})", *(f"  {a:<14} {b}" for a, b in rows)])
