"""The list of every variable that people may set: default, meaning, and how to read it.

`config_report` prints it. Tests compare it with what the code reads from the environment, so
that a variable without an entry here, or with another default, fails the build.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from launcher import local_state
from launcher.plan import read_options
from shared import env
from shared.conf import conf

#: Set by the supervisor for its processes; not for people.
INTERNAL = ("PROCESS_KIND", "PROCESS_NAME", "RECEIVER_SECRET", "DJANGO_SETTINGS_MODULE")


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable. ``stored`` is its key in the files of the data directory, if it has one."""

    name: str
    default: str
    help: str
    read: Callable[[], Any]
    secret: bool = False
    stored: str = ""


def _django(name: str) -> Callable[[], Any]:
    return lambda: getattr(settings, name)


def _knob(name: str) -> Callable[[], Any]:
    return lambda: getattr(conf(), name)


def _lists(name: str) -> Callable[[], Any]:
    return lambda: [f"{key}={','.join(items)}" for key, items in getattr(conf(), name).items()]


def _option(name: str) -> Callable[[], Any]:
    return lambda: getattr(read_options(), name)


def _variable(name: str) -> Callable[[], Any]:
    return lambda: env.text(name) or None


def _keys() -> str:
    keys = conf().encryption_keys.items()
    return " ".join(f"{key_id}:{b64encode(key).decode()}" for key_id, key in keys)


