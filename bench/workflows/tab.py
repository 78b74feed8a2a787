"""A tab of a browser that shows a page of the console, and keeps it up to date as its script does.

It hears of changes by the live socket, asks for the page again with the versions of the parts that
it has, and rests for a multiple of what the answer took. The constants are those of
``static/js/live.js``.
"""

from __future__ import annotations

import asyncio
import gzip
import http.client
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bench.installation import InstallationError
from bench.listener import Listener

LEAST_GAP, REST, LONGEST_REST, UNTOLD = 1.0, 5.0, 10.0, 15.0
TOPICS = ("executions", "tasks")
_PATIENCE_SECONDS = 60.0
_PART = re.compile(r'id="([a-z-]+)" class="part" data-version="([0-9a-f]+)"')


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: how long it took, its bytes as they came and as they are read."""

    status: int
    seconds: float
    sent_bytes: int
    text: str

    @property
    def bytes(self) -> int:
        """Return the bytes of the page."""
        return len(self.text.encode())


@dataclass(slots=True)
class Asker:
    """Asks as a signed-in browser, of the API as a program, each time by a new connection."""

    base_url: str
    session: str = field(repr=False)
    api_key: str = field(repr=False)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Return the answer; InstallationError for anything but 200."""
        place = urlsplit(self.base_url)
        connection = http.client.HTTPConnection(
            place.hostname or "", place.port, timeout=_PATIENCE_SECONDS
        )
        given = {"Accept": "text/html", "Cookie": f"sessionid={self.session}"}
        if path.startswith("/v1/"):
            given = {"Authorization": f"Bearer {self.api_key}"}
        begun = time.perf_counter()
        try:
            asked = {**given, "Accept-Encoding": "gzip", **(headers or {})}
            connection.request("GET", path, headers=asked)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        seconds = time.perf_counter() - begun
        if answer.status != 200:
            raise InstallationError(f"{path} answered {answer.status}: {body[:300]!r}")
        zipped = answer.getheader("Content-Encoding") == "gzip"
        text = (gzip.decompress(body) if zipped else body).decode()
        return Answer(answer.status, seconds, len(body), text)


class Tab:
    """A page that is open."""

    def __init__(self, asker: Asker, listener: Listener, path: str) -> None:
        self._asker, self._listener, self.path = asker, listener, path
        self._versions: dict[str, str] = {}
        #: The first answer, and those of the live changes.
        self.answers: list[Answer] = []
        #: Set by the first answer.
        self.is_open = asyncio.Event()

    async def stay(self) -> None:
        """Open the page and keep it up to date until cancelled."""
        await self._ask({})
        while True:
            asked_ns = time.time_ns()
            await asyncio.sleep(gap(self.answers[-1].seconds))
            await self._listener.wait_for(lambda one: one.topic in TOPICS, asked_ns, UNTOLD)
            await self._ask(again(self._versions))

    async def _ask(self, headers: Mapping[str, str]) -> None:
        answer = await asyncio.to_thread(self._asker.get, self.path, headers)
        self.answers.append(answer)
        self.is_open.set()
        self._versions |= versions(answer.text)


def gap(took: float) -> float:
    """Return the seconds that a page rests after an answer that took so long."""
    return max(LEAST_GAP, min(LONGEST_REST, REST * took))


def versions(text: str) -> dict[str, str]:
    """Return the version of each part that an answer has with its content."""
    return dict(_PART.findall(text))


def again(known: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with which a page that is open asks again."""
    have = " ".join(f"{name}={version}" for name, version in known.items())
    return {"X-Live": "1", "X-Live-Have": have}
