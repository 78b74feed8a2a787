"""What an execution costs a worker: processor time of its own code, with nothing else running.

From the bytes of the broker's messages to the bytes of the outcomes, by the product's own Runner,
Ahead, Kinds, Deliverer and Outbox, over a receiver on loopback in a process of its own. Redis is a
stub that accepts. Each execution has a definition of its own, as one-time tasks do. Processor time
only: other work on the machine moves it less than it moves wall time. The best round counts.
Run: ``python -m bench.worker_cpu`` (``--other ../before``: another checkout, in turns).
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import uvloop

from bench import command_line, report
from bench.installation import CHECKOUT, InstallationError

_TENANT = UUID(int=1)
_PAYLOAD = {"order": 4711, "lines": ["one", "two"], "total": 18.5}
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
_PATIENCE_SECONDS = 120.0
#: Messages of a hundred before the measured ones; how many executions wait in the worker.
_WARM_MESSAGES, _HELD = 20, 4000
_LOOK_SECONDS = 0.002
_LENGTH = b"content-length: "


class _Receiver(asyncio.Protocol):
    """Answers each whole request; ``bench.listener`` judges them, this one only ends them."""

    def __init__(self) -> None:
        self._seen = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._seen += data
        head, end, body = self._seen.partition(b"\r\n\r\n")
        place = head.lower().find(_LENGTH)
        length = int(head[place + len(_LENGTH) :].split(b"\r\n", 1)[0]) if place > 0 else 0
        if end and len(body) >= length:
            self._seen = b""
            self._transport.write(_ANSWER)


class _Accepting:
    """Takes the place of Redis: accepts everything, answers with nothing."""

    def __init__(self) -> None:
        self.entries = 0
        self.bytes = 0

    async def xadd(self, _name: str, fields: dict[str, bytes]) -> None:
        self.entries += 1
        self.bytes += len(fields["d"])

    async def eval(self, *_arguments: object) -> None:
        pass

    async def time(self) -> tuple[int, int]:
        return divmod(time.time_ns() // 1000, 1_000_000)


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.worker_cpu", description=__doc__)
    parser.add_argument("--count", type=command_line.above_zero, default=10_000)
    parser.add_argument("--rounds", type=command_line.above_zero, default=7)
    parser.add_argument("--ahead", type=float, default=0.0, help="seconds before the due time")
    parser.add_argument("--other", type=Path, help="another checkout, measured in turns")
    parser.add_argument("--receiver", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one", metavar="PORT", type=int, help=argparse.SUPPRESS)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def claimed(count: int, port: int, due: datetime) -> list[Any]:
    """Return rows as the claim answers them."""
    import orjson

    from shared.encryption import seal_json
    from shared.sealing_contexts import revision_context
    from tasks.definition import RETRY_DEFAULTS, target_defaults
    from wire.messages import Claimed

    target = target_defaults("webhook")
    secret = ("url", "headers", "auth", "tls", "proxy")
    shown = orjson.dumps({key: value for key, value in target.items() if key not in secret})
    policy = orjson.dumps(RETRY_DEFAULTS)
    rows = []
    for number in range(count):
        task = uuid4()
        sealed = seal_json(
            {"headers": {"X-Kind": "bench"}, "payload": {**_PAYLOAD, "number": number}},
            revision_context(_TENANT, task, 1),
        )
        rows.append(
            Claimed(
                id=uuid4(),
                tenant_id=_TENANT,
                task_id=task,
                revision=1,
                scheduled_for=due,
                due_at=due,
                attempt=0,
                max_attempts=5,
                token=number + 1,
                lease_expires_at=due + timedelta(seconds=300),
                priority=5,
                sealed_payload=None,
                target=cast(Any, shown.decode()),
                retry_policy=cast(Any, policy.decode()),
                sealed=sealed,
                destination="127.0.0.1",
                lost_count=0,
                sealed_progress=None,
                named=None,
                url=f"http://127.0.0.1:{port}/hook/{number}",
            )
        )
    return rows


def make_key() -> str:
    """Return a data key of the tenant as its messages have it."""
    from shared.key_service import key_service

    key_id = uuid4()
    wrapped = key_service().wrap(os.urandom(32), str(_TENANT), key_id)
    return base64.b64encode(key_id.bytes + wrapped).decode()


def wire(rows: Sequence[Any], key: str) -> list[bytes]:
    """Return the rows as the broker keeps them: Celery's messages, inside kombu's envelopes."""
    from kombu.utils.json import dumps

    from executions.broker import DELIVER
    from scheduler_site.celery import app
    from shared.encryption import seal
    from wire import messages

    known = messages.OF_TENANTS._replace(keys={_TENANT: [key]})
    secret = seal(b"whsec_" + b"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b"signing-secret:%s" % _text())
    found: list[bytes] = []
    with app.connection("memory://") as connection:
        channel = connection.channel()
        channel.body_encoding = app.conf.broker_transport_options["body_encoding"]
        channel._put = lambda _queue, message, **_options: found.append(dumps(message).encode())
        producer = app.amqp.Producer(channel, auto_declare=False)
        for part, size in messages.split(rows):
            content = messages.encode(part, size, "run:1", {_TENANT: [secret]}, 0.0, known)
            message = app.amqp.as_task_v2(
                str(uuid4()), DELIVER, args=[content], argsrepr="", kwargsrepr=""
            )
            channel._lookup = lambda *_places: ["default"]
            producer.publish(
                message.body,
                serializer=app.conf.task_serializer,
                routing_key="default",
                headers=message.headers,
                **message.properties,
            )
    return found


def _text() -> bytes:
    return str(_TENANT).encode()


def arrived(channel: Any, message: bytes) -> Any:
    """Return the batch of a message, read as Celery's worker reads it."""
    from kombu.utils.encoding import bytes_to_str
    from kombu.utils.json import loads

    from wire import messages

    read = channel.Message(loads(bytes_to_str(message)), channel, accept={"application/x-orjson"})
    (batch,), _, _ = read.decode()
    return messages.decode(batch)


