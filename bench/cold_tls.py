"""What a cold TLS connection costs, and what sessions and kept connections save.

A thousand host names lead to one TLS receiver on loopback, a process of its own (P-256, a leaf
under an authority). The product's client asks each name once a round: cold, with a whole handshake
each; resumed, on new connections with the sessions of those before; kept, on the same connections.
The receiver says in each answer what it saw. Figures are requests a second of this process's
processor time, which is what one core can do; the receiver's is not counted. Names are resolved
in the process: what the system's resolver takes comes on top.
Run: ``python -m bench.cold_tls``.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import resource
import socket
import ssl
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, cast

import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bench import command_line, report
from bench.installation import InstallationError
from bench.processes import memory_of
from delivery import idle_pool, tls_sessions
from delivery.address_guard import AddressGuard
from delivery.http_client import HttpClient, Request
from shared.addresses import AllowList, parse_target_url

TARGET_PER_SECOND = 700
DOMAIN = "hosts.test"
ADDRESSES = tuple(f"127.0.0.{last}" for last in range(1, 9))
LOOPBACK = AllowList(["127.0.0.0/8"])
_WARM_UP = 50
_PASSES_KEPT = 5
_START_SECONDS = 30
#: What the receiver answers: how it came to this request.
FULL, RESUMED, KEPT = "full", "resumed", "kept"


@dataclass(frozen=True, slots=True)
class Round:
    """What one round over the hosts took, and what the receiver said it was."""

    requests: int
    cpu_seconds: float
    seconds: float
    seen: dict[str, int]

    @property
    def per_core(self) -> float:
        """Return requests a second of processor time."""
        return self.requests / self.cpu_seconds


# --- The receiver --------------------------------------------------------------------------


class _Receiver(asyncio.Protocol):
    """Answers GETs, one after the other; on the path /close it wants the connection closed."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._came = RESUMED if transport.get_extra_info("ssl_object").session_reused else FULL
        self._head = b""

    def data_received(self, data: bytes) -> None:
        self._head += data
        if not self._head.endswith(b"\r\n\r\n"):
            return
        close = b"Connection: close\r\n" if self._head.startswith(b"GET /close ") else b""
        body = self._came.encode()
        length = b"Content-Length: %d\r\n\r\n" % len(body)
        self._transport.write(b"HTTP/1.1 200 OK\r\n" + close + length + body)
        self._came, self._head = KEPT, b""


def _receive(certificate: str, pipe: Pipe) -> None:
    """Run the receiver in a process of its own until it is ended."""

    async def run() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        loop, port = asyncio.get_running_loop(), 0
        for address in ADDRESSES:
            raw = socket.create_server((address, port), backlog=1024)
            port = raw.getsockname()[1]
            await loop.create_server(_Receiver, sock=raw, ssl=context)
        pipe.send(port)
        await asyncio.Event().wait()

    uvloop.run(run())


