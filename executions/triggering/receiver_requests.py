"""The built-in test receiver of a tenant: its address, and the requests that arrived below it.

The receiver runs beside ``up`` on this machine. Its network side shows no requests; this module
asks it over a socket file that webhooks cannot reach, always for the one tenant.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings

from shared import payload_sight
from shared.exceptions import NotFound, Unavailable
from shared.receiver_address import key_of, segment_of
from shared.unix_http import UnixConnection

_SECONDS = 5.0


class NoReceiver(NotFound):
    """No test receiver runs here: `up` starts one for its machine, unless TEST_RECEIVER=false."""

    code = "no_receiver"


def address_of(tenant_id: UUID) -> str | None:
    """Return the tenant's address, with a slash at its end; None where no receiver runs."""
    if not settings.RECEIVER_URL:
        return None
    return f"{settings.RECEIVER_URL.rstrip('/')}/{segment(tenant_id)}/"


def required_address_of(tenant_id: UUID) -> str:
    """Return the tenant's address; raise NoReceiver where no receiver runs."""
    found = address_of(tenant_id)
    if found is None:
        raise NoReceiver
    return found


def segment(tenant_id: UUID) -> str:
    """Return the part of the path that is the tenant's own."""
    return segment_of(key_of(settings.SECRET_KEY), tenant_id)


def received(tenant_id: UUID, query: Mapping[str, str | int]) -> dict[str, Any]:
    """Return what the receiver has for the tenant's address: ``requests``, ``kept``, ``total``.

    ``query`` may name ``path``, ``webhook_id`` and ``limit``. Raise NoReceiver where none runs,
    Unavailable where it does not answer, PayloadsHidden without the right to see payloads.
    """
    payload_sight.require()
    found: dict[str, Any] = json.loads(_ask("GET", tenant_id, query))
    return found


def forget(tenant_id: UUID) -> None:
    """Make the receiver forget the requests of the tenant; raise as :func:`received`."""
    _ask("DELETE", tenant_id, {})


def _ask(method: str, tenant_id: UUID, query: Mapping[str, str | int]) -> bytes:
    required_address_of(tenant_id)
    connection = UnixConnection(Path(settings.RECEIVER_SOCKET), _SECONDS)
    try:
        connection.request(method, f"/requests/{segment(tenant_id)}?{urlencode(query)}")
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable("The test receiver does not answer. Try again.") from error
    finally:
        connection.close()
    if answer.status >= 400:
        raise Unavailable(f"The test receiver refused to answer (HTTP {answer.status}).")
    return body