async def _work(
    sent: Sequence[bytes], count: int, take_keys: Callable[[Any], None]
) -> tuple[float, float]:
    """Run everything; return processor seconds of ``count``, and bytes of outcomes for each."""
    from scheduler_site.celery import app
    from wire import start_guard
    from worker.ahead import Ahead
    from worker.clock import WorkerClock
    from worker.entries import ask_arguments
    from worker.kinds import Kinds
    from worker.outbox import Outbox
    from worker.reports import Reports
    from worker.runner import Runner

    channel = app.connection("memory://").channel()
    redis = cast(Any, _Accepting())
    clock = WorkerClock()
    await clock.calibrate(redis)
    outbox, reports = Outbox(redis), Reports(redis)
    kinds = Kinds(outbox.put, clock.now)
    ahead = Ahead(kinds.prepare, clock.now)

    async def ask(incarnation: str, asked: Sequence[Any]) -> list[int]:
        ask_arguments(incarnation, "bench@here", asked)
        return [start_guard.GO] * len(asked)

    runner = Runner("bench@here:1-abcdef", clock, outbox, kinds.deliver, ask, reports)
    jobs = [asyncio.create_task(outbox.run()), asyncio.create_task(reports.run())]

    async def feed(part: Sequence[bytes]) -> None:
        until = kinds.ended.total
        for message in part:
            batch = arrived(channel, message)
            take_keys(batch)
            runner.accept(batch, batch["bytes"])
            ahead.take(batch)
            until += len(batch["executions"])
            # Celery's thread and the loop's take turns; and it is not sent more than it holds.
            await _until(lambda: runner.held_count < _HELD)
        await _until(lambda: kinds.ended.total >= until)
        await outbox.flushed()

    await feed(sent[:_WARM_MESSAGES])
    began, before = time.process_time(), redis.bytes
    await feed(sent[_WARM_MESSAGES:])
    used = time.process_time() - began
    for job in jobs:
        job.cancel()
    await kinds.close()
    return used, (redis.bytes - before) / count


