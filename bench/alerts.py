"""From a failure to the people: a toast within 2 s, an e-mail within 5 s, a storm in two messages.

Measured from the receiver's failing answer to the message on a real WebSocket and to the last
byte at a real mail server. With ``--storm 1000`` as many failures of one cause come within a
minute: one e-mail with a count at once and, seen with ``--with-digest``, one more that tells all
of them. Run: ``python -m bench.alerts --start --storm 1000``.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from bench import command_line, installation, report
from bench.alert_books import Books, faults_of, read_books
from bench.failing import STATUSES, create, failing_task, until_failed
from bench.listener import Listener, listening
from bench.mailbox import Mailbox, mailbox
from bench.members import Member, enter, make_member
from operations.proof.campaign import Receiver
from operations.proof.client import ApiClient
from operations.proof.ledger import read_arrivals
from operations.proof.percentiles import Distribution, distribution

TOAST_MS, MAIL_MS = 2000.0, 5000.0
#: A member gets this many single messages in five minutes.
_PER_MEMBER = 10
_LEAD_MS = 5000
_STORM_SECONDS = 50.0
_STORM_STATUS = 503
_DIGEST_SECONDS = 300.0
#: How long after the last failure a message may still come to be seen as late, not as lost.
_PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Stage:
    """What the two parts of the report share."""

    product: installation.Installation
    target: Receiver
    mails: Mailbox


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failures", type=int, default=30, help="each of another cause")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two failures")
    parser.add_argument("--storm", type=int, default=0, help="failures of one cause in a minute")
    parser.add_argument(
        "--with-digest", action="store_true", help="wait the five minutes for the digest"
    )
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


async def measure_delays(stage: Stage, chosen: argparse.Namespace) -> dict[str, Any]:
    """Let failures of different causes come one by one; return the delays and what went wrong."""
    count = chosen.failures
    groups = [
        range(first, min(first + _PER_MEMBER, count)) for first in range(0, count, _PER_MEMBER)
    ]
    begin_ms = time.time_ns() // 1_000_000 + _LEAD_MS + 1000 * len(groups)
    delays = _Delays()
    async with AsyncExitStack() as stack:
        members = []
        for numbers in groups:
            member = await asyncio.to_thread(make_member)
            listener = await stack.enter_async_context(
                listening(stage.product.base_url, member.session)
            )
            tasks = [
                failing_task(
                    f"{stage.target.url}/status/{STATUSES[number % _PER_MEMBER]}",
                    begin_ms + round(number * chosen.every * 1000),
                    number,
                )
                for number in numbers
            ]
            async with ApiClient(stage.product.base_url, member.api_key) as client:
                await create(client, tasks)
            members.append((member, listener, len(tasks)))
        await asyncio.sleep(max(0.0, begin_ms / 1000 + count * chosen.every - time.time()))
        for member, listener, expected in members:
            await _settle(stage, member, expected)
            await delays.add(stage, member, listener, expected)
    return delays.result()


async def _settle(stage: Stage, member: Member, expected: int) -> None:
    """Wait until the member has a message of each failure, or patience ends."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        if len(stage.mails.to(member.address)) >= expected or time.monotonic() > deadline:
            return
        await asyncio.sleep(0.2)


class _Delays:
    """Collects how long after each failure its toast and its e-mail came."""

    def __init__(self) -> None:
        self._toasts: list[float] = []
        self._mails: list[float] = []
        self._faults: list[str] = []

    async def add(self, stage: Stage, member: Member, listener: Listener, expected: int) -> None:
        books = await asyncio.to_thread(read_books, member.tenant_id)
        mails = stage.mails.to(member.address)
        self._faults += faults_of(books, mails, expected, all_told=True)
        failed_ns = _failures(stage, books)
        toasted = {str(one.message["id"]): one.at_ns for one in _toasts(listener)}
        taken = {mail.message_id: mail.taken_ns for mail in mails}
        for alert in books.alerts:
            if alert.id not in toasted:
                self._faults.append(f"no toast of alert {alert.id}")
            else:
                self._toasts.append((toasted[alert.id] - failed_ns[alert.task_id]) / 1e6)
            self._mails += [
                (taken[message.message_id] - failed_ns[alert.task_id]) / 1e6
                for message in books.messages
                if message.alert_id == alert.id and message.message_id in taken
            ]

    def result(self) -> dict[str, Any]:
        toasts, mails = distribution(self._toasts), distribution(self._mails)
        late = [
            f"{name} after {found.max:.0f} ms, not under {limit:g} ms"
            for name, found, limit in (("toast", toasts, TOAST_MS), ("e-mail", mails, MAIL_MS))
            if found.max >= limit
        ]
        return {"toast": toasts, "mail": mails, "faults": self._faults + late}


