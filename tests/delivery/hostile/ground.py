"""What all rows stand on: certificates, names, and a worker's side that delivers.

The names are answered by a resolver of the test, so that no row asks a real one.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from delivery.address_guard import AddressGuard
from delivery.attempt import Deliverer
from delivery.http_client import HttpClient
from shared.encryption import open_json, seal, seal_json
from tasks.definition import RETRY_DEFAULTS, target_defaults
from tenants.signing import new_signing_secret
from tests.delivery.calls import LOOPBACK
from tests.support.certificates import SelfSigned, self_signed

_SEALED_KEYS = ("headers", "auth", "tls", "proxy")
_MANY = [f"127.9.{high}.{low}" for high in range(4) for low in range(1, 251)]
#: Name -> its addresses; one list per lookup, the last one again and again.
_NAMES: dict[str, tuple[Sequence[str], ...]] = {
    "good.test": (["127.0.0.1"],),
    "expired.test": (["127.0.0.1"],),
    "stranger.test": (["127.0.0.1"],),
    "empty.test": ([],),
    "junk.test": (["not an address"],),
    "thousand.test": (_MANY,),
    "spoiled.test": ([*_MANY[:-1], "10.1.2.3"],),
    "metadata.test": (["169.254.169.254"],),
    "mapped.test": (["::ffff:127.0.0.1"],),
    "halves.test": (["127.0.0.1", "10.1.2.3"],),
    "changing.test": (["127.0.0.1"], ["169.254.169.254"]),
    "sixfirst.test": (["::1", "127.0.0.1"],),
}


def resolver() -> Callable[[str, int], Any]:
    """Return a resolver that knows the names of the table and nothing else."""
    asked: dict[str, int] = {}

    async def resolve(host: str, _: int) -> Sequence[str]:
        if host == "silent.test":
            await asyncio.Event().wait()
        if host == "later.test":
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        if host not in _NAMES:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        answers = _NAMES[host]
        asked[host] = asked.get(host, 0) + 1
        return answers[min(asked[host], len(answers)) - 1]

    return resolve


@dataclass(frozen=True)
class Ground:
    """Certificates of the receivers, and the client's trust in some of them."""

    good: SelfSigned
    expired: SelfSigned
    #: Stands for another name than the one it is called by.
    other: SelfSigned
    #: Nobody vouches for it.
    stranger: SelfSigned
    trust: ssl.SSLContext
    #: A receiver's side whose chain is far longer than any real one.
    long_chain: ssl.SSLContext
    #: A receiver's side that speaks TLS 1.0 only.
    old_protocol: ssl.SSLContext


def _long_chain(good: SelfSigned, folder: Path) -> ssl.SSLContext:
    path = folder / "chain.pem"
    certificate = good.path.read_text()
    path.write_text(certificate + _only_certificate(certificate) * 400)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def _old_protocol(good: SelfSigned) -> ssl.SSLContext:
    context = good.server_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1
    return context


def make_ground(folder: Path) -> Ground:
    """Make the certificates; once is enough for all rows."""
    good, expired = (
        self_signed(folder, "good.test"),
        self_signed(folder, "expired.test", expired=True),
    )
    other, stranger = self_signed(folder, "other.test"), self_signed(folder, "stranger.test")
    trust = ssl.create_default_context()
    for one in (good, expired, other):
        trust.load_verify_locations(cadata=_only_certificate(one.path.read_text()))
    chain, old = _long_chain(good, folder), _old_protocol(good)
    return Ground(good, expired, other, stranger, trust, chain, old)


def _only_certificate(pem: str) -> str:
    return pem[pem.index("-----BEGIN CERTIFICATE") :]


@dataclass(frozen=True)
class Ending:
    """What the worker was told of an attempt."""

    verb: str
    outcome: str
    error_code: str
    message: str
    status: int | None
    retry_in: float | None
    body: bytes
    truncated: bool
    headers: list[list[str]] = field(default_factory=list)


class Worker:
    """The delivering side of one worker: a client and what stands on it."""

    def __init__(self, trust: ssl.SSLContext, secrets: Sequence[str] = ()) -> None:
        self._guard = AddressGuard(LOOPBACK, resolver(), cache_seconds=0)
        self._client = HttpClient(self._guard, ssl_context=trust)
        self._deliverer = Deliverer(self._client, LOOPBACK)
        self._tenant = str(uuid4())
        context = f"signing-secret:{self._tenant}".encode()
        sealed = [seal(one.encode(), context) for one in secrets or [new_signing_secret()]]
        self._secrets = {self._tenant: [base64.b64encode(one).decode() for one in sealed]}

    async def deliver(
        self,
        target: Any,
        payload: Any = None,
        *,
        execution: str | None = None,
        at: float | None = None,
    ) -> Ending:
        """Make the first of five attempts of an execution, a new one by default.

        ``at``: the Unix time that the worker believes it is.
        """
        entry = _entry(self._tenant, target, payload)
        entry["id"] = execution or entry["id"]
        batch: Any = {"offset": 0.0, "secrets": self._secrets}
        told = await self._deliverer.deliver(entry, batch, at or time.time())
        captured: Any = {}
        if "sealed" in told:
            context = f"response:{entry['id']}".encode()
            captured = open_json(told["sealed"], context)
        return Ending(
            verb=told["verb"],
            outcome=told["outcome"],
            error_code=told.get("error_code", ""),
            message=told.get("error_message", ""),
            status=told.get("status"),
            retry_in=told.get("retry_in"),
            body=base64.b64decode(captured.get("body", "")),
            truncated=captured.get("truncated", False),
            headers=captured.get("headers", []),
        )

    async def close(self) -> None:
        """Close what is kept."""
        await self._client.close()
        self._guard.close()


def _entry(tenant: str, changes: Any, payload: Any) -> Any:
    target = target_defaults("webhook") | changes
    secret = {key: target.pop(key) for key in _SEALED_KEYS}
    task = uuid4()
    sealed = seal_json(
        {**secret, "payload": {"n": 1} if payload is None else payload},
        f"revision:{task}:1".encode(),
    )
    return {
        "id": str(uuid4()),
        "tenant": tenant,
        "task": str(task),
        "revision": 1,
        "token": 7,
        "attempt": 1,
        "max_attempts": 5,
        "scheduled_for": time.time(),
        "url": target.pop("url"),
        "target": target,
        "retry_policy": RETRY_DEFAULTS
        | {"backoff": "fixed", "initial_delay_seconds": 2, "jitter": "none"},
        "sealed": base64.b64encode(sealed).decode(),
        "payload": None,
        "destination": "",
        "lost": 0,
        "progress": None,
        "named": None,
    }
