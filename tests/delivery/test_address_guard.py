from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address

import pytest

from delivery import address_guard
from delivery.address_guard import AddressGuard
from delivery.errors import DeliveryError
from shared.addresses import AllowList

PUBLIC, OTHER, PRIVATE = "1.1.1.1", "2606:4700::1111", "10.0.0.1"


class Dns:
    """A resolver whose answers the test gives, one per lookup."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append(host)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def _code(guard, host="example.com", port=443):
    with pytest.raises(DeliveryError) as caught:
        await guard.resolve(host, port)
    return caught.value.code


async def test_public_addresses_are_returned_in_order_without_repeats():
    guard = AddressGuard(AllowList(), Dns([PUBLIC, OTHER, PUBLIC]))

    assert await guard.resolve("example.com", 443) == [ip_address(PUBLIC), ip_address(OTHER)]


@pytest.mark.parametrize(
    "answers",
    [
        *([PRIVATE], [PUBLIC, PRIVATE], [PRIVATE, PUBLIC], ["::1"], ["::ffff:8.8.8.8"]),
        *(["fe80::1%eth0"], ["64:ff9b::1.1.1.1"], ["169.254.169.254"], [PUBLIC] * 999 + [PRIVATE]),
    ],
)
async def test_name_is_refused_when_any_of_its_addresses_is_forbidden(answers):
    assert await _code(AddressGuard(AllowList(), Dns(answers))) == "address_forbidden"


async def test_message_does_not_show_the_internal_address():
    guard = AddressGuard(AllowList(), Dns([PRIVATE]))

    with pytest.raises(DeliveryError) as caught:
        await guard.resolve("example.com", 443)

    assert PRIVATE not in caught.value.message


async def test_allow_listed_address_is_returned_for_its_port_only():
    guard = AddressGuard(AllowList(["10.0.0.0/8:8080"]), Dns([PRIVATE, PUBLIC], [PRIVATE]))

    assert len(await guard.resolve("intranet", 8080)) == 2
    assert await _code(guard, "intranet", 8081) == "address_forbidden"


@pytest.mark.parametrize(
    "answer",
    [
        *(socket.gaierror(socket.EAI_NONAME, "unknown"), socket.gaierror(socket.EAI_AGAIN, "x")),
        *(UnicodeError("label too long"), OSError("x"), [], ["not an address"]),
    ],
)
async def test_name_without_a_usable_answer_is_dns_failed(answer):
    assert await _code(AddressGuard(AllowList(), Dns(answer))) == "dns_failed"


async def test_literal_is_judged_without_dns():
    dns = Dns()
    guard = AddressGuard(AllowList(), dns)

    assert await guard.resolve(PUBLIC, 80) == [ip_address(PUBLIC)]
    assert await _code(guard, "127.0.0.1") == "address_forbidden"
    assert dns.asked == []


async def test_answer_is_kept_for_a_short_time_with_its_verdict():
    dns = Dns([PUBLIC], [PRIVATE])
    guard = AddressGuard(AllowList(), dns, cache_seconds=60)

    assert await guard.resolve("example.com", 443) == await guard.resolve("example.com", 443)
    assert len(dns.asked) == 1


async def test_changed_answer_is_judged_anew_once_the_old_one_has_expired():
    guard = AddressGuard(AllowList(), Dns([PUBLIC], [PRIVATE], [PUBLIC]), cache_seconds=0)

    assert await guard.resolve("example.com", 443)
    assert await _code(guard) == "address_forbidden"
    assert await guard.resolve("example.com", 443)


async def test_cache_stays_bounded():
    class Always(Dns):
        async def __call__(self, host, port):
            return [PUBLIC]

    guard = AddressGuard(AllowList(), Always())
    for number in range(4100):
        await guard.resolve(f"h{number}.example", 443)

    assert len(guard._cache) <= 4096


async def test_lookups_of_one_name_are_shared_and_outlive_a_caller():
    release, asked = asyncio.Event(), []

    async def slow(host, port):
        asked.append(host)
        await release.wait()
        return [PUBLIC]

    guard = AddressGuard(AllowList(), slow)
    first = asyncio.ensure_future(guard.resolve("example.com", 443))
    second = asyncio.ensure_future(guard.resolve("example.com", 8443))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    release.set()

    assert await second == [ip_address(PUBLIC)]
    assert asked == ["example.com"]


async def test_lookup_that_fails_after_everybody_left_is_quiet():
    release = asyncio.Event()

    async def slow(host, port):
        await release.wait()
        raise OSError

    guard = AddressGuard(AllowList(), slow)
    waiting = asyncio.ensure_future(guard.resolve("example.com", 443))
    await _turns()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert len(guard._lookups) == 1
    release.set()
    await _turns()

    assert len(guard._lookups) == 0
    assert guard._under_way == {}


class Hanging:
    """A resolver that answers for names of ``quick`` only."""

    def __init__(self):
        self.asked = []
        self.release = asyncio.Event()

    async def __call__(self, host, port):
        self.asked.append(host)
        if not host.startswith("quick"):
            await self.release.wait()
        return [PUBLIC]


async def _turns():
    for _ in range(20):
        await asyncio.sleep(0)


async def _ended(*waiting):
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_names_of_one_tenant_that_hang_leave_threads_to_others(monkeypatch):
    monkeypatch.setattr(address_guard, "_RESOLVER_THREADS", 8)
    dns = Hanging()
    guard = AddressGuard(AllowList(), dns)
    slow = [asyncio.ensure_future(guard.resolve(f"h{n}.example", 443, "a")) for n in range(50)]
    await _turns()

    found = asyncio.ensure_future(guard.resolve("quick.example", 443, "b"))
    await _turns()

    assert found.done()
    assert found.result() == [ip_address(PUBLIC)]
    assert dns.asked == ["h0.example", "h1.example", "h2.example", "h3.example", "quick.example"]
    await _ended(*slow)
    guard.close()


async def test_no_tenant_waits_for_a_name_in_the_queue_of_another(monkeypatch):
    monkeypatch.setattr(address_guard, "_RESOLVER_THREADS", 8)
    guard = AddressGuard(AllowList(), Hanging())
    names = [*(f"h{n}.example" for n in range(4)), "quick.example"]
    queued = [asyncio.ensure_future(guard.resolve(name, 443, "a")) for name in names]
    await _turns()

    found = asyncio.ensure_future(guard.resolve("quick.example", 443, "b"))
    await _turns()

    assert found.done()
    assert found.result() == [ip_address(PUBLIC)]
    await _ended(*queued)
    guard.close()


async def test_all_tenants_share_a_lookup_that_has_its_thread():
    dns = Hanging()
    guard = AddressGuard(AllowList(), dns)
    waiting = [asyncio.ensure_future(guard.resolve("one.example", 443, one)) for one in "abc"]
    await _turns()
    dns.release.set()

    assert await asyncio.gather(*waiting) == [[ip_address(PUBLIC)]] * 3
    assert dns.asked == ["one.example"]


async def test_lookups_whose_callers_have_left_do_not_gather(monkeypatch):
    monkeypatch.setattr(address_guard, "_RESOLVER_THREADS", 8)
    dns = Hanging()
    guard = AddressGuard(AllowList(), dns)
    for _ in range(20):
        late = [asyncio.ensure_future(guard.resolve(f"h{n}.example", 443, "a")) for n in range(30)]
        await _turns()
        await _ended(*late)

    assert len(guard._lookups) == 4
    assert len(dns.asked) == 4
    guard.close()


async def test_system_resolver_knows_localhost():
    guard = AddressGuard(AllowList(["127.0.0.0/8", "::1"]))

    addresses = await guard.resolve("localhost", 8001)
    guard.close()

    assert all(address.is_loopback for address in addresses)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1"])
async def test_number_that_the_system_reads_as_an_address_is_judged_as_one(host):
    guard = AddressGuard(AllowList())

    code = await _code(guard, host)
    guard.close()

    assert code == "address_forbidden"


async def test_closing_ends_pending_lookups():
    async def never(host, port):
        await asyncio.Event().wait()

    guard = AddressGuard(AllowList(), never)
    waiting = asyncio.ensure_future(guard.resolve("example.com", 443))
    await asyncio.sleep(0)
    guard.close()

    with pytest.raises(asyncio.CancelledError):
        await waiting
