"""Django's settings for django-celery-beat alone; the database is told by libpq's variables."""

from __future__ import annotations

import os
import secrets

SECRET_KEY = secrets.token_hex()
INSTALLED_APPS = ["django_celery_beat"]
USE_TZ = True
TIME_ZONE = "UTC"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": os.environ.get("PGDATABASE", ""),
        "USER": os.environ.get("PGUSER", ""),
        "PASSWORD": os.environ.get("PGPASSWORD", ""),
        "HOST": os.environ.get("PGHOST", ""),
        # Beat asks for changes at every tick: its guide keeps connections open.
        "CONN_MAX_AGE": None,
    }
}
