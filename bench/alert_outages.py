"""A part is away for a minute while executions fail: every failure is counted and told once.

``--down recorder``, ``system-worker`` and ``redis`` stop the processes by SIGSTOP, which the
supervisor does not see; ``redis --kill`` ends Valkey again and again instead; ``mail`` lets the
mail server refuse connections. Executions that cannot run meanwhile run afterwards. Run:
``python -m bench.alert_outages --start --down recorder``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from bench import command_line, installation, report
from bench.alert_books import Books, faults_of, read_books
from bench.failing import STATUSES, create, failing_task
from bench.mailbox import Mail, Mailbox, mailbox
from bench.members import enter, make_member
from bench.processes import descendants
from operations.proof.campaign import Receiver
from operations.proof.client import ApiClient

DOWN = ("recorder", "system-worker", "redis", "mail")
_KINDS = {"recorder": "recorder", "system-worker": "system-worker", "redis": "valkey"}
#: One cause after the other: those of the outage have not been told before it. A member gets ten
#: single messages in five minutes.
_CAUSES = 9
_LEAD_MS = 8000
#: Load before and after the outage.
_AROUND_SECONDS = 10.0
#: A sender that missed its wake-up is woken again after 30 s, a sender that died after 120 s.
_QUIET_SECONDS = 240.0
_DIGEST_SECONDS = 315.0


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--down", choices=DOWN, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=5, help="failures a second")
    parser.add_argument("--kill", action="store_true", help="kill Redis instead of freezing it")
    parser.add_argument("--settle", type=float, default=35, help="seconds to wait for doubles")
    parser.add_argument(
        "--with-digest", action="store_true", help="wait for the digests, that tell the rest"
    )
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


@contextmanager
def frozen(pids: list[int]) -> Iterator[None]:
    """Stop processes with their children for a block; they go on afterwards in any case."""
    stopped: list[int] = []
    try:
        for pid in [one for parent in pids for one in descendants(parent)]:
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
        yield
    finally:
        for pid in reversed(stopped):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


async def be_away(
    product: installation.Installation,
    pids: list[int],
    mails: Mailbox,
    chosen: argparse.Namespace,
) -> int:
    """Let the part be away for the time; return how many processes were stopped or ended."""
    if chosen.down == "mail":
        await asyncio.to_thread(mails.close)
        await asyncio.sleep(chosen.seconds)
        await asyncio.to_thread(mails.open)
        return 0
    if chosen.kill:
        return await _kill_for(product, _KINDS[chosen.down], chosen.seconds)
    with frozen(pids):
        await asyncio.sleep(chosen.seconds)
    return len(pids)


async def _kill_for(product: installation.Installation, kind: str, seconds: float) -> int:
    """Kill what the supervisor starts again, as soon as it is seen."""
    deadline = time.monotonic() + seconds
    killed: set[int] = set()
    while time.monotonic() < deadline:
        found = await asyncio.to_thread(product.processes)
        for pid in {pid for named, pid in found if named == kind} - killed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        await asyncio.sleep(0.2)
    return len(killed)


async def until_settled(tenant_id: Any, expected: int, seconds: float) -> Books:
    """Wait until every failure is there, counted, and no message is on its way."""
    deadline = time.monotonic() + seconds
    while True:
        books = await asyncio.to_thread(read_books, tenant_id)
        complete = sum(books.letters.values()) >= expected and books.settled
        if complete or time.monotonic() > deadline:
            return books
        await asyncio.sleep(1.0)


async def measure(
    product: installation.Installation,
    target: Receiver,
    mails: Mailbox,
    chosen: argparse.Namespace,
) -> dict[str, Any]:
    """Let executions fail before, during and after the outage; return what came of them."""
    member = await asyncio.to_thread(make_member)
    # Asked before: the command itself takes a second or two.
    pids = [] if chosen.down == "mail" else product.pids(_KINDS[chosen.down])
    length = chosen.seconds + 2 * _AROUND_SECONDS
    count = round(length * chosen.rate)
    begin_ms = time.time_ns() // 1_000_000 + _LEAD_MS + 20 * count
    tasks = [
        failing_task(
            f"{target.url}/status/{STATUSES[number * _CAUSES // count]}",
            begin_ms + round(number * 1000 / chosen.rate),
            number,
        )
        for number in range(count)
    ]
    async with ApiClient(product.base_url, member.api_key) as client:
        await create(client, tasks)
    await asyncio.sleep(begin_ms / 1000 + _AROUND_SECONDS - time.time())
    before = await asyncio.to_thread(read_books, member.tenant_id)
    print(f"{chosen.down} goes away", flush=True)
    struck = await be_away(product, pids, mails, chosen)
    back_at = time.time()
    print(f"{chosen.down} is back", flush=True)
    during = await asyncio.to_thread(read_books, member.tenant_id)
    await asyncio.sleep(max(0.0, begin_ms / 1000 + length - time.time()))
    await until_settled(member.tenant_id, count, _QUIET_SECONDS)
    settled = time.time() - max(back_at, begin_ms / 1000 + length)
    wait = _DIGEST_SECONDS - (time.time() - back_at) if chosen.with_digest else chosen.settle
    await asyncio.sleep(max(chosen.settle, wait))
    books = await until_settled(member.tenant_id, count, _QUIET_SECONDS)
    taken = mails.to(member.address)
    return {
        "expected": count,
        "processes": struck,
        "letters_before": sum(before.letters.values()),
        "letters_during": sum(during.letters.values()) - sum(before.letters.values()),
        "settled_after_seconds": round(settled, 1),
        "letters": books.letters,
        "counted": books.counted,
        "mails": _shown(taken),
        "faults": faults_of(books, taken, count, all_told=chosen.with_digest),
    }


def _shown(mails: list[Mail]) -> list[str]:
    return [mail.subject for mail in mails]


def main(arguments: list[str]) -> int:
    """Run the report; 1 when a failure was not counted once or a message not delivered once."""
    chosen = options(arguments)
    installation.require_start(chosen)
    if chosen.kill and chosen.down != "redis":
        raise installation.InstallationError("--kill is for redis")
    with (
        mailbox() as mails,
        installation.opened(chosen, EMAIL_URL=mails.url) as product,
        installation.receiver() as target,
    ):
        enter(product)
        found = asyncio.run(measure(product, target, mails, chosen))
    faults = found["faults"]
    how = "killed" if chosen.kill else "away"
    lines = [
        f"{chosen.down} {how} for {chosen.seconds:g} s at {chosen.rate:g} failures a second",
        f"executions {found['expected']}, dead letters {sum(found['letters'].values())} "
        f"({found['letters_before']} before, {found['letters_during']} recorded meanwhile), "
        f"counted by alerts {sum(found['counted'].values())}",
        f"e-mails {len(found['mails'])}:",
        *(f"  {subject}" for subject in found["mails"]),
        f"everything counted and sent {found['settled_after_seconds']:g} s after the last was due",
        *faults,
        "FAILED" if faults else "PASSED",
    ]
    figures = {
        "down": chosen.down,
        "seconds": chosen.seconds,
        "rate": chosen.rate,
        "kill": chosen.kill,
        **found,
        "passed": not faults,
    }
    report.publish(f"alert-outage-{chosen.down}", figures, lines, chosen)
    return 1 if faults else 0


if __name__ == "__main__":
    command_line.run(main)
