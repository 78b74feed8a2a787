"""The few differences for tests; the session fixture names the servers in the environment."""

from __future__ import annotations

import base64
import os
from dataclasses import replace

os.environ.setdefault("SECRET_KEY", "tests-only-" + "x" * 50)
os.environ.setdefault("ENCRYPTION_KEYS", "test:" + base64.b64encode(b"t" * 32).decode())
os.environ.setdefault("DATABASE_URL", "postgresql://punctual@/punctual")
os.environ.setdefault("REDIS_URL", "redis://127.0.0.1:1/0")
os.environ["DATA_DIR"] = os.environ.get("TEST_DATA_DIR", "var/test")

from scheduler_site.settings import *  # noqa: F403 - the settings are the same ones

# A test is one transaction; the time between two statements depends on the machine.
_OPTIONS = DATABASES["default"]["OPTIONS"]  # noqa: F405 - of the settings above
_OPTIONS["options"] += " -c idle_in_transaction_session_timeout=60000"

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Find static files when they are asked for: each test client would list them all first.
WHITENOISE_AUTOREFRESH = True

# Programs write into the directories of the tests, which belong to the account that runs the tests.
PUNCTUAL = replace(
    PUNCTUAL,  # noqa: F405 - of the settings that are imported whole
    command_user=os.environ.get("COMMAND_USER", ""),
)
