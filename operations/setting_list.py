"""The list of every variable that people may set: default, meaning, and how to read it.

`config_report` prints it. Tests compare it with what the code reads from the environment, so
that a variable without an entry here, or with another default, fails the build.
"""

from __future__ import annotations

import os

from django.conf import settings

from launcher import local_state
from operations.metric_settings import METRIC_SETTINGS
from operations.setting_readers import Setting, django_setting, keys, knob, lists, option, variable
from operations.trace_settings import TRACE_SETTINGS
from shared.conf import conf

#: Set by the supervisor for its processes, or by sudo; not for people.
INTERNAL = "PROCESS_KIND PROCESS_NAME RECEIVER_SECRET DJANGO_SETTINGS_MODULE SUDO_USER".split()


def _address(name: str, meaning: str) -> Setting:
    """Return the setting of a server's address, which has a password and may be generated."""
    return Setting(name, "", meaning, django_setting(name), secret=True, stored=name.lower())


SETTINGS: dict[str, tuple[Setting, ...]] = {
    "Where it runs": (
        Setting(
            "DATA_DIR",
            "var",
            "Directory of the embedded servers' data, generated secrets and addresses.",
            lambda: str(local_state.data_dir()),
        ),
        Setting(
            "AUDIT_HEADS_DIR",
            "var/audit-heads",
            "Directory of the files with the heads of audit chains, for `audit verify`; best on "
            "another machine.",
            knob("audit_heads_dir"),
        ),
        Setting(
            "HOST", "127.0.0.1", "Address that the web process listens on.", django_setting("HOST")
        ),
        Setting("PORT", "8000", "Port that the web process listens on.", django_setting("PORT")),
        Setting(
            "TEST_RECEIVER",
            "true",
            "Whether `up` runs the built-in test receiver and lets webhooks reach it.",
            option("receiver"),
        ),
        Setting(
            "DEMO",
            "false",
            "Whether `up` makes the demo tenant and lets its administrator break things: only on "
            "127.0.0.1, never in production.",
            option("demo"),
        ),
        Setting(
            "RECEIVER_PORT",
            "PORT + 1",
            "Port of the built-in test receiver, always on 127.0.0.1.",
            option("receiver_port"),
        ),
        Setting(
            "PUBLIC_URL",
            "http://HOST:PORT",
            "Base URL under which people and receivers reach this installation.",
            django_setting("PUBLIC_URL"),
            stored="public_url",
        ),
        Setting(
            "ALLOWED_HOSTS",
            "localhost 127.0.0.1 [::1]",
            "Host names that requests may carry; HOST is added.",
            django_setting("ALLOWED_HOSTS"),
        ),
        Setting(
            "TLS",
            "false",
            "Whether people reach it by HTTPS only: redirects, strict transport, secure cookies. "
            "Needs TRUSTED_PROXIES, since HTTPS ends at a proxy. Cookies are secure with an "
            "`https://` PUBLIC_URL, too.",
            django_setting("TLS"),
        ),
        Setting(
            "HSTS_PRELOAD",
            "false",
            "Whether browsers may put the domain on their built-in lists of HTTPS-only domains; "
            "with TLS only. It can hardly be taken back.",
            django_setting("SECURE_HSTS_PRELOAD"),
        ),
        Setting(
            "SESSION_IDLE_SECONDS",
            "43200",
            "How long a console session lasts unused, 900 to 7776000. An open page uses it.",
            django_setting("SESSION_IDLE_SECONDS"),
        ),
        Setting(
            "SESSION_SECONDS",
            "1209600",
            "How long a console session lasts at most, however much it is used, 300 to 7776000.",
            django_setting("SESSION_COOKIE_AGE"),
        ),
        Setting(
            "TRUSTED_PROXIES",
            "",
            "Addresses or networks of the proxies in front, whose `X-Forwarded-For` and "
            "`X-Forwarded-Proto` count; empty: these headers are ignored, and a caller's address "
            "is that of its connection.",
            django_setting("TRUSTED_PROXIES"),
        ),
        Setting(
            "SCHEMA_PUBLIC",
            "false",
            "Whether the OpenAPI document (`/v1/schema/`) and its page (`/v1/docs/`) are public; "
            "otherwise only API keys and signed-in people read them.",
            knob("schema_public"),
        ),
        Setting(
            "PROCESSES_PUBLIC",
            "false",
            "Whether members and API keys see hosts, versions, load and partitions of processes.",
            knob("processes_public"),
        ),
        Setting(
            "STATIC_ROOT",
            "",
            "Directory for `collectstatic`; without one static files are served from the checkout.",
            django_setting("STATIC_ROOT"),
        ),
        Setting(
            "DEBUG",
            "false",
            "Show details of errors to the client. Never where others can connect.",
            django_setting("DEBUG"),
        ),
    ),
    "Servers": (
        _address(
            "DATABASE_URL",
            "PostgreSQL to use; empty: `up` starts the embedded one. A primary and its standby: "
            "`?host=a,b&target_session_attrs=read-write`.",
        ),
        _address(
            "WEB_DATABASE_URL",
            "The same database for the web process: a role that row security applies to, which "
            "`migrate` makes where it may. Empty with a DATABASE_URL: no row security.",
        ),
        _address(
            "LOOPS_DATABASE_URL",
            "The same database for schedulers, recorders, the system worker and workers of "
            "handlers: a role that owns nothing, which `migrate` makes where it may. Empty with a "
            "DATABASE_URL: they use the owner's role.",
        ),
        _address("REDIS_URL", "Valkey or Redis to use; empty: `up` starts the embedded Valkey."),
        Setting(
            "PUNCTUAL_USER",
            "punctual",
            "Account that everything runs as when root starts it, and that owns the data "
            "directory; `punctual` is made if need be. Unset, a data directory keeps its owner.",
            lambda: os.environ.get("PUNCTUAL_USER") or "punctual",
        ),
    ),
    "Processes": (
        Setting("WEBS", "1", "Web processes that `up` runs, on one port.", option("webs")),
        Setting("SCHEDULERS", "1", "Scheduler processes that `up` runs.", option("schedulers")),
        Setting("WORKERS", "2", "Worker processes that `up` runs.", option("workers")),
        Setting("RECORDERS", "1", "Recorder processes that `up` runs.", option("recorders")),
        Setting(
            "WORKER_CAPACITY",
            "512",
            "Requests in flight per worker process.",
            knob("worker_capacity"),
        ),
        Setting(
            "WORKER_POOL",
            "default",
            "Pool that a worker takes work from.",
            django_setting("WORKER_POOL"),
        ),
        Setting(
            "HANDLER_MODULES",
            "",
            "Python modules that register handlers; with one, `up` runs a worker for them, which "
            "gets the database, too.",
            knob("handler_modules"),
        ),
        Setting(
            "HANDLER_SLOTS",
            "8",
            "Handlers at a time per worker, each in a process of its own.",
            knob("handler_slots"),
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
            lists("command_variables"),
        ),
        Setting(
            "COMMAND_TENANTS",
            "",
            "Ids of the only tenants whose tasks may run a command, NAME=ID,ID; every tenant's may "
            "run commands that are not named.",
            lists("command_tenants"),
        ),
        Setting(
            "COMMAND_USER",
            "65532 as root, else the worker's own",
            "Account (name or number) that runs the programs of commands; only a worker that root "
            "starts can become another one.",
            knob("command_user"),
        ),
        Setting("COMMAND_SLOTS", "8", "Commands at a time per worker.", knob("command_slots")),
        Setting(
            "DRAIN_SECONDS",
            "25.0",
            "How long a stopping worker waits for its requests.",
            django_setting("DRAIN_SECONDS"),
        ),
    ),
    "Secrets": (
        Setting(
            "SECRET_KEY",
            "generated",
            "Signs sessions and login links.",
            django_setting("SECRET_KEY"),
            secret=True,
            stored="secret_key",
        ),
        Setting(
            "ENCRYPTION_KEYS",
            "generated",
            "Keys of encryption at rest: ID:BASE64 words of 32 bytes. The first seals, all open.",
            keys("encryption_keys"),
            secret=True,
            stored="encryption_keys",
        ),
        Setting(
            "KEY_SERVICE",
            "shared.key_service.ConfiguredKeys",
            "Class that wraps the data keys of tenants: by ENCRYPTION_KEYS, or by a key service "
            "outside (docs/howto/rotate-the-encryption-key.md).",
            django_setting("KEY_SERVICE"),
        ),
        Setting(
            "JWT_ISSUERS",
            "",
            "Issuers whose JSON Web Tokens services may use in place of API keys, as JSON "
            "(docs/howto/sign-in-services-with-jwt.md); empty: none. For web processes only.",
            variable("JWT_ISSUERS"),
            secret=True,
        ),
        Setting(
            "OIDC_PROVIDERS",
            "",
            "OpenID providers that people sign in by, besides passwords, as JSON "
            "(docs/howto/sign-in-people-by-oidc.md); empty: none. For web processes only.",
            variable("OIDC_PROVIDERS"),
            secret=True,
        ),
        Setting(
            "AUDIT_KEYS",
            "generated",
            "Keys of the audit log: ID:BASE64 words of 32 bytes. The first authenticates new "
            "entries, all verify; keep older ones.",
            keys("audit_keys"),
            secret=True,
            stored="audit_keys",
        ),
        Setting(
            "BOOTSTRAP_API_KEY",
            "",
            "Owner key of the first tenant, 32 to 128 visible characters; empty: one is made.",
            variable("BOOTSTRAP_API_KEY"),
            secret=True,
        ),
        Setting(
            "ADMIN_PASSWORD",
            "",
            "Password of the first administrator; empty: `up` shows a one-time login link on a "
            "terminal. A weak password is refused.",
            variable("ADMIN_PASSWORD"),
            secret=True,
        ),
    ),
    "Metrics": METRIC_SETTINGS,
    "Traces": TRACE_SETTINGS,
    "Webhooks and limits": (
        Setting(
            "WEBHOOK_ALLOWED_NETWORKS",
            "",
            "Networks (CIDR or CIDR:port) that webhooks may reach although they are not public; "
            "`up` adds the built-in test receiver.",
            knob("webhook_allowed_networks"),
            stored="webhook_allowed_networks",
        ),
        Setting(
            "WEBHOOK_ALLOWED_PORTS",
            "",
            "Ports below 1024, besides 80 and 443, that webhooks may use.",
            knob("webhook_allowed_ports"),
        ),
        Setting(
            "WEBHOOK_ALLOW_UNVERIFIED_TLS",
            "false",
            "Whether a webhook may say that its receiver's certificate is not checked.",
            knob("webhook_allow_unverified_tls"),
        ),
        Setting(
            "API_CALLS_PER_SECOND",
            "100",
            "Calls of the API that each key may make a second, and twice as many at once; 0: no "
            "limit.",
            knob("api_calls_per_second"),
        ),
        Setting(
            "TIERS",
            "",
            'Named sets of quotas as JSON, such as `{"small": {"stored_tasks": 1000}}`; `default` '
            "is for tenants without another tier. Empty: no tenant is limited by a tier.",
            knob("tiers"),
        ),
        Setting("PAYLOAD_BYTES", "262144", "Largest payload of a task.", knob("payload_bytes")),
        Setting(
            "RETENTION_DAYS",
            "90",
            "Days that finished executions are kept.",
            knob("retention_days"),
        ),
        Setting(
            "USAGE_RETENTION_DAYS",
            "400",
            "Days that the usage of tenants is kept, for charging back.",
            knob("usage_retention_days"),
        ),
        Setting(
            "AUDIT_RETENTION_DAYS",
            "0",
            "Days that entries of the audit log are kept; 0: for ever.",
            knob("audit_retention_days"),
        ),
        Setting(
            "ARCHIVE_DIR",
            "",
            "Directory that each day is written to, compressed, before it is dropped; every "
            "machine with a system worker needs it under this path. Empty: no archive.",
            knob("archive_dir"),
        ),
    ),
    "Alerts": (
        Setting(
            "EMAIL_URL",
            "",
            "Mail server: `smtp://user:password@host:port`, `smtps://` (TLS), `smtp+tls://` "
            "(STARTTLS), `console://` (the log), `file:///directory`; empty: files in "
            "`DATA_DIR/mail`.",
            django_setting("EMAIL_URL"),
            secret=True,
        ),
        Setting(
            "EMAIL_FROM",
            "Punctual <punctual@localhost>",
            "Sender of alerts; push services get its address as the operator's.",
            django_setting("DEFAULT_FROM_EMAIL"),
        ),
        Setting(
            "VAPID_PRIVATE_KEY",
            "generated",
            "Key that signs browser pushes: 32 bytes, base64url; a new one ends all subscriptions.",
            django_setting("VAPID_PRIVATE_KEY"),
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
            "Write every line as a JSON object, also output past the log; `up` then shows no keys.",
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
