"""The product's Lua scripts on a clock that the test moves.

A few lines before the script answer its ``TIME``; everything else is the script as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import redis

from shared.redis_client import INCARNATION_KEY, client, lua
from wire import start_guard
from wire.destination_key import key_of
from worker.entries import Question, ask_arguments
from worker.runner import Verdict

_CLOCK = """
local real = redis
local redis = {{ call = function(name, ...)
  if name == 'TIME' then return {{ '{seconds}', '{microseconds}' }} end
  return real.call(name, ...)
end }}
"""
FAR = 2**45
HOST = key_of("01890000-0000-7000-8000-000000000001", "api.example.com")


@dataclass
class Moved:
    """Redis at a moment of the test, in milliseconds from its beginning."""

    at: int = 0
    connection: redis.Redis | None = None

    @property
    def now(self) -> int:
        """The moment as the scripts see it."""
        return 1_800_000_000_000 + self.at

    def run(self, name: str, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """Run a script at the moment."""
        clock = _CLOCK.format(seconds=self.now // 1000, microseconds=self.now % 1000 * 1000)
        connection = self.connection or client()
        return connection.eval(clock + lua(name), len(keys), *keys, *arguments)

    def ask(
        self,
        *tokens: int,
        limits: str = "",
        destination: str = HOST,
        worker: str = "w1",
        runtime_ms: int = 30_000,
        start_by: int = FAR,
    ) -> list[Any]:
        """Ask the start guard as a worker does."""
        questions = [
            Question(token, start_by, 1, destination, limits, runtime_ms) for token in tokens
        ]
        names, arguments = ask_arguments(start_guard.current_incarnation(), worker, questions)
        return cast(list[Verdict], self.run("start", [INCARNATION_KEY, *names], arguments))

    def report(
        self,
        calls: int = 0,
        failures: int = 0,
        *,
        destination: str = HOST,
        probe: int | str = "",
        verdict: str = "",
        breaker: bool = True,
        waited: bool = False,
        left: Sequence[int] = (),
    ) -> list[str]:
        """Report as a worker does; return whose circuit opened and, behind '', closed."""
        arguments = [destination, int(breaker), calls, failures, probe, verdict]
        arguments += ["1" if waited else "", len(left), *left]
        return [name.decode() for name in self.run("report", [], arguments)]
