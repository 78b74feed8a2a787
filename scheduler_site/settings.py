"""Django settings, read top to bottom; the environment decides, nothing exists only in production.

Values come from the environment, then from the data directory that ``manage.py up`` keeps.
Secure unless loosened: ``DEBUG`` is off, secrets have no default.
"""

from __future__ import annotations

import base64
import zoneinfo
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

from launcher import local_state
from scheduler_site.broker import broker_url
from scheduler_site.mail import mail_settings
from scheduler_site.tracing import read_trace_url, read_tracing
from shared import env, oidc_providers, silence
from shared.conf import Conf
from shared.jwt_issuers import read_or_problem
from shared.web_pool import POOL
from tenants.quotas.limits import BOUNDS, TIER_LENGTH
from worker.programs import account

# One zone database everywhere: the pinned tzdata package, never the system's copy.
zoneinfo.reset_tzpath(())

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = local_state.data_dir()
_generated = local_state.load_secrets(DATA_DIR)
_runtime = local_state.load_runtime(DATA_DIR)

# --- Web ---------------------------------------------------------------------------------
SECRET_KEY = env.text("SECRET_KEY", _generated.get("secret_key", ""))
if not SECRET_KEY:
    raise ImproperlyConfigured(
        f"SECRET_KEY is not set, and the data directory {DATA_DIR} has none. Run `make up` once, "
        "which makes one there; name the data directory if it is another one (DATA_DIR=/path); "
        "or set SECRET_KEY (or SECRET_KEY_FILE)."
    )
DEBUG = env.boolean("DEBUG", False)
HOST = env.text("HOST", "127.0.0.1")
PORT = env.integer("PORT", 8000, minimum=1, maximum=65535)
ALLOWED_HOSTS = list(env.words("ALLOWED_HOSTS", "localhost 127.0.0.1 [::1]"))
if HOST not in ("0.0.0.0", "::", *ALLOWED_HOSTS):  # noqa: S104 - compared, not bound
    ALLOWED_HOSTS.append(HOST)
PUBLIC_URL = env.text("PUBLIC_URL", _runtime.get("public_url", f"http://{HOST}:{PORT}"))
# The test receiver of `manage.py up`, empty where none runs; tenants' addresses begin with it.
RECEIVER_URL = _runtime.get("receiver_url", "")
# Where it reports arrived requests, to processes that may open the file.
RECEIVER_SOCKET = str(DATA_DIR / "receiver.sock")
# Whether `up` was started with the demo: its breaks are refused elsewhere.
DEMO = env.boolean("DEMO", _runtime.get("demo", False))
# As for the processes of `up`: the networks of the environment, and the receiver.
_allowed_networks = (
    *env.words("WEBHOOK_ALLOWED_NETWORKS", _runtime.get("webhook_allowed_networks", "")),
    *_runtime.get("receiver_network", "").split(),
)
ROOT_URLCONF = "scheduler_site.urls"
ASGI_APPLICATION = "scheduler_site.asgi.application"
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 17 * 1024 * 1024
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

PROCESS_KIND = env.text("PROCESS_KIND", "command")
# Only processes that may show the admin load its pages: the others start in two thirds of the time.
_ADMIN = "AdminConfig" if PROCESS_KIND in {"web", "command"} else "SimpleAdminConfig"
_APPS = [
    f"django.contrib.admin.apps.{_ADMIN}",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_celery_beat",
    "shared",
    "events",
    "tenants",
    "tasks",
    "executions",
    "workflows",
    "notifications",
    "dashboard",
    "operations",
    "launcher",
    "scheduler_site",
]
#: The supervisor and the receiver have no use for the other apps.
IS_BARE = PROCESS_KIND in {"supervisor", "receiver"}
INSTALLED_APPS = ["launcher", "scheduler_site"] if IS_BARE else _APPS

MIDDLEWARE = [
    "api.protocol.request_counts.RequestCountMiddleware",
    "api.protocol.middleware.TenantScopeMiddleware",
    "api.protocol.middleware.TraceMiddleware",
    "api.protocol.middleware.ProblemMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "dashboard.middleware.ContentSecurityPolicyMiddleware",
    "dashboard.middleware.PageCompressionMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "dashboard.sign_in_guard.PlainCookieMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dashboard.sign_in_guard.SignInMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "dashboard.middleware.OutageMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.context.console",
            ]
        },
    }
]