@contextmanager
def receiver(certificate: Path) -> Iterator[int]:
    """Run the receiver for a block and yield its port."""
    processes = multiprocessing.get_context("spawn")
    ours, theirs = processes.Pipe()
    process = processes.Process(target=_receive, args=(str(certificate), theirs), daemon=True)
    process.start()
    try:
        if not ours.poll(_START_SECONDS):
            raise InstallationError("the receiver did not start")
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def write_certificates(folder: Path) -> tuple[Path, Path]:
    """Write an authority's certificate, and the receiver's with its key; return both paths."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("Bench Authority", authority_key, authority_key, authority=True)
    leaf = _certificate(f"*.{DOMAIN}", key, authority_key, authority=False)
    trusted, served = folder / "authority.pem", folder / "receiver.pem"
    trusted.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    private = key.private_bytes(*form, serialization.NoEncryption())
    served.write_bytes(private + leaf.public_bytes(serialization.Encoding.PEM))
    return trusted, served


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    *,
    authority: bool,
) -> x509.Certificate:
    def called(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(called(name))
        .issuer_name(called("Bench Authority"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    # Python 3.13 and later refuse an authority that does not say what it is for, and a chain
    # whose links are not named by key.
    ours = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    theirs = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = builder.add_extension(ours, critical=False).add_extension(theirs, critical=False)
    builder = builder.add_extension(_usage(authority=authority), critical=True)
    if not authority:
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(signer, hashes.SHA256())


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


# --- The client ----------------------------------------------------------------------------


@asynccontextmanager
async def client_of(authority: Path, *, sessions: bool) -> AsyncIterator[HttpClient]:
    """Run the product's client for a block, with or without sessions, on every interpreter."""
    addresses = cycle(ADDRESSES)

    async def resolve(host: str, port: int) -> Sequence[str]:
        return [next(addresses)]

    # Each connection asks the resolver, so that no round is spared what another has paid.
    guard = AddressGuard(LOOPBACK, resolve, cache_seconds=0)
    usual = tls_sessions.READING_IS_SOUND
    tls_sessions.READING_IS_SOUND = sessions
    try:
        client = HttpClient(guard, ssl_context=ssl.create_default_context(cafile=authority))
    finally:
        tls_sessions.READING_IS_SOUND = usual
    try:
        yield client
    finally:
        await client.close()
        guard.close()


def requests_to(port: int, path: str, count: int, *, first: int = 0) -> list[Request]:
    """Return one request to each of ``count`` hosts."""
    return [
        Request(
            method="GET",
            url=parse_target_url(f"https://h{number:05}.{DOMAIN}:{port}/{path}", LOOPBACK),
            headers=[],
            body=b"",
            connect_timeout=30.0,
            timeout=30.0,
        )
        for number in range(first, first + count)
    ]


async def run_round(client: HttpClient, requests: Sequence[Request], at_once: int) -> Round:
    """Send all requests, ``at_once`` at a time, and return what that took."""
    seen: Counter[str] = Counter()
    waiting = iter(requests)

    async def work() -> None:
        for request in waiting:
            response = await client.send(request)
            seen[response.body.decode()] += 1

    cpu, began = time.process_time(), time.perf_counter()
    await asyncio.gather(*[work() for _ in range(at_once)])
    return Round(len(requests), time.process_time() - cpu, time.perf_counter() - began, dict(seen))


