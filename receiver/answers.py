"""The answers of the built-in test receiver, by path.

The receiver calls this once per request. Pure apart from the call counts of ``/flaky``; the paths
that make calls themselves (``/chaos``, ``/long-job``) are modules of their own.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from receiver.messages import (
    Answer,
    BadQuery,
    Request,
    answer_json,
    whole_number,
)
from receiver.signature import SignatureCheck, verify
from receiver.streams import gzip_bomb, huge

#: Longest wait that a path can be asked for; as long as the longest timeout of a webhook.
MAX_WAIT_MS = 3_600_000
#: Webhook ids whose calls ``/flaky`` counts; the oldest is forgotten first.
MAX_COUNTED_IDS = 100_000
MAX_DRIP_BYTES = 100_000

HELP = """Test receiver of Punctual. Every method works on every path.

/ok                       200
/slow?ms=500              200 after this many milliseconds
/flaky?fail=3&status=500  fails this often per webhook-id, then 200
/500, /status/NNN         that status
/429?after=1              429 with Retry-After
/timeout                  never answers
/drip?ms=500&bytes=30     200, then one byte at a time
/huge?bytes=100000000     200 with this many bytes (&framing=length, chunked or close)
/gzip-bomb?bytes=1000000000   200 with a small gzip body that unpacks to this many bytes
/redirect?to=URL          302 to it (&status= for another)
/echo                     the request as JSON, its secrets hidden
/verify?secret=whsec_...  200 when the signature is right, else 401 with the reason
GET /healthz

Below the address of a tenant (GET /v1/receiver of the API, manage.py receiver show) the same
paths answer, the tenant's key can read the requests, and more paths work:

/long-job?seconds=10&progress=5   202, then heartbeats and the end through the callback
                          (&end=complete, fail or silence)
/chaos?to=URL             forwards to a receiver of yours and makes trouble on the way:
  &duplicate=0.3            this share is sent twice at the same time
  &reorder=5                up to this many later requests overtake one (&hold_ms=1000 at most)
  &drop_answers=0.1         this share gets no answer although it was processed
  &seed=7                   the same trouble every time
"""

OK = answer_json(200, {"ok": True})


@dataclass(slots=True)
class Answers:
    """The paths of the receiver."""

    #: Checks ``/verify`` where the query names no secret.
    check: SignatureCheck | None = None
    _failed: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def answer(self, request: Request) -> Answer:
        """Return what this request gets: 404 for an unknown path, 400 for a useless query."""
        path = request.path
        if path == "/ok":
            return OK
        try:
            if path.startswith("/status/"):
                return _status(path.removeprefix("/status/"))
            if path == "/flaky":
                return self._flaky(request)
            if path == "/verify":
                return verify(request, self.check)
            answer = _PATHS.get(path)
            return answer(request) if answer else answer_json(404, {"error": "unknown path"})
        except ValueError as error:
            return answer_json(400, {"error": str(error)})

    def _flaky(self, request: Request) -> Answer:
        query = request.query
        fail = whole_number(query, "fail", 1, (0, 1000))
        status = whole_number(query, "status", 500, (400, 599))
        key = request.header("webhook-id") or request.target
        done = self._failed.pop(key, 0)
        self._failed[key] = done + 1
        if len(self._failed) > MAX_COUNTED_IDS:
            self._failed.popitem(last=False)
        if done >= fail:
            return OK
        return answer_json(status, {"error": f"failure {done + 1} of {fail}"})


def _status(text: str) -> Answer:
    status = whole_number({"status": text}, "status", 0, (200, 599))
    return answer_json(status, {"status": status})


def _slow(request: Request) -> Answer:
    wait = whole_number(request.query, "ms", 1000, (0, MAX_WAIT_MS))
    return Answer(200, OK.body, delay_ms=wait)


def _too_many(request: Request) -> Answer:
    after = whole_number(request.query, "after", 1, (0, 86_400))
    body = json.dumps({"error": "too many requests"}).encode()
    return Answer(429, body, headers=(("Retry-After", str(after)),))


def _drip(request: Request) -> Answer:
    query = request.query
    count = whole_number(query, "bytes", 30, (1, MAX_DRIP_BYTES))
    pause = whole_number(query, "ms", 500, (1, MAX_WAIT_MS))
    return Answer(200, b"." * count, content_type="text/plain", drip_ms=pause)


def _redirect(request: Request) -> Answer:
    query = request.query
    location = query.get("to", "/ok")
    if location.startswith("/") and not location.startswith("//"):
        location = request.base + location
    status = whole_number(query, "status", 302, (300, 399))
    if not location.isascii() or not location.isprintable():
        raise BadQuery("to must be a URL of visible ASCII characters")
    return Answer(status, headers=(("Location", location),))


def _echo(request: Request) -> Answer:
    return answer_json(
        200,
        {
            "method": request.method,
            # The attempt keeps the answer, and everyone who may read the attempt sees it.
            "target": request.shown_target,
            "headers": request.shown_headers,
            "body": request.body.decode("utf-8", "replace"),
        },
    )


_PATHS: dict[str, Callable[[Request], Answer]] = {
    "/": lambda _: Answer(200, HELP.encode(), content_type="text/plain; charset=utf-8"),
    "/slow": _slow,
    "/500": lambda _: answer_json(500, {"error": "asked for"}),
    "/429": _too_many,
    "/timeout": lambda _: Answer(None),
    "/drip": _drip,
    "/huge": huge,
    "/gzip-bomb": gzip_bomb,
    "/redirect": _redirect,
    "/echo": _echo,
}
