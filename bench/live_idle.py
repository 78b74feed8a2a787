"""A console that lies idle: its socket stays open, and then still hears of news within 2 s.

The listener sends nothing at all meanwhile. With ``--freeze`` Valkey then hangs for a while:
the console has to come back by itself and hear of news again. Run:
``python -m bench.live_idle --start --minutes 10 --freeze``.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import time
from typing import Any

from bench import command_line, installation, report
from bench.alert_outages import frozen
from bench.listener import Listener, listening
from bench.members import enter, make_member
from operations.proof.client import ApiClient
from operations.proof.percentiles import distribution

NEWS_MS = 2000.0
#: How long after the freeze a console may need to be live again: its longest wait and a bit.
RECOVERY_SECONDS = 30.0
_FREEZE_SECONDS = 30.0
_PAUSE_SECONDS = 2.0
_PATIENCE_SECONDS = 20.0


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--news", type=int, default=10, help="changes after the idle time")
    parser.add_argument(
        "--freeze",
        type=float,
        nargs="?",
        const=_FREEZE_SECONDS,
        default=0.0,
        help=f"seconds that Valkey hangs ({_FREEZE_SECONDS:g} when the number is left out)",
    )
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


class Console:
    """A listening member who also makes news by the API."""

    def __init__(self, listener: Listener, client: ApiClient) -> None:
        self.listener = listener
        self._client = client

    async def news_ms(self, patience: float = _PATIENCE_SECONDS) -> float | None:
        """Create a task; return how long after that the socket spoke of tasks, None if never."""
        begun = time.time_ns()
        await self._create()
        heard = await self.listener.wait_for(lambda one: one.topic == "tasks", begun, patience)
        return None if heard is None else (heard.at_ns - begun) / 1e6

    async def _create(self) -> None:
        body = {"run_at": "2099-01-01T00:00:00Z", "payload": {"webhook_url": "https://example.com"}}
        await self._client.expect(201, "POST", "/v1/tasks", body, key=secrets.token_hex(16))

    def ends(self, since_ns: int = 0) -> list[str]:
        """Return how the connections ended since then."""
        return [how for at_ns, how in self.listener.ends if at_ns >= since_ns]


async def lie_idle(console: Console, chosen: argparse.Namespace) -> dict[str, Any]:
    """Wait, then make news; return the delays and what went wrong."""
    await asyncio.sleep(60 * chosen.minutes)
    faults = [f"the idle socket was {how}" for how in console.ends()]
    delays = []
    for number in range(chosen.news):
        # Looks for news come every second: even pauses would hit always the same moment.
        await asyncio.sleep(_PAUSE_SECONDS + number * 0.37 % 1)
        found = await console.news_ms()
        if found is None:
            faults.append(f"no news within {_PATIENCE_SECONDS:g} s")
        else:
            delays.append(found)
    late = [value for value in delays if value >= NEWS_MS]
    faults += [f"news after {value:.0f} ms, not under {NEWS_MS:g} ms" for value in late]
    return {"delays": distribution(delays), "faults": faults}


async def freeze(
    console: Console, product: installation.Installation, seconds: float
) -> dict[str, Any]:
    """Let Valkey hang; return how long after it the console was live again."""
    pids = await asyncio.to_thread(product.pids, "valkey")
    begun_ns = time.time_ns()
    with frozen(pids):
        await asyncio.sleep(seconds)
    thawed_ns = time.time_ns()
    deadline = time.monotonic() + RECOVERY_SECONDS
    recovered, faults = None, []
    while recovered is None and time.monotonic() < deadline:
        if await console.news_ms(NEWS_MS / 1000) is not None:
            recovered = (time.time_ns() - thawed_ns) / 1e9
    if recovered is None:
        faults.append(f"no news within {RECOVERY_SECONDS:g} s after Valkey went on")
    else:
        await asyncio.sleep(_PAUSE_SECONDS)
        after = await console.news_ms()
        if after is None or after >= NEWS_MS:
            faults.append(f"after the recovery news took {after} ms")
    return {
        "seconds": seconds,
        "recovered_after_seconds": None if recovered is None else round(recovered, 2),
        "ends": console.ends(begun_ns),
        "faults": faults,
    }


async def measure(
    product: installation.Installation, chosen: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Run both parts on one console."""
    member = await asyncio.to_thread(make_member)
    async with (
        listening(product.base_url, member.session) as listener,
        ApiClient(product.base_url, member.api_key) as client,
    ):
        console = Console(listener, client)
        idle = await lie_idle(console, chosen)
        frozen_part = await freeze(console, product, chosen.freeze) if chosen.freeze else None
    return idle, frozen_part


def main(arguments: list[str]) -> int:
    """Run the report; 1 when the socket ended or the news came late."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product:
        enter(product)
        idle, thawed = asyncio.run(measure(product, chosen))
    faults = idle["faults"] + (thawed["faults"] if thawed else [])
    lines = [
        f"a socket idle for {chosen.minutes:g} minutes, then {chosen.news} changes",
        f"change to message: {idle['delays']} (promise under {NEWS_MS:g} ms)",
    ]
    if thawed:
        lines.append(
            f"Valkey hung for {thawed['seconds']:g} s: live again "
            f"{thawed['recovered_after_seconds']} s after it; "
            f"connections ended: {', '.join(thawed['ends']) or 'none'}"
        )
    lines += [*faults, "FAILED" if faults else "PASSED"]
    figures = {
        "minutes": chosen.minutes,
        "news_ms": idle["delays"].as_json(),
        "freeze": thawed,
        "faults": faults,
        "passed": not faults,
    }
    report.publish("live-idle", figures, lines, chosen)
    return 1 if faults else 0


if __name__ == "__main__":
    command_line.run(main)
