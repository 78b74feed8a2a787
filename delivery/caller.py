"""Makes the whole call of a plan: its proof, its redirects, a fresh token when one is refused.

One per event loop, over one HTTP client. A plan without any of these is one request and costs
nothing more. One deadline covers everything, the token endpoint included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from dataclasses import replace
from time import perf_counter
from typing import Any

from delivery.auth import (
    ClientCredentials,
    authenticated,
    bearer,
    header_names,
)
from delivery.errors import DeliveryError
from delivery.http_client import HttpClient
from delivery.http_connection import milliseconds
from delivery.http_messages import Request, Response
from delivery.oauth import TokenSource
from delivery.plan import Plan
from delivery.redirects import FOLLOWED, MAX_REDIRECTS, redirected
from shared.conf import conf

_UNAUTHORIZED = 401


class Caller:
    """Calls receivers as their plans say."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._tokens = TokenSource(client)

    def call(self, plan: Plan, request: Request, tenant: str) -> Coroutine[Any, Any, Response]:
        """Return the last answer; DeliveryError and ValueError as the client raises them.

        The phases of its timings are those of the last request; first_byte and total count from
        the beginning of all.
        """
        if plan.is_direct:
            return self._client.send(request, tenant=tenant)
        return self._call(plan, request, tenant)

    async def _call(self, plan: Plan, request: Request, tenant: str) -> Response:
        deadline = asyncio.get_running_loop().time() + request.timeout
        if isinstance(plan.auth, ClientCredentials):
            return await _timed(self._with_token(plan, plan.auth, request, tenant, deadline))
        if plan.auth is not None:
            request = authenticated(request, plan.auth)
        return await _timed(self._follow(plan, request, tenant, deadline))

    async def _with_token(
        self, plan: Plan, auth: ClientCredentials, request: Request, tenant: str, deadline: float
    ) -> Response:
        token = await self._tokens.token(tenant, auth, request, deadline)
        response = await self._follow(plan, authenticated(request, bearer(token)), tenant, deadline)
        if response.status != _UNAUTHORIZED:
            return response
        # It may have been withdrawn before its time; another is asked for once.
        token = await self._tokens.token(tenant, auth, request, deadline, refused=token)
        return await self._follow(plan, authenticated(request, bearer(token)), tenant, deadline)

    async def _follow(self, plan: Plan, request: Request, tenant: str, deadline: float) -> Response:
        follows = plan.target.get("follow_redirects", False)
        seen = {_place(request)}
        while True:
            response = await self._client.send(_within(request, deadline), tenant=tenant)
            status = response.status
            if not follows or status not in FOLLOWED or status in plan.terms.success:
                return response
            following = redirected(
                request,
                response,
                private_headers=header_names(plan.auth) | plan.private_headers,
                allow=plan.shape.allow,
                allowed_ports=conf().webhook_allowed_ports,
            )
            if following is None:
                return response
            request = following
            if _place(request) in seen:
                raise DeliveryError("redirect_forbidden", "The redirects go in a circle.")
            seen.add(_place(request))
            if len(seen) > MAX_REDIRECTS + 1:
                raise DeliveryError(
                    "redirect_forbidden", f"There are more than {MAX_REDIRECTS} redirects."
                )


def _within(request: Request, deadline: float) -> Request:
    """Return the request with what is left of its time."""
    left = deadline - asyncio.get_running_loop().time()
    if left <= 0:
        raise DeliveryError("timeout_total", "The answer was not complete in time.")
    return replace(request, timeout=left)


def _place(request: Request) -> tuple[str, str, str, str]:
    url = request.url
    return (request.method, url.scheme, url.authority, url.path_and_query)


async def _timed(call: Awaitable[Response]) -> Response:
    """Count first_byte and total from here."""
    started = perf_counter()
    try:
        response = await call
    except DeliveryError as error:
        # A new object: those who waited for one token share its error.
        error.timings = {**error.timings, "total": milliseconds(perf_counter() - started)}
        raise
    total = milliseconds(perf_counter() - started)
    before = total - response.timings.get("total", total)
    if "first_byte" in response.timings:
        response.timings["first_byte"] = round(response.timings["first_byte"] + before, 3)
    response.timings["total"] = total
    return response
