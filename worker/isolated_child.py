"""The process in which one webhook runs alone: ``python -m worker.isolated_child PARENT``.

Reads the question on standard input, writes the outcome to standard output. A webhook that kills
this process takes no other run with it. Knows no database.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import django
import orjson

from wire import outcomes
from wire.messages import Lone
from worker.children import die_with_parent
from worker.data_keys import take_keys_from_messages
from worker.webhooks import webhook_delivery


def main(arguments: Sequence[str]) -> int:
    """Deliver what standard input holds and print the outcome."""
    die_with_parent(int(arguments[0]))
    django.setup()
    question: Lone = orjson.loads(sys.stdin.buffer.read())
    take_keys_from_messages()(question["batch"])
    outcome = asyncio.run(_deliver(question))
    sys.stdout.buffer.write(outcomes.encode(outcome))
    sys.stdout.flush()
    return 0


async def _deliver(question: Lone) -> outcomes.Outcome:
    client, deliverer = webhook_delivery()
    try:
        return await deliverer.deliver(question["entry"], question["batch"], question["started"])
    finally:
        await client.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
