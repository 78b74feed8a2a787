"""Access tokens of OAuth 2 client credentials: fetched, kept until shortly before they expire.

One per event loop. The token endpoint is a target like any other: called by the same client,
behind the same address guard. All callers that need the same token share one call. A call may
outlive its callers, so tenants share a number of calls. No message about a failure holds a secret.
"""

from __future__ import annotations

import asyncio
import base64
import re
from functools import partial
from typing import Any
from urllib.parse import quote_plus, urlencode

from delivery.answered_json import read_json
from delivery.auth import ClientCredentials
from delivery.errors import DeliveryError
from delivery.headers import USER_AGENT
from delivery.http_client import HttpClient
from delivery.http_messages import Request, Response
from delivery.joint_calls import JointCalls
from delivery.tenant_cache import TenantCache

#: A call serves many callers, so the time-out of the first one does not bound it.
FETCH_SECONDS = 30.0
CONNECT_SECONDS = 10.0
MAX_TOKENS = 1024
#: Calls at a time; a tenant has at most as many as it leaves free.
MAX_FETCHES = 128
#: For an endpoint that does not say how long its tokens live.
DEFAULT_LIFETIME_SECONDS = 300.0
_MAX_LIFETIME_SECONDS = 86_400.0
#: A token is not used for this long before its end, or in the last fifth of a short life.
_MARGIN_SECONDS = 60.0
_TOKEN = re.compile(r"[!-~]{1,16384}")
#: The error words of RFC 6749, 5.2; others are not repeated.
_ERRORS = frozenset(
    "invalid_request invalid_client invalid_grant unauthorized_client unsupported_grant_type "
    "invalid_scope".split()
)


class TokenSource:
    """Gives tokens, by tenant and credentials."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._kept: TenantCache[ClientCredentials, tuple[str, float]] = TenantCache(MAX_TOKENS)
        self._fetches: JointCalls[tuple[str, ClientCredentials], str] = JointCalls(MAX_FETCHES)

    async def token(
        self,
        tenant: str,
        auth: ClientCredentials,
        request: Request,
        deadline: float,
        refused: str | None = None,
    ) -> str:
        """Return a token; one that a receiver has ``refused`` is not given again.

        The endpoint is reached by the route of ``request``. DeliveryError when there is none by
        the deadline (loop time); its message says that the token endpoint failed.
        """
        found = self._kept.get(tenant, auth)
        if found is not None:
            if found[0] != refused and found[1] > asyncio.get_running_loop().time():
                return found[0]
            self._kept.forget(tenant, auth)
        fetch = partial(self._fetch, tenant, auth, request)
        try:
            async with asyncio.timeout_at(deadline):
                return await self._fetches.answer((tenant, auth), tenant, fetch)
        except TimeoutError:
            raise DeliveryError(
                "timeout_total", "The token endpoint did not answer in time."
            ) from None

    async def _fetch(self, tenant: str, auth: ClientCredentials, request: Request) -> str:
        try:
            response = await self._client.send(_token_request(auth, request), tenant=tenant)
        except DeliveryError as error:
            message = f"The token endpoint failed. {error.message}"
            raise DeliveryError(error.code, message) from error
        token, lifetime = _read(response)
        useful = lifetime - min(_MARGIN_SECONDS, lifetime / 5)
        if useful > 0:
            self._kept.keep(tenant, auth, (token, asyncio.get_running_loop().time() + useful))
        return token


def _token_request(auth: ClientCredentials, request: Request) -> Request:
    form = {"grant_type": "client_credentials", "scope": auth.scope, "audience": auth.audience}
    pair = f"{quote_plus(auth.client_id)}:{quote_plus(auth.client_secret)}".encode()
    return Request(
        method="POST",
        url=auth.token_url,
        headers=[
            ("User-Agent", USER_AGENT),
            ("Accept", "application/json"),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Authorization", "Basic " + base64.b64encode(pair).decode()),
        ],
        body=urlencode({name: value for name, value in form.items() if value}).encode(),
        connect_timeout=CONNECT_SECONDS,
        timeout=FETCH_SECONDS,
        route=None if request.route is None else request.route.elsewhere(),
    )


def _read(response: Response) -> tuple[str, float]:
    """Return token and seconds of life; DeliveryError when there is no usable token."""
    answer = _json(response)
    if not 200 <= response.status <= 299:
        said = answer.get("error")
        detail = f" ({said})" if isinstance(said, str) and said in _ERRORS else ""
        message = f"The token endpoint answered HTTP {response.status}{detail}."
        raise DeliveryError("http_status", message, status=response.status)
    token = answer.get("access_token")
    kind = answer.get("token_type", "bearer")
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise DeliveryError("response_invalid", "The token endpoint's answer holds no token.")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise DeliveryError("response_invalid", "The token endpoint gave no bearer token.")
    return token, _lifetime(answer.get("expires_in"))


def _json(response: Response) -> dict[str, Any]:
    try:
        answer = read_json(response.body)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _lifetime(said: Any) -> float:
    """Return seconds; some endpoints write the number as text."""
    try:
        seconds = float(said)
    except (TypeError, ValueError):
        return DEFAULT_LIFETIME_SECONDS
    return min(seconds, _MAX_LIFETIME_SECONDS) if seconds > 0 else 0.0