STATIC_URL = "/static/"
STATIC_ROOT = env.text("STATIC_ROOT") or None
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
# Vendored files carry their version in the path, so browsers may keep them for good.
WHITENOISE_IMMUTABLE_FILE_TEST = r"/static/vendor/"
LOGIN_URL = "dashboard:login"
LOGIN_REDIRECT_URL = "dashboard:overview"

# Proxies whose headers name a request's origin (X-Forwarded-For) and scheme (X-Forwarded-Proto).
TRUSTED_PROXIES = env.networks("TRUSTED_PROXIES")
TLS = env.boolean("TLS", False)
if TLS and not TRUSTED_PROXIES:
    raise ImproperlyConfigured(
        "TLS is true and TRUSTED_PROXIES is empty, so that every page would redirect to itself: "
        "HTTPS ends at a proxy. Set TRUSTED_PROXIES to the proxy's address, such as 127.0.0.1."
    )
SECURE_SSL_REDIRECT = TLS
# Probes come from this machine and speak plain HTTP.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 31536000 if TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = TLS
# A preloaded domain can hardly go back to plain HTTP: that is for its owner to decide.
SECURE_HSTS_PRELOAD = TLS and env.boolean("HSTS_PRELOAD", False)
# Browsers reach this installation by PUBLIC_URL, also where TLS is false and HTTPS ends at a proxy.
_SECURE_COOKIES = TLS or PUBLIC_URL.lower().startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _SECURE_COOKIES
# The prefix makes browsers refuse the cookie from another host of the domain, or over HTTP.
_COOKIE_PREFIX = "__Host-" if _SECURE_COOKIES else ""
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}csrftoken"
# A session ends at this age, however often it is used, and sooner when it is not used.
SESSION_COOKIE_AGE = env.integer("SESSION_SECONDS", 1209600, minimum=300, maximum=7776000)
SESSION_IDLE_SECONDS = env.integer("SESSION_IDLE_SECONDS", 43200, minimum=900, maximum=7776000)
# One-time login links.
PASSWORD_RESET_TIMEOUT = 15 * 60
CSRF_FAILURE_VIEW = "dashboard.sent_forms.csrf_failure"
SESSION_COOKIE_HTTPONLY = True
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]

# --- Time and language -------------------------------------------------------------------
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False  # One language: else each reverse() asks four times which, behind a shared lock.
FORMAT_MODULE_PATH = "scheduler_site.formats"

# --- PostgreSQL --------------------------------------------------------------------------
DATABASE_URL = env.text("DATABASE_URL", _runtime.get("database_url", ""))
# The web process, and no other, logs in as a role of its own, to which row security applies.
WEB_DATABASE_URL = env.text(
    "WEB_DATABASE_URL", local_state.web_address_beside(_runtime, DATABASE_URL)
)
IS_WALLED = PROCESS_KIND == "web" and bool(WEB_DATABASE_URL)
# The loops log in as a role that owns nothing, too; the address of the owner is for commands.
LOOPS_DATABASE_URL = env.text(
    "LOOPS_DATABASE_URL", local_state.loops_address_beside(_runtime, DATABASE_URL)
)
_IS_LOOP = PROCESS_KIND in {"scheduler", "recorder", "system-worker", "worker"}


def _address() -> str:
    if IS_WALLED:
        return WEB_DATABASE_URL
    # A worker without DATABASE_URL knows no database.
    return LOOPS_DATABASE_URL if _IS_LOOP and DATABASE_URL and LOOPS_DATABASE_URL else DATABASE_URL


