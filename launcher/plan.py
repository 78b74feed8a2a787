"""What ``up`` runs: the process kinds of Punctual in their order, and what each may know.

Called by ``up`` only. Workers and the test receiver get no database. The worker of the
handlers does, because its functions may use the models of their deployment. Only the bootstrap
command gets the bootstrap secrets.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import psycopg
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from launcher import local_state, web_probe
from launcher.embedded import EmbeddedServer
from launcher.embedded_postgres import EmbeddedPostgres
from launcher.spawning import ProcessSpec
from launcher.supervisor import Command, Stage
from receiver import control as receiver_control
from receiver import ledgers as receiver_ledgers
from shared import env
from tasks.definition import COMMAND_TARGET_DEFAULTS, HANDLER_TARGET_DEFAULTS

BASE_DIR = Path(__file__).resolve().parent.parent
# Producers first, then workers, then the recorder, the receiver, and the servers with the data.
DRAIN_ORDER = (
    ("web", "scheduler"),
    ("worker", "system-worker"),
    ("recorder",),
    ("receiver",),
    ("valkey",),
    ("postgresql",),
)
_GRACE_SECONDS = {"worker": 30.0, "system-worker": 30.0, "recorder": 30.0}
#: These kinds yield to the workers where all share few processors, so that work starts at its
#: millisecond (decision 0020).
_NICENESS = dict.fromkeys(("scheduler", "recorder", "system-worker", "postgresql"), 10)
_BOOTSTRAP_ONLY = ("BOOTSTRAP_API_KEY", "ADMIN_PASSWORD")
#: Hold secrets of the web process, which handlers of a worker have no use for.
_WEB_ONLY = ("JWT_ISSUERS", "METRICS_TOKEN", "OIDC_PROVIDERS")
_ADDRESSES = ("DATABASE_URL", "LOOPS_DATABASE_URL", "REDIS_URL", "WEB_DATABASE_URL")
#: One-time commands, which change the schema or roles: they alone get the owner's address.
_AS_OWNER = ("migrate", "bootstrap", "demo")
_WITHOUT_DATABASE = ("worker", "receiver")
_HANDLERS_POOL = HANDLER_TARGET_DEFAULTS["pool"]
_COMMANDS_POOL = COMMAND_TARGET_DEFAULTS["pool"]
UNREACHABLE = 5


@dataclass(frozen=True)
class UpOptions:
    """What the environment asks of ``up``; an empty URL means the embedded server."""

    data_dir: Path
    host: str
    port: int
    receiver_port: int
    database_url: str
    redis_url: str
    webs: int
    schedulers: int
    workers: int
    recorders: int
    web_database_url: str = ""
    loops_database_url: str = ""
    handlers: bool = False
    commands: bool = False
    receiver: bool = True
    demo: bool = False

    @property
    def public_url(self) -> str:
        """Return the address that people on this machine open."""
        return env.text("PUBLIC_URL", self.local_url).rstrip("/")

    @property
    def local_url(self) -> str:
        """Return the address of the web process itself, not of a proxy in front of it."""
        return f"http://{web_probe.spelled(self.reachable_host)}:{self.port}"

    @property
    def reachable_host(self) -> str:
        """Return a host that reaches the web process from here."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - compared, not bound

    @property
    def allowed_networks(self) -> str:
        """Return the private networks that webhooks may reach: the setting's, and the receiver."""
        given = env.text("WEBHOOK_ALLOWED_NETWORKS").replace(",", " ").split()
        return " ".join(dict.fromkeys([*given, *self.receiver_network.split()]))

    @property
    def receiver_network(self) -> str:
        """Return the entry that lets webhooks reach the test receiver; empty without one."""
        return f"127.0.0.1/32:{self.receiver_port}" if self.receiver else ""

    @property
    def receiver_url(self) -> str:
        """Return the address of the built-in test receiver; empty without one."""
        return f"http://127.0.0.1:{self.receiver_port}/" if self.receiver else ""