async def run_rounds(authority: Path, port: int, chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the rounds by kind, and the bytes that a kept connection holds."""
    closing = requests_to(port, "close", chosen.hosts)
    keeping = requests_to(port, "keep", chosen.hosts)
    warm_up = requests_to(port, "close", _WARM_UP, first=chosen.hosts)
    found: dict[str, list[Round]] = {kind: [] for kind in ("cold", "cold_keeping", *WARM)}
    sizes: list[float] = []
    for _ in range(chosen.rounds):
        async with client_of(authority, sessions=False) as client:
            await run_round(client, warm_up, chosen.at_once)
            found["cold"].append(await run_round(client, closing, chosen.at_once))
        async with client_of(authority, sessions=True) as client:
            await run_round(client, warm_up, chosen.at_once)
            found["cold_keeping"].append(await run_round(client, closing, chosen.at_once))
            found["resumed"].append(await run_round(client, closing, chosen.at_once))
        async with client_of(authority, sessions=False) as client:
            before = memory_of(os.getpid())
            await run_round(client, keeping, chosen.at_once)
            sizes.append((memory_of(os.getpid()) - before) / chosen.hosts)
            passes = keeping * _PASSES_KEPT
            found["kept"].append(await run_round(client, passes, chosen.at_once))
    # Later rounds use memory again that an earlier one has given back.
    return {"rounds": found, "bytes_per_kept_connection": round(max(sizes))}


#: What each kind has to be, as the receiver saw it.
WARM = {"resumed": RESUMED, "kept": KEPT}


def is_as_meant(kind: str, one: Round) -> bool:
    """Return whether every request of a round was answered in the way that its kind names."""
    return one.seen == {WARM.get(kind, FULL): one.requests}


def judge(
    rounds: dict[str, list[Round]], *, sound: bool
) -> tuple[dict[str, dict[str, float]], bool]:
    """Return the medians by kind, and whether all was as meant and the target was met.

    Where reading a session is not ``sound`` the product keeps none: there nothing is asked of the
    rounds with sessions but that they are what they should be.
    """
    rates = {kind: statistics.median(one.per_core for one in rounds[kind]) for kind in rounds}
    found = {
        kind: {
            "per_second_a_core": round(rate, 1),
            "cpu_us_each": round(1e6 / rate, 1),
            "per_second": round(
                statistics.median(one.requests / one.seconds for one in rounds[kind]), 1
            ),
            "times_cold": round(_times_cold(rounds, kind), 2),
        }
        for kind, rate in rates.items()
    }
    meant = all(is_as_meant(kind, one) for kind in rounds for one in rounds[kind])
    fast = rates["cold_keeping" if sound else "cold"] >= TARGET_PER_SECOND
    pays = rates["cold"] < rates["kept"] and (not sound or rates["cold"] < rates["resumed"])
    return found, meant and fast and pays


def _times_cold(rounds: dict[str, list[Round]], kind: str) -> float:
    """Return how many times as many as cold a core passes: the median of what lay together."""
    pairs = zip(rounds[kind], rounds["cold"], strict=True)
    return statistics.median(one.per_core / cold.per_core for one, cold in pairs)


_WORDS = {
    "cold": "cold, whole handshakes",
    "cold_keeping": "cold, sessions kept for later",
    "resumed": "new connections, sessions reused",
    "kept": "kept connections",
}


def lines_of(found: dict[str, dict[str, float]], chosen: argparse.Namespace) -> list[str]:
    """Return the figures for people."""
    lines = [f"{chosen.hosts} hosts, {chosen.at_once} requests at once, {chosen.rounds} rounds:"]
    lines += [
        f"  {_WORDS[kind]:<34} {one['per_second_a_core']:>9,.0f} a second a core, "
        f"{one['cpu_us_each']:>7,.0f} µs CPU each (x{one['times_cold']:.1f})"
        for kind, one in found.items()
    ]
    return lines


def options(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.cold_tls", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=64, help="requests in flight (64)")
    parser.add_argument("--rounds", type=int, default=9, help="of each kind; the median counts")
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Measure; 1 when the target is missed or a round was not what it should be."""
    chosen = options(arguments)
    room = min(idle_pool.MAX_IDLE_CONNECTIONS, tls_sessions.MAX_SESSIONS - _WARM_UP)
    if chosen.hosts > room:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        raise InstallationError(f"{room} hosts at most with {files} open files (ulimit -n)")
    with tempfile.TemporaryDirectory() as folder:
        authority, certificate = write_certificates(Path(folder))
        with receiver(certificate) as port:
            measured = uvloop.run(run_rounds(authority, port, chosen))
    size, sound = measured["bytes_per_kept_connection"], tls_sessions.READING_IS_SOUND
    found, passed = judge(measured["rounds"], sound=sound)
    figures = {
        "hosts": chosen.hosts,
        "at_once": chosen.at_once,
        "rounds": chosen.rounds,
        "openssl": ssl.OPENSSL_VERSION,
        "kinds": found,
        "bytes_per_kept_connection": size,
        "product_keeps_sessions_here": sound,
        "passed": passed,
    }
    shown = [
        *lines_of(found, chosen),
        f"a kept connection holds {size / 1024:.1f} KiB; {ssl.OPENSSL_VERSION}",
        "sessions are kept by the product on this interpreter: "
        + (
            "yes"
            if sound
            else "no (reading one loses memory and takes long); switched on for this report"
        ),
        f"target: {TARGET_PER_SECOND} cold a second a core",
        "PASSED" if passed else "FAILED",
    ]
    report.publish("cold-tls", figures, shown, chosen)
    return 0 if passed else 1


if __name__ == "__main__":
    command_line.run(main)