SETTINGS: dict[str, tuple[Setting, ...]] = {
    "Where it runs": (
        Setting(
            "DATA_DIR",
            "var",
            "Directory of the embedded servers' data, generated secrets and addresses.",
            lambda: str(local_state.data_dir()),
        ),
        Setting("HOST", "127.0.0.1", "Address that the web process listens on.", _django("HOST")),
        Setting("PORT", "8000", "Port that the web process listens on.", _django("PORT")),
        Setting(
            "TEST_RECEIVER",
            "true",
            "Whether `up` runs the built-in test receiver and lets webhooks reach it.",
            _option("receiver"),
        ),
        Setting(
            "RECEIVER_PORT",
            "PORT + 1",
            "Port of the built-in test receiver, always on 127.0.0.1.",
            _option("receiver_port"),
        ),
        Setting(
            "PUBLIC_URL",
            "http://HOST:PORT",
            "Base URL under which people and receivers reach this installation.",
            _django("PUBLIC_URL"),
            stored="public_url",
        ),
        Setting(
            "ALLOWED_HOSTS",
            "localhost 127.0.0.1 [::1]",
            "Host names that requests may carry; HOST is added.",
            _django("ALLOWED_HOSTS"),
        ),
        Setting(
            "TLS",
            "false",
            "Whether people reach it by HTTPS only: redirects, strict transport, secure cookies. "
            "Needs TRUSTED_PROXIES, since HTTPS ends at a proxy.",
            _django("TLS"),
        ),
        Setting(
            "TRUSTED_PROXIES",
            "",
            "Addresses or networks of the proxies in front, whose `X-Forwarded-For` and "
            "`X-Forwarded-Proto` count; empty: these headers are ignored, and a caller's address "
            "is that of its connection.",
            _django("TRUSTED_PROXIES"),
        ),
        Setting(
            "SCHEMA_PUBLIC",
            "false",
            "Whether the OpenAPI document (`/v1/schema/`) and its page (`/v1/docs/`) are public; "
            "otherwise only API keys and signed-in people read them.",
            _knob("schema_public"),
        ),
        Setting(
            "STATIC_ROOT",
            "",
            "Directory for `collectstatic`; without one static files are served from the checkout.",
            _django("STATIC_ROOT"),
        ),
        Setting(
            "DEBUG",
            "false",
            "Show details of errors to the client. Never where others can connect.",
            _django("DEBUG"),
        ),
    ),
    "Servers": (
        Setting(
            "DATABASE_URL",
            "",
            "PostgreSQL to use; empty: `up` starts the embedded one. A primary and its standby: "
            "`?host=a,b&target_session_attrs=read-write`.",
            _django("DATABASE_URL"),
            secret=True,
            stored="database_url",
        ),
        Setting(
            "REDIS_URL",
            "",
            "Valkey or Redis to use; empty: `up` starts the embedded Valkey.",
            _django("REDIS_URL"),
            secret=True,
            stored="redis_url",
        ),
        Setting(
            "PUNCTUAL_USER",
            "punctual",
            "Account that everything runs as when root starts it, and that owns the data "
            "directory; `punctual` is made if need be. Unset, a data directory keeps its owner.",
            lambda: os.environ.get("PUNCTUAL_USER") or "punctual",
        ),
    ),
    "Processes": (
        Setting("WEBS", "1", "Web processes that `up` runs, on one port.", _option("webs")),
        Setting("SCHEDULERS", "1", "Scheduler processes that `up` runs.", _option("schedulers")),
        Setting("WORKERS", "2", "Worker processes that `up` runs.", _option("workers")),
        Setting("RECORDERS", "1", "Recorder processes that `up` runs.", _option("recorders")),
        Setting(
            "WORKER_CAPACITY",
            "512",
            "Requests in flight per worker process.",
            _knob("worker_capacity"),
        ),
        Setting(
            "WORKER_POOL", "default", "Pool that a worker takes work from.", _django("WORKER_POOL")
        ),
        Setting(
            "HANDLER_MODULES",
            "",
            "Python modules that register handlers; with one, `up` runs a worker for them, which "
            "gets the database, too.",
            _knob("handler_modules"),
        ),
        Setting(
            "HANDLER_SLOTS",
            "8",
            "Handlers at a time per worker, each in a process of its own.",
            _knob("handler_slots"),
        ),
        Setting(
            "ALLOWED_COMMANDS",
            "",
            "Programs that tasks may run, NAME=/absolute/path; with one, `up` runs a worker for "
            "them; empty: tasks run no commands.",
            lambda: [f"{name}={path}" for name, path in conf().allowed_commands.items()],
        ),
        Setting(
            "COMMAND_VARIABLES",
            "",
            "Environment variables that tasks may set for a command, NAME=VARIABLE,VARIABLE; "
            "commands that are not named take none.",
            _lists("command_variables"),
        ),
        Setting(
            "COMMAND_TENANTS",
            "",
            "Ids of the only tenants whose tasks may run a command, NAME=ID,ID; every tenant's may "
            "run commands that are not named.",
            _lists("command_tenants"),
        ),
        Setting(
            "COMMAND_USER",
            "65532 as root, else the worker's own",
            "Account (name or number) that runs the programs of commands; only a worker that root "
            "starts can become another one.",
            _knob("command_user"),
        ),
        Setting("COMMAND_SLOTS", "8", "Commands at a time per worker.", _knob("command_slots")),
        Setting(
            "DRAIN_SECONDS",
            "25.0",
            "How long a stopping worker waits for its requests.",
            _django("DRAIN_SECONDS"),
        ),
    ),
    "Secrets": (
        Setting(
            "SECRET_KEY",
            "generated",
            "Signs sessions and login links.",
            _django("SECRET_KEY"),
            secret=True,
            stored="secret_key",
        ),
        Setting(
            "ENCRYPTION_KEYS",
            "generated",
            "Keys of encryption at rest: ID:BASE64 words of 32 bytes. The first seals, all open.",
            _keys,
            secret=True,
            stored="encryption_keys",
        ),
        Setting(
            "BOOTSTRAP_API_KEY",
            "",
            "Owner key of the first tenant, 32 to 128 visible characters; empty: one is made.",
            _variable("BOOTSTRAP_API_KEY"),
            secret=True,
        ),
        Setting(
            "ADMIN_PASSWORD",
            "",
            "Password of the first administrator; empty: a one-time login link is shown.",
            _variable("ADMIN_PASSWORD"),
            secret=True,
        ),
    ),
    "Webhooks and limits": (
        Setting(
            "WEBHOOK_ALLOWED_NETWORKS",
            "",
            "Networks (CIDR or CIDR:port) that webhooks may reach although they are not public; "
            "`up` adds the built-in test receiver.",
            _knob("webhook_allowed_networks"),
            stored="webhook_allowed_networks",
        ),
        Setting(
            "WEBHOOK_ALLOWED_PORTS",
            "",
            "Ports below 1024, besides 80 and 443, that webhooks may use.",
            _knob("webhook_allowed_ports"),
        ),
        Setting(
            "WEBHOOK_ALLOW_UNVERIFIED_TLS",
            "false",
            "Whether a webhook may say that its receiver's certificate is not checked.",
            _knob("webhook_allow_unverified_tls"),
        ),
        Setting(
            "API_CALLS_PER_SECOND",
            "100",
            "Calls of the API that each key may make a second, and twice as many at once; 0: no "
            "limit.",
            _knob("api_calls_per_second"),
        ),
        Setting("PAYLOAD_BYTES", "262144", "Largest payload of a task.", _knob("payload_bytes")),
        Setting(
            "RETENTION_DAYS",
            "90",
            "Days that finished executions are kept.",
            _knob("retention_days"),
        ),
        Setting(
            "ARCHIVE_DIR",
            "",
            "Directory that each day is written to, compressed, before it is dropped; every "
            "machine with a system worker needs it under this path. Empty: no archive.",
            _knob("archive_dir"),
        ),
    ),
    "Alerts": (
        Setting(
            "EMAIL_URL",
            "",
            "Mail server: `smtp://user:password@host:port`, `smtps://` (TLS), `smtp+tls://` "
            "(STARTTLS), `console://` (the log), `file:///directory`; empty: files in "
            "`DATA_DIR/mail`.",
            _django("EMAIL_URL"),
            secret=True,
        ),
        Setting(
            "EMAIL_FROM",
            "Punctual <punctual@localhost>",
            "Sender of alerts; push services get its address as the operator's.",
            _django("DEFAULT_FROM_EMAIL"),
        ),
        Setting(
            "VAPID_PRIVATE_KEY",
            "generated",
            "Key that signs browser pushes: 32 bytes, base64url; a new one ends all subscriptions.",
            _django("VAPID_PRIVATE_KEY"),
            secret=True,
            stored="vapid_private_key",
        ),
    ),
    "Output": (
        Setting(
            "LOG_LEVEL", "INFO", "Least level of log lines.", lambda: settings.LOGGING["level"]
        ),
        Setting(
            "LOG_JSON",
            "false",
            "Write log lines as JSON objects.",
            lambda: settings.LOGGING["json"],
        ),
        Setting(
            "NO_COLOR",
            "",
            "Anything: no colours on the terminal.",
            lambda: bool(os.environ.get("NO_COLOR")),
        ),
    ),
}