def read_options() -> UpOptions:
    """Read the environment of ``up``; raise ImproperlyConfigured for values it cannot use."""
    port = env.integer("PORT", 8000, minimum=1, maximum=65535)
    return UpOptions(
        data_dir=local_state.data_dir(),
        host=env.text("HOST", "127.0.0.1"),
        port=port,
        receiver_port=env.integer("RECEIVER_PORT", port % 65535 + 1, minimum=1, maximum=65535),
        database_url=env.text("DATABASE_URL"),
        web_database_url=env.text("WEB_DATABASE_URL"),
        loops_database_url=env.text("LOOPS_DATABASE_URL"),
        redis_url=env.text("REDIS_URL"),
        webs=env.integer("WEBS", 1, minimum=1, maximum=256),
        schedulers=env.integer("SCHEDULERS", 1, maximum=256),
        workers=env.integer("WORKERS", 2, maximum=256),
        recorders=env.integer("RECORDERS", 1, maximum=256),
        handlers=bool(env.words("HANDLER_MODULES")),
        commands=bool(env.programs("ALLOWED_COMMANDS")),
        receiver=env.boolean("TEST_RECEIVER", True),
        demo=env.boolean("DEMO", False),
    )


def make_stages(options: UpOptions, servers: dict[str, EmbeddedServer]) -> list[Stage]:
    """Return the stages of a start; ``servers`` are the embedded ones, by kind."""
    urls = {
        "DATABASE_URL": options.database_url or servers["postgresql"].url,
        "REDIS_URL": options.redis_url or servers["valkey"].url,
        "WEB_DATABASE_URL": web_database_url(options, servers),
        "LOOPS_DATABASE_URL": loops_database_url(options, servers),
    }
    plan = _Plan(options, urls)
    return [
        *_external_stages(options),
        *(
            Stage(kind, [_placed(server.process())], ready=partial(asyncio.to_thread, server.probe))
            for kind, server in servers.items()
        ),
        Stage(
            "migrations",
            commands=[Command(plan.spec("migrate", "migrate", "--no-input"))],
            timeout_seconds=600.0,
        ),
        Stage(
            "bootstrap",
            commands=[Command(plan.spec("bootstrap", "bootstrap", "--json"), captured=True)],
        ),
        *(
            [Stage("demo", commands=[Command(plan.spec("demo", "demo", "seed"))])]
            if options.demo
            else []
        ),
        # Patient: a machine that is busy with other things starts a dozen programs slowly.
        Stage("web", plan.kinds(), ready=plan.answers("/healthz"), timeout_seconds=180.0),
        Stage("Punctual", ready=plan.has_started, probe_every_seconds=0.5),
    ]


def web_database_url(options: UpOptions, servers: Mapping[str, EmbeddedServer]) -> str:
    """Return the address by which the web process reaches the database; empty for the owner's."""
    if options.database_url:
        return options.web_database_url
    embedded = servers["postgresql"]
    return embedded.web_url if isinstance(embedded, EmbeddedPostgres) else ""


def loops_database_url(options: UpOptions, servers: Mapping[str, EmbeddedServer]) -> str:
    """Return the address by which the loops reach the database; empty for the owner's."""
    if options.database_url:
        return options.loops_database_url
    embedded = servers["postgresql"]
    return embedded.loops_url if isinstance(embedded, EmbeddedPostgres) else ""


