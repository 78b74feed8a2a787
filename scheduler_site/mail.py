"""Reads EMAIL_URL into Django's mail settings; a URL it does not understand stops the start."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_FILES = "notifications.transports.mail_files.EmailBackend"
_SMTP = "django.core.mail.backends.smtp.EmailBackend"
_CONSOLE = "django.core.mail.backends.console.EmailBackend"
_PORTS = {"smtp": 25, "smtps": 465, "smtp+tls": 587}


def mail_settings(url: str) -> dict[str, Any]:
    """Return the EMAIL_ settings of a URL; without one, messages become files."""
    if not url:
        return {"EMAIL_BACKEND": _FILES}
    try:
        parts = urlsplit(url)
        if parts.scheme == "console":
            return {"EMAIL_BACKEND": _CONSOLE}
        if parts.scheme == "file" and parts.path:
            return {"EMAIL_BACKEND": _FILES, "EMAIL_FILE_PATH": unquote(parts.path)}
        if parts.scheme in _PORTS and parts.hostname:
            return _smtp(parts)
    except ValueError as error:
        raise ImproperlyConfigured(f"EMAIL_URL cannot be read: {error}") from error
    raise ImproperlyConfigured(
        "EMAIL_URL must be smtp://, smtps:// or smtp+tls:// with a host, console://, or "
        "file:///directory"
    )


def _smtp(parts: SplitResult) -> dict[str, Any]:
    return {
        "EMAIL_BACKEND": _SMTP,
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or _PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
    }
