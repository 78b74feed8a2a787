"""What a worker asks of the start guard."""

from __future__ import annotations

from typing import Any, cast

from shared.redis_client import INCARNATION_KEY, client, lua
from wire import start_guard

FAR = 2**45


def ask(
    tokens: list[int],
    *,
    incarnation: str | None = None,
    worker: str = "w1",
    start_by: int = FAR,
    nonce: str = "n",
) -> list[int]:
    arguments: list[Any] = [incarnation or start_guard.current_incarnation(), worker]
    for token in tokens:
        arguments += [token, start_by, nonce]
    return cast(list[int], client().eval(lua("start"), 1, INCARNATION_KEY, *arguments))
