"""Which request headers a user may set on an outgoing call, and which ones carry secrets.

Validation of targets checks headers on creation; the delivery side sets the reserved ones itself
and so may rely on their absence. The HTTP client still refuses CR, LF and NUL by itself, because
templates fill values after validation. All code that shows, keeps or forwards headers calls
:func:`is_secret_header`, so that a header is secret everywhere or nowhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

#: Lower case. Set by the product, or deciding how a message is framed.
RESERVED_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "idempotency-key",
        "keep-alive",
        "te",
        "traceparent",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
        "x-execution-token",
        "x-idempotency-key",
        "x-scheduler-attempt",
        "x-scheduler-callback-url",
        "x-scheduler-fencing-token",
        "x-scheduler-progress",
        "x-scheduler-scheduled-for",
        "x-scheduler-task-id",
        "x-scheduler-test",
    }
)
RESERVED_PREFIXES = ("proxy-",)

#: Words that count anywhere in a name, then short ones that count only between hyphens.
#: ``auth`` is also the start of ``author``, which is no secret.
_SECRET_NAME = re.compile(
    r"auth(?!or(?!iz))|cookie|token|secret|passw|passphrase|passcode|signature|credential|private|"
    r"session|jwt|bearer|csrf|xsrf|hmac|saml|"
    r"(api|access|account|app|client|licen[cs]e|master|shared|subscription)[-_]?key|"
    r"(^|[-_])(key|pass|pwd|pin|otp|totp|sig|sid|ticket|creds?|assertion)($|[-_])",
    re.IGNORECASE,
)
#: They sound like secrets: one orders attempts, some are ids, the others ask for a proof.
_OPEN_NAMES = frozenset(
    {
        "authentication-info",
        "idempotency-key",
        "proxy-authenticate",
        "www-authenticate",
        "x-idempotency-key",
        "x-scheduler-fencing-token",
    }
)

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}")
_VALUE = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?")


def check_header(name: str, value: str) -> str | None:
    """Return ``header_invalid`` or ``header_reserved``, or None when the header may be set."""
    if not is_token(name) or not _VALUE.fullmatch(value):
        return "header_invalid"
    lowered = name.lower()
    if lowered in RESERVED_HEADERS or lowered.startswith(RESERVED_PREFIXES):
        return "header_reserved"
    return None


def is_token(text: str) -> bool:
    """Return whether the text may be a header name or a method (RFC 9110 token)."""
    return _TOKEN.fullmatch(text) is not None


@lru_cache(1024)
def is_secret_header(name: str) -> bool:
    """Return whether a header of this name is likely to carry a secret."""
    return _SECRET_NAME.search(name) is not None and name.lower() not in _OPEN_NAMES