def _failures(stage: Stage, books: Books) -> dict[str, int]:
    """Return when the failing answer of each task was given."""
    arrivals, _ = read_arrivals(stage.target.ledger)
    wanted = {alert.task_id for alert in books.alerts}
    return {one.task_id: one.answered_ns for one in arrivals if one.task_id in wanted}


def _toasts(listener: Listener) -> list[Any]:
    return [one for one in listener.heard if one.topic == "alert"]


async def measure_storm(stage: Stage, count: int, *, with_digest: bool) -> dict[str, Any]:
    """Let many failures of one cause come within a minute; return who was told how often."""
    member = await asyncio.to_thread(make_member)
    url = f"{stage.target.url}/status/{_STORM_STATUS}"
    async with (
        listening(stage.product.base_url, member.session) as listener,
        ApiClient(stage.product.base_url, member.api_key) as client,
    ):
        # Creating them takes a while; all of them have to be there when the first is due.
        begin_ms = time.time_ns() // 1_000_000 + _LEAD_MS + 20 * count
        step_ms = _STORM_SECONDS * 1000 / count
        tasks = [
            failing_task(url, begin_ms + round(number * step_ms), number) for number in range(count)
        ]
        await create(client, tasks)
        slack = begin_ms / 1000 - time.time()
        await asyncio.sleep(max(0.0, slack + _STORM_SECONDS))
        failed = await until_failed(member.tenant_id, count, _PATIENCE_SECONDS)
        await asyncio.sleep(5.0)
        early = stage.mails.to(member.address)
        if with_digest and early:
            ends = early[0].taken_ns / 1e9 + _DIGEST_SECONDS + _PATIENCE_SECONDS / 2
            await asyncio.sleep(max(0.0, ends - time.time()))
        toasts = len(_toasts(listener))
    books = await asyncio.to_thread(read_books, member.tenant_id)
    mails = stage.mails.to(member.address)
    faults = faults_of(books, mails, count, all_told=with_digest)
    faults += _storm_faults(books, [mail.count for mail in mails], count, with_digest=with_digest)
    if slack < 0:
        faults.append(f"creation ended {-slack:.1f} s after the storm began: not a storm")
    return {
        "failures": failed,
        "counted": sum(alert.count for alert in books.alerts),
        "mails": [mail.subject for mail in mails],
        "counts_told": [mail.count for mail in mails],
        "seconds_to_digest": [round((m.taken_ns - mails[0].taken_ns) / 1e9, 1) for m in mails[1:]],
        "toasts": toasts,
        "faults": faults,
    }


def _storm_faults(books: Books, told: list[int], count: int, *, with_digest: bool) -> list[str]:
    faults = []
    if len(books.alerts) != 1:
        faults.append(f"one cause made {len(books.alerts)} alerts")
    wanted = 2 if with_digest else 1
    if len(told) != wanted:
        faults.append(f"{len(told)} e-mails instead of {wanted}")
    if told and told[0] < 2 <= count:
        faults.append("the first e-mail told of one failure only")
    if with_digest and told and told[-1] != count:
        faults.append(f"the digest told of {told[-1]} failures")
    return faults


def conclude(found: dict[str, Any], storm: dict[str, Any] | None, chosen: Any) -> int:
    """Publish; 1 when a promise was broken."""
    toasts: Distribution = found["toast"]
    mails: Distribution = found["mail"]
    faults = found["faults"] + (storm["faults"] if storm else [])
    lines = [
        f"{chosen.failures} failures of different causes, {chosen.every:g} s apart",
        f"failure to toast:  {toasts} (promise under {TOAST_MS:g} ms)",
        f"failure to e-mail: {mails} (promise under {MAIL_MS:g} ms)",
    ]
    if storm:
        lines += [
            f"storm: {storm['failures']} failures of one cause in {_STORM_SECONDS:g} s, "
            f"counted {storm['counted']}, toasts {storm['toasts']}, "
            f"e-mails {len(storm['mails'])} telling of {storm['counts_told']}",
            *(f"  {subject}" for subject in storm["mails"]),
        ]
        if storm["seconds_to_digest"]:
            lines.append(f"  digest after {storm['seconds_to_digest']} s")
    lines += [*faults, "FAILED" if faults else "PASSED"]
    figures = {
        "failures": chosen.failures,
        "toast_ms": toasts.as_json(),
        "mail_ms": mails.as_json(),
        "storm": storm,
        "faults": faults,
        "passed": not faults,
    }
    report.publish("alerts", figures, lines, chosen)
    return 1 if faults else 0


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with (
        mailbox() as mails,
        installation.opened(chosen, EMAIL_URL=mails.url) as product,
        installation.receiver() as target,
    ):
        enter(product)
        stage = Stage(product, target, mails)
        found = asyncio.run(measure_delays(stage, chosen))
        storm = None
        if chosen.storm:
            work = measure_storm(stage, chosen.storm, with_digest=chosen.with_digest)
            storm = asyncio.run(work)
        return conclude(found, storm, chosen)


if __name__ == "__main__":
    command_line.run(main)