@dataclass(frozen=True)
class _Plan:
    options: UpOptions
    urls: dict[str, str]

    def kinds(self) -> list[ProcessSpec]:
        options = self.options
        return [
            *self._several("web", options.webs, "run_web"),
            *self._receiver(),
            *self._several("scheduler", options.schedulers, "run_scheduler"),
            *self._several("worker", options.workers, "run_worker"),
            *(self._pool_worker(_HANDLERS_POOL) for _ in range(options.handlers)),
            *(self._pool_worker(_COMMANDS_POOL) for _ in range(options.commands)),
            self.spec("system-worker", "run_worker", "--pool", "system"),
            *self._several("recorder", options.recorders, "run_recorder"),
        ]

    def _receiver(self) -> list[ProcessSpec]:
        options = self.options
        if not options.receiver:
            return []
        return [
            self.spec(
                "receiver",
                "run_receiver",
                f"--port={options.receiver_port}",
                f"--ledgers={options.data_dir / receiver_ledgers.FOLDER}",
                f"--control={options.data_dir / receiver_control.FILE}",
                f"--callbacks={options.public_url}",
                *(("--trials",) if options.demo else ()),
            )
        ]

    def _several(self, kind: str, count: int, command: str) -> list[ProcessSpec]:
        return [self.spec(kind, command, number=number) for number in range(1, count + 1)]

    def _pool_worker(self, pool: str) -> ProcessSpec:
        return self.spec("worker", "run_worker", "--pool", pool, pool=pool)

    def spec(self, kind: str, *command: str, number: int = 1, pool: str = "") -> ProcessSpec:
        single = kind in _AS_OWNER
        words = (kind,) if single else (kind, pool, str(number))
        name = "-".join(word for word in words if word)
        return ProcessSpec(
            kind=kind,
            name=name,
            argv=(sys.executable, str(BASE_DIR / "manage.py"), *command),
            environment=self._environment(kind, name, pool),
            grace_seconds=_GRACE_SECONDS.get(kind, 10.0),
            niceness=_NICENESS.get(kind, 0),
            forked=True,
        )

    def _environment(self, kind: str, name: str, pool: str) -> dict[str, str]:
        withheld = list(_ADDRESSES)
        withheld += [] if kind == "bootstrap" else _BOOTSTRAP_ONLY
        withheld += [] if kind == "web" else _WEB_ONLY
        kept = _without(withheld)
        # Empty, not absent: the settings would look an absent one up in runtime.json.
        without = kind in _WITHOUT_DATABASE and pool != _HANDLERS_POOL
        return {
            **kept,
            "WEBHOOK_ALLOWED_NETWORKS": self.options.allowed_networks,
            **self._addresses(kind, without=without),
            "DATA_DIR": str(self.options.data_dir),
            "PROCESS_KIND": kind,
            "PROCESS_NAME": name,
            "PYTHONUNBUFFERED": "1",
        }

    def _addresses(self, kind: str, *, without: bool) -> dict[str, str]:
        """Return the addresses that a kind may know: only one-time commands know the owner's."""
        urls = dict(self.urls)
        web, loops = urls["WEB_DATABASE_URL"], urls["LOOPS_DATABASE_URL"]
        if kind == "web":
            urls["DATABASE_URL"] = web or urls["DATABASE_URL"]
            urls["LOOPS_DATABASE_URL"] = ""
        elif kind not in _AS_OWNER:
            urls["DATABASE_URL"] = "" if without else loops or urls["DATABASE_URL"]
            urls["WEB_DATABASE_URL"] = urls["LOOPS_DATABASE_URL"] = ""
        elif kind != "migrate":
            urls["WEB_DATABASE_URL"] = urls["LOOPS_DATABASE_URL"] = ""
        return urls

    def answers(self, path: str) -> Callable[[], Awaitable[bool]]:
        async def probe() -> bool:
            return await web_probe.answers_ok(self.options.reachable_host, self.options.port, path)

        return probe

    async def has_started(self) -> bool:
        return await web_probe.has_started(self.options.reachable_host, self.options.port)


def fork_environment() -> dict[str, str]:
    """Return the environment of the fork server: the variables that every kind may know."""
    return _without((*_ADDRESSES, *_BOOTSTRAP_ONLY, *_WEB_ONLY))


def _without(variables: Sequence[str]) -> dict[str, str]:
    kept = dict(os.environ)
    for variable in variables:
        kept.pop(variable, None)
        kept.pop(f"{variable}_FILE", None)
    return kept


def _placed(spec: ProcessSpec) -> ProcessSpec:
    return replace(spec, niceness=_NICENESS.get(spec.kind, 0))


def _external_stages(options: UpOptions) -> list[Stage]:
    given = (
        ("the database of DATABASE_URL", _database_answers, options.database_url),
        ("the server of REDIS_URL", _redis_answers, options.redis_url),
    )
    return [
        Stage(
            name,
            ready=partial(asyncio.to_thread, answers, url),
            timeout_seconds=30.0,
            failure_code=UNREACHABLE,
        )
        for name, answers, url in given
        if url
    ]


def _database_answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _redis_answers(url: str) -> bool:
    client = redis.Redis.from_url(url, socket_timeout=5, retry=Retry(NoBackoff(), 0))
    try:
        return bool(client.ping())
    except redis.exceptions.RedisError:
        return False
    finally:
        client.close()
