"""What operators wish of workers: to take no new work for a while, or to end once they are empty.

Redis has at most one wish for each worker, under a version that rises with every change, so that
two changes of the same state cannot both succeed. A worker reads its wish with each heartbeat, and
puts it back where the server has lost it; schedulers read all of them with the heartbeats. A wish
is forgotten with its worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, cast

import orjson

from shared.redis_client import WORKER_WISHES_KEY, WORKERS_KEY, client, lua


class Word(StrEnum):
    """What a worker shall do."""

    #: Take work: also without any wish.
    WORK = "work"
    #: Take no new work, and finish what it runs.
    QUIET = "quiet"
    #: The same, and end when nothing is left.
    DRAIN = "drain"
    #: Written by the worker itself: nothing is left, and it ends. No other wish follows.
    END = "end"


class Wish(NamedTuple):
    """A wish and its version; ``asked_at`` in seconds since 1970 by Redis' clock."""

    word: Word = Word.WORK
    version: int = 0
    asked_at: float = 0.0

    @property
    def takes_work(self) -> bool:
        """Whether the worker may get new work."""
        return self.word == Word.WORK

    @property
    def ends(self) -> bool:
        """Whether the worker ends when it is empty."""
        return self.word in (Word.DRAIN, Word.END)


NO_WISH = Wish()


def encode(wish: Wish) -> bytes:
    """Return a wish as Redis has it; nothing for none."""
    return orjson.dumps(wish._asdict()) if wish.version else b""


def decode(raw: bytes | None) -> Wish:
    """Return a wish of Redis."""
    if not raw:
        return NO_WISH
    found = orjson.loads(raw)
    return Wish(Word(found["word"]), int(found["version"]), float(found["asked_at"]))


def change(word: Word, versions: Mapping[str, int]) -> str:
    """Wish something of workers, of all or none; ``versions`` has the version read of each.

    Return '' when done, else the first worker that is gone or has another version by now.
    """
    keys, arguments = change_arguments(word, versions)
    found = client().eval(change_script(), len(keys), *keys, *arguments)
    return cast(bytes, found).decode()


def change_arguments(word: Word, versions: Mapping[str, int]) -> tuple[list[str], list[str | int]]:
    """Return keys and arguments of :func:`change_script`."""
    arguments: list[str | int] = [word.value]
    for worker, version in versions.items():
        arguments += [worker, version]
    return [WORKER_WISHES_KEY, WORKERS_KEY], arguments


def change_script() -> str:
    """Return the script that changes wishes."""
    return lua("wish")


def heed_script() -> str:
    """Return the script with which a worker beats and reads its wish."""
    return lua("heed")