def _database(url: str) -> dict[str, Any]:
    if not url:  # a worker: it knows no database
        return {"ENGINE": "django.db.backends.dummy"}
    parts = conninfo_to_dict(url)
    options: dict[str, Any] = {
        key: value
        for key, value in parts.items()
        if key not in {"dbname", "user", "password", "host", "port"}
    }
    # Bounds on what a stuck session can hold; database defaults are unlimited.
    # A row that another session keeps locked must not hold up a scheduler's or a recorder's loop.
    in_a_loop = PROCESS_KIND in {"scheduler", "recorder"}
    session = {
        "statement_timeout": 30000,
        "lock_timeout": 1000 if in_a_loop else 10000,
        "idle_in_transaction_session_timeout": 5000,
        "timezone": "UTC",
        **silence.DATABASE_SESSION,
    }
    if in_a_loop:
        # The results of a stage's statements differ too much from pass to pass for one plan.
        session["plan_cache_mode"] = "force_custom_plan"
        # Only a plain index scan marks the entries of rows that have moved on, which the next scan
        # then skips. Nearly all entries in the indexes of due or leased rows are such.
        session["enable_bitmapscan"] = "off"
    options["options"] = " ".join(f"-c {name}={value}" for name, value in session.items())
    options = {**silence.DATABASE_CLIENT, **options}
    options.setdefault("application_name", f"punctual-{PROCESS_KIND}")
    return {
        "ENGINE": "shared.postgresql",
        "NAME": parts.get("dbname", "punctual"),
        "USER": parts.get("user", ""),
        "PASSWORD": parts.get("password", ""),
        "HOST": parts.get("host", ""),
        "PORT": str(parts.get("port", "")),
        # The web server runs requests in threads, so its connections come from a pool; the other
        # kinds keep one each.
        "CONN_MAX_AGE": 0 if PROCESS_KIND == "web" else None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **options,
            "prepare_threshold": 1,
            **({"pool": POOL} if PROCESS_KIND == "web" else {}),
        },
    }


DATABASES = {"default": _database(_address())}

# --- Redis or Valkey ---------------------------------------------------------------------
REDIS_URL = env.text("REDIS_URL", _runtime.get("redis_url", ""))
# Our own layer: Channels' reads time out on redis-py 8, and none reports missed messages.
CHANNEL_LAYERS = {"default": {"BACKEND": "notifications.channel_layer.LiveChannelLayer"}}

# --- REST --------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "api.tenants.authentication.JsonWebTokenAuthentication",
        "api.tenants.authentication.ApiKeyAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["api.protocol.permissions.HasScope"],
    "DEFAULT_PARSER_CLASSES": ["api.protocol.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["api.protocol.renderers.OrjsonRenderer"],
    "DEFAULT_SCHEMA_CLASS": "api.protocol.schema.ProblemAutoSchema",
    "EXCEPTION_HANDLER": "api.protocol.problems.handle_exception",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "api.protocol.accept.FirstRenderer",
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Punctual",
    "DESCRIPTION": "Run a webhook at a time: once, after a delay, every N seconds, or by cron.",
    # The version of CHANGELOG.md; workers report it, too.
    "VERSION": "0.1.0",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "/static/favicon.svg",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    # The schema has each enum where it is used; a name of its own would not help a reader.
    "POSTPROCESSING_HOOKS": [],
}

