"""The calls that the test receiver makes itself: forwarded requests and callbacks of long jobs.

They use the client that sends webhooks, so that a forwarded request looks like a direct one. The
list that bounds webhooks also bounds forwarding: through the receiver, a caller reaches nothing
that a webhook could not reach.
"""

from __future__ import annotations

import re

from delivery.address_guard import AddressGuard
from delivery.http_client import HttpClient, Response
from delivery.http_client import Request as Call
from receiver.messages import Request
from shared.addresses import AllowList, TargetUrl, UrlError, parse_target_url

_CONNECT_SECONDS = 5.0
_TOTAL_SECONDS = 60.0
#: Headers that are not forwarded, because the client sets its own.
_OF_ONE_HOP = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_EXECUTION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EVERYWHERE = AllowList(["0.0.0.0/0", "::/0"])


class Outgoing:
    """One client, made with the first call."""

    def __init__(self, allow: AllowList) -> None:
        self.allow = allow
        self._client: HttpClient | None = None
        self._guard: AddressGuard | None = None

    async def forward(self, request: Request, url: TargetUrl) -> Response:
        """Send the request on, headers and body unchanged; DeliveryError without an answer."""
        headers = [
            (name, _as_sent(value)) for name, value in request.headers if name not in _OF_ONE_HOP
        ]
        return await self.send(request.method, url, headers, request.body)

    async def send(
        self, method: str, url: TargetUrl, headers: list[tuple[str, str]], body: bytes
    ) -> Response:
        """Make one call; DeliveryError without an answer, ValueError for what cannot be sent."""
        if self._client is None:
            self._guard = AddressGuard(self.allow)
            self._client = HttpClient(self._guard)
        return await self._client.send(
            Call(
                method=method,
                url=url,
                headers=headers,
                body=body,
                connect_timeout=_CONNECT_SECONDS,
                timeout=_TOTAL_SECONDS,
            )
        )

    async def close(self) -> None:
        """Close idle connections."""
        if self._client is not None and self._guard is not None:
            await self._client.close()
            self._guard.close()


class Callbacks(Outgoing):
    """Calls to the API of one given installation; without one it makes no calls.

    A caller on this machine can forge every header, so no header decides the address: the request
    only names the execution.
    """

    def __init__(self, installation: str) -> None:
        super().__init__(_EVERYWHERE)
        self._base = installation.rstrip("/")

    def url(self, base: str, verb: str) -> TargetUrl:
        """Return where a long job reports; ValueError unless the installation named the base."""
        if not self._base:
            raise ValueError("this receiver was started without --callbacks URL")
        execution = base.removeprefix(f"{self._base}/v1/executions/")
        if execution == base or not _EXECUTION.fullmatch(execution):
            raise ValueError(
                f"X-Scheduler-Callback-Url must be an execution of {self._base} (PUBLIC_URL)"
            )
        return parse_target_url(f"{base}/{verb}", self.allow)


def forwarding_url(text: str, outgoing: Outgoing, own: str) -> TargetUrl:
    """Return where to forward to: a URL that may be reached, or a path below ``own``."""
    if text.startswith("/"):
        text = f"http://{own}{text}"
    try:
        return parse_target_url(text, outgoing.allow)
    except UrlError as error:
        hint = " WEBHOOK_ALLOWED_NETWORKS lists what may be." if "public" in error.message else ""
        raise ValueError(f"to: {error.message}{hint}") from error


def _as_sent(value: str) -> str:
    """Return the received bytes as UTF-8 text; the parser has read them as Latin-1."""
    return value.encode("latin-1").decode("utf-8", "replace")