async def _until(check: Callable[[], bool]) -> None:
    """Wait, by way of the loop at least once, until something holds."""
    end = time.monotonic() + _PATIENCE_SECONDS
    await asyncio.sleep(0)
    while not check():
        if time.monotonic() > end:
            raise InstallationError("the worker does not come to its end")
        await asyncio.sleep(_LOOK_SECONDS)


def _prepared() -> None:
    """Set Django up, with calls to this machine allowed."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "scheduler_site.settings_test"
    import django

    django.setup()
    from shared.garbage import collect_seldom

    collect_seldom()
    from dataclasses import replace

    from django.conf import settings

    settings.PUNCTUAL = replace(
        settings.PUNCTUAL, webhook_allowed_networks=("127.0.0.0/8",), webhook_allowed_ports=()
    )


def run_one(port: int, count: int, ahead: float) -> dict[str, float]:
    """Run one round in this process; return microseconds and bytes for each execution."""
    _prepared()
    from worker.data_keys import take_keys_from_messages

    take_keys, key = take_keys_from_messages(), make_key()
    take_keys({"offset": 0.0, "secrets": {}, "keys": {str(_TENANT): [key]}})
    due = datetime.now(UTC) + timedelta(seconds=ahead)
    sent = wire(claimed(_WARM_MESSAGES * 100 + count, port, due), key)
    used, outcomes = uvloop.run(_work(sent, count, take_keys))
    return {
        "microseconds": used / count * 1e6,
        "message_bytes": sum(map(len, sent[_WARM_MESSAGES:])) / count,
        "outcome_bytes": outcomes,
    }


def _round(checkout: Path, port: int, chosen: argparse.Namespace) -> dict[str, float]:
    command = [str(checkout / ".venv" / "bin" / "python"), "-m", "bench.worker_cpu"]
    command += ["--one", str(port), "--count", str(chosen.count), "--ahead", str(chosen.ahead)]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InstallationError(f"a round in {checkout.name}: {done.stderr.strip()[-500:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


async def _receive() -> None:
    server = await asyncio.get_running_loop().create_server(_Receiver, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main(arguments: list[str]) -> int:
    """Run the rounds and publish; InstallationError when one could not come to its end."""
    chosen = options(arguments)
    if chosen.receiver:
        uvloop.run(_receive())
    if chosen.one:
        print(json.dumps(run_one(chosen.one, chosen.count, chosen.ahead)))
        return 0
    places = {"here": CHECKOUT, **({"other": chosen.other.resolve()} if chosen.other else {})}
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in places}
    command = [sys.executable, "-m", "bench.worker_cpu", "--receiver"]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as receiver:
        try:
            port = int((receiver.stdout and receiver.stdout.readline()) or 0)
            for turn in range(chosen.rounds):
                for name in sorted(places, reverse=turn % 2 == 0):
                    rounds[name].append(_round(places[name], port, chosen))
        finally:
            receiver.terminate()
    report.publish(
        "worker-cpu", {"count": chosen.count, "rounds": rounds}, lines_of(rounds), chosen
    )
    return 0


def lines_of(rounds: dict[str, list[dict[str, float]]]) -> list[str]:
    """Return the best and the middle round of each checkout for people."""
    found = []
    for name, told in sorted(rounds.items()):
        each = [one["microseconds"] for one in told]
        found.append(
            f"{name:<6} best {min(each):6.1f} µs, median {statistics.median(each):6.1f} µs; "
            f"message {told[0]['message_bytes']:.0f} B, outcome {told[0]['outcome_bytes']:.0f} B"
        )
    return found


if __name__ == "__main__":
    command_line.run(main)