# --- Celery ------------------------------------------------------------------------------
CELERY_BROKER_URL = broker_url(REDIS_URL) if REDIS_URL else None
CELERY_BEAT_SCHEDULER = "executions.beat:PunctualScheduler"
CELERY_TASK_SERIALIZER = "orjson"
CELERY_ACCEPT_CONTENT = ["orjson", "json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "system"
CELERY_TASK_CREATE_MISSING_QUEUES = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Queues are consumed in the order given; the default is round robin.
    "queue_order_strategy": "priority",
    # Bodies are JSON already.
    "body_encoding": None,
    # Only unacknowledged system jobs come back by it; executions are acknowledged at once.
    "visibility_timeout": 3600,
    # Without these a publisher waits for ever on a connection that silently drops packets, and a
    # worker notices only after a minute that nothing arrives.
    "socket_timeout": 2,
    "socket_connect_timeout": 2,
    "health_check_interval": 10,
    **silence.redis_options(REDIS_URL),
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# For ever: a worker that gave up would only be started again.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_TIMEZONE = "UTC"

# --- Product -----------------------------------------------------------------------------


def _keys(name: str, given: str) -> dict[str, bytes]:
    keys: dict[str, bytes] = {}
    for word in given.replace(",", " ").split():
        key_id, _, encoded = word.partition(":")
        key = base64.b64decode(encoded)
        if len(key) != 32 or not 1 <= len(key_id.encode()) <= 16:
            raise ImproperlyConfigured(
                f"{name} must be ID:BASE64 words of 32-byte keys, the active one first"
            )
        keys[key_id] = key
    return keys


# A bad value accepts no token and no provider; `check` and the web process report it
# (scheduler_site/checks.py).
JWT_ISSUERS, JWT_ISSUERS_PROBLEM = read_or_problem(env.text("JWT_ISSUERS"))
OIDC_PROVIDERS, OIDC_PROVIDERS_PROBLEM = oidc_providers.read_or_problem(env.text("OIDC_PROVIDERS"))
_commands = env.programs("ALLOWED_COMMANDS")
PUNCTUAL = Conf(
    public_url=PUBLIC_URL,
    schema_public=env.boolean("SCHEMA_PUBLIC", False),
    processes_public=env.boolean("PROCESSES_PUBLIC", False),
    metrics_token=env.secret("METRICS_TOKEN", shortest=32),
    metrics_networks=env.networks("METRICS_NETWORKS"),
    metrics_tenants=env.integer("METRICS_TENANTS", 0, minimum=0, maximum=100),
    tracing=read_tracing(),
    trace_url=read_trace_url(),
    api_calls_per_second=env.integer("API_CALLS_PER_SECOND", 100, minimum=0, maximum=100_000),
    tiers=env.tiers("TIERS", BOUNDS, longest=TIER_LENGTH),
    worker_capacity=env.integer("WORKER_CAPACITY", 512, minimum=1, maximum=20000),
    retention_days=env.integer("RETENTION_DAYS", 90, minimum=1, maximum=3650),
    usage_retention_days=env.integer("USAGE_RETENTION_DAYS", 400, minimum=1, maximum=36500),
    archive_dir=env.text("ARCHIVE_DIR"),
    payload_bytes=env.integer("PAYLOAD_BYTES", 256 * 1024, minimum=1024, maximum=1024 * 1024),
    webhook_allowed_networks=tuple(dict.fromkeys(_allowed_networks)),
    webhook_allowed_ports=tuple(int(port) for port in env.words("WEBHOOK_ALLOWED_PORTS")),
    webhook_allow_unverified_tls=env.boolean("WEBHOOK_ALLOW_UNVERIFIED_TLS", False),
    handler_modules=env.words("HANDLER_MODULES"),
    handler_slots=env.integer("HANDLER_SLOTS", 8, minimum=1, maximum=1000),
    allowed_commands=_commands,
    command_variables=env.variables("COMMAND_VARIABLES", _commands),
    command_tenants=env.tenants("COMMAND_TENANTS", _commands),
    command_user=env.text("COMMAND_USER") or account.default_name(),
    command_slots=env.integer("COMMAND_SLOTS", 8, minimum=1, maximum=1000),
    jwt_issuers=JWT_ISSUERS,
    oidc_providers=OIDC_PROVIDERS,
    encryption_keys=_keys(
        "ENCRYPTION_KEYS", env.text("ENCRYPTION_KEYS", _generated.get("encryption_keys", ""))
    ),
    audit_keys=_keys("AUDIT_KEYS", env.text("AUDIT_KEYS", _generated.get("audit_keys", ""))),
    audit_retention_days=env.integer("AUDIT_RETENTION_DAYS", 0, minimum=0, maximum=36500),
    audit_heads_dir=env.text("AUDIT_HEADS_DIR", str(DATA_DIR / "audit-heads")),
)

# --- Mail and push -----------------------------------------------------------------------
EMAIL_URL = env.text("EMAIL_URL")
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("EMAIL_FROM", "Punctual <punctual@localhost>")
EMAIL_USE_LOCALTIME = False
# Every step of a conversation with the mail server ends after this long.
EMAIL_TIMEOUT = 10
# Where messages go as files while there is no mail server.
EMAIL_FILE_PATH = str(DATA_DIR / "mail")
globals().update(mail_settings(EMAIL_URL))
#: The class that wraps the data keys of tenants.
KEY_SERVICE = env.text("KEY_SERVICE", "shared.key_service.ConfiguredKeys")
VAPID_PRIVATE_KEY = env.text("VAPID_PRIVATE_KEY", _generated.get("vapid_private_key", ""))

WORKER_POOL = env.text("WORKER_POOL", "default")
DRAIN_SECONDS = env.decimal("DRAIN_SECONDS", 25.0, minimum=0.0, maximum=3600.0)

# --- Logs --------------------------------------------------------------------------------
LOGGING_CONFIG = "shared.logs.configure"
LOGGING = {"level": env.text("LOG_LEVEL", "INFO"), "json": env.boolean("LOG_JSON", False)}
