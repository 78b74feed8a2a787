"""The few differences for tests; the session fixture names the servers in the environment."""

from __future__ import annotations

import base64
import os
from dataclasses import replace

os.environ.setdefault("SECRET_KEY", "tests-only-" + "x" * 50)
os.environ.setdefault("ENCRYPTION_KEYS", "test:" + base64.b64encode(b"t" * 32).decode())
os.environ.setdefault("AUDIT_KEYS", "test:" + base64.b64encode(b"a" * 32).decode())
os.environ.setdefault("DATABASE_URL", "postgresql://punctual@/punctual")
os.environ.setdefault("REDIS_URL", "redis://127.0.0.1:1/0")
os.environ["DATA_DIR"] = os.environ.get("TEST_DATA_DIR", "var/test")

from scheduler_site.settings import *  # noqa: F403 - the settings are the same ones

# A test is one transaction; how long its statements take, and the time between two of them, depend
# on the machine.
_OPTIONS = DATABASES["default"]["OPTIONS"]  # noqa: F405 - of the settings above
_OPTIONS["connect_timeout"] = 60
for _bound in ("idle_in_transaction_session_timeout", "statement_timeout", "lock_timeout"):
    _OPTIONS["options"] += f" -c {_bound}=60000"

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Find static files when they are asked for: each test client would list them all first.
WHITENOISE_AUTOREFRESH = True

# Programs write into the directories of the tests, which belong to the account that runs the tests.
# What lives in a test goes on living while a slow machine gets to the next line, but not for the
# minute for which tests let something be silent.
PUNCTUAL = replace(
    PUNCTUAL,  # noqa: F405 - of the settings that are imported whole
    command_user=os.environ.get("COMMAND_USER", ""),
    partition_lease_seconds=18.0,
    worker_lost_seconds=50.0,
)
