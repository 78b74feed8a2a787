"""Decides which addresses a host name may lead to, at the moment of connecting.

Asked by the connector before each new connection. A name is refused when any of its addresses
is forbidden, and only addresses from the checked answer are connected to, so that a second,
different DNS answer (rebinding) is never used.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address

from delivery.errors import DeliveryError
from delivery.joint_calls import JointCalls
from shared.addresses import Address, AllowList, classify

#: Returns the textual addresses of a host; OSError when there are none.
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

#: Threads for the system's resolver. Own ones, since a few names whose server is silent would
#: fill the default pool. A tenant has at most as many of them as it leaves free: half when it is
#: alone, and names of others are looked up while all of that half hang.
_RESOLVER_THREADS = 128
_CACHE_ENTRIES = 4096


class AddressGuard:
    """Resolves names to checked addresses; one per event loop."""

    def __init__(
        self,
        allow: AllowList,
        resolver: Resolver | None = None,
        *,
        cache_seconds: float = 5.0,
    ) -> None:
        self._allow = allow
        self._resolver = resolver or self._ask_system
        self._cache_seconds = cache_seconds
        self._cache: dict[tuple[str, int], tuple[float, list[Address]]] = {}
        #: By tenant and host: a tenant's lookup must not wait in another one's queue.
        self._lookups: JointCalls[tuple[str, str], list[Address]] = JointCalls(_RESOLVER_THREADS)
        #: Lookups that have their thread, by host: these all tenants share.
        self._under_way: dict[str, asyncio.Task[list[Address]]] = {}
        self._executor: ThreadPoolExecutor | None = None

    async def resolve(self, host: str, port: int, tenant: str = "") -> list[Address]:
        """Return the addresses to try, in order, for a call of a tenant.

        DeliveryError ``address_forbidden`` when any is forbidden, ``dns_failed`` when there is
        none. Answers are kept for a few seconds with their verdict.
        """
        loop = asyncio.get_running_loop()
        cached = self._cache.get((host, port))
        if cached is not None and cached[0] > loop.time():
            return cached[1]
        addresses = await self._look_up(host, port, tenant)
        for address in addresses:
            self.check(address, port)
        if len(self._cache) >= _CACHE_ENTRIES:
            self._cache.clear()
        self._cache[host, port] = (loop.time() + self._cache_seconds, addresses)
        return addresses

    def check(self, address: Address, port: int) -> None:
        """Raise ``address_forbidden`` unless the address is public or allowed by the operator.

        The message names no address: it may be shown to a tenant.
        """
        reason = classify(address)
        if reason is not None and not self._allow.allows(address, port):
            raise DeliveryError(
                "address_forbidden", "The target leads to an address that is not public."
            )

    def close(self) -> None:
        """Stop waiting for lookups; threads inside the system's resolver end by themselves."""
        self._lookups.close()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None

    async def _look_up(self, host: str, port: int, tenant: str) -> list[Address]:
        try:
            return [ip_address(host)]
        except ValueError:
            pass  # a name
        under_way = self._under_way.get(host)
        if under_way is not None:
            return await asyncio.shield(under_way)
        ask = partial(self._ask_once, host, port)
        return await self._lookups.answer((tenant, host), tenant, ask)

    async def _ask_once(self, host: str, port: int) -> list[Address]:
        """Ask for a name that another tenant may have asked for while this call waited."""
        under_way = self._under_way.get(host)
        if under_way is not None:
            return await asyncio.shield(under_way)
        asking = asyncio.current_task()
        assert asking is not None  # noqa: S101 - a call is a task
        self._under_way[host] = asking
        try:
            return await self._ask(host, port)
        finally:
            del self._under_way[host]

    async def _ask(self, host: str, port: int) -> list[Address]:
        try:
            answers = await self._resolver(host, port)
            addresses = [ip_address(answer) for answer in dict.fromkeys(answers)]
        except (OSError, ValueError) as error:
            raise DeliveryError("dns_failed", "The host name could not be resolved.") from error
        if not addresses:
            raise DeliveryError("dns_failed", "The host name has no address.")
        return addresses

    async def _ask_system(self, host: str, port: int) -> list[str]:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(_RESOLVER_THREADS, thread_name_prefix="dns")
        infos = await asyncio.get_running_loop().run_in_executor(
            self._executor, partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        )
        return [str(info[4][0]) for info in infos]
