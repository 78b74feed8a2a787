from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from io import BytesIO
from typing import Any, ClassVar

import orjson
import pytest
from asgiref.testing import ApplicationCommunicator
from django.core import signals
from django.db import connection
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.rate_limits import THREADS
from api.protocol.views import PunctualView
from scheduler_site.web_handler import ThreadedHandler
from tests.support.waiting import until

pytestmark = pytest.mark.urls(__name__)


class Meeting:
    """Lets a view go on once so many are in it."""

    parties = threading.Barrier(1)


def show(request: HttpRequest) -> HttpResponse:
    Meeting.parties.wait(120)
    said = {"thread": threading.current_thread().name, "body": request.body.decode()}
    return HttpResponse(orjson.dumps(said))


class Crowd:
    """The addresses of the requests in a view that holds them until they are let go."""

    inside: ClassVar[list[str]] = []
    go = threading.Event()


def hold(request: HttpRequest) -> HttpResponse:
    Crowd.inside.append(request.META["REMOTE_ADDR"])
    Crowd.go.wait(120)
    return HttpResponse(b"held")


def file(request: HttpRequest) -> HttpResponseBase:
    return FileResponse(BytesIO(b"x" * 200_000))


def broken(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError("secret")


def ask_database(request: HttpRequest) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse(b"asked")


class ToldView(PunctualView):
    authentication_classes = []
    permission_classes = []
    seen: ClassVar[list[weakref.ref[Any]]] = []

    def get(self, request: Request) -> Response:
        self.seen.extend(weakref.ref(one) for one in (self, request, request._request))
        assert request.data == {}
        return Response({"told": "all"})


urlpatterns = [
    path("show", show),
    path("told", ToldView.as_view()),
    path("hold", hold),
    path("file", file),
    path("broken", broken),
    path("database", ask_database),
]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Meeting, "parties", threading.Barrier(1))
    monkeypatch.setattr(Crowd, "inside", [])
    monkeypatch.setattr(Crowd, "go", threading.Event())


@pytest.fixture
def marks() -> Iterator[list[tuple[str, str]]]:
    """Gather the beginnings and ends of requests, each with its thread."""
    seen: list[tuple[str, str]] = []

    def begin(**_: Any) -> None:
        seen.append(("begin", threading.current_thread().name))

    def end(**_: Any) -> None:
        seen.append(("end", threading.current_thread().name))

    signals.request_started.connect(begin)
    signals.request_finished.connect(end)
    yield seen
    signals.request_started.disconnect(begin)
    signals.request_finished.disconnect(end)


def call(
    handler: ThreadedHandler, path: str, method: str = "GET", address: str = ""
) -> ApplicationCommunicator:
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": [address, 1],
    }
    return ApplicationCommunicator(handler, scope)


async def answer_of(communicator: ApplicationCommunicator) -> tuple[int, bytes]:
    start = await communicator.receive_output(120)
    body = b""
    while True:
        part = await communicator.receive_output(120)
        body += part.get("body", b"")
        if not part.get("more_body"):
            break
    await communicator.wait(120)
    return start["status"], body


async def get(
    handler: ThreadedHandler, path: str, body: bytes = b"", address: str = ""
) -> tuple[int, bytes]:
    communicator = call(handler, path, address=address)
    await communicator.send_input({"type": "http.request", "body": body})
    return await answer_of(communicator)


async def test_a_request_begins_and_ends_in_one_thread_of_the_pool(marks: list[tuple[str, str]]):
    status, body = await get(ThreadedHandler(), "/show", b"hello")

    said = orjson.loads(body)
    assert (status, said["body"]) == (200, "hello")
    assert said["thread"].startswith("web")
    assert marks == [("begin", said["thread"]), ("end", said["thread"])]


def test_nothing_of_a_request_waits_for_the_garbage_collector():
    gc.disable()
    try:
        status, body = asyncio.run(get(ThreadedHandler(), "/told"))
        until(lambda: not any(one() for one in ToldView.seen))
    finally:
        gc.enable()

    assert (status, orjson.loads(body)) == (200, {"told": "all"})
    assert len(ToldView.seen) == 3


async def test_requests_at_the_same_time_have_a_thread_each(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Meeting, "parties", threading.Barrier(5))
    handler = ThreadedHandler()

    answers = await asyncio.gather(*(get(handler, "/show") for _ in range(5)))

    assert len({orjson.loads(body)["thread"] for _, body in answers}) == 5


async def until_some_wait(handler: ThreadedHandler) -> None:
    async with asyncio.timeout(120):
        while True:
            if handler._slots.waiting:
                return
            await asyncio.sleep(0)


async def test_a_crowd_of_one_caller_leaves_threads_to_others():
    handler = ThreadedHandler()
    await get(handler, "/show", address="10.0.0.2")
    crowd = [
        asyncio.ensure_future(get(handler, "/hold", address="10.0.0.1")) for _ in range(2 * THREADS)
    ]
    try:
        await until_some_wait(handler)

        status, _ = await asyncio.wait_for(get(handler, "/show", address="10.0.0.2"), 120)

        assert status == 200
        assert 0 < len(Crowd.inside) < THREADS
    finally:
        Crowd.go.set()
        answers = await asyncio.gather(*crowd)
    assert {status for status, _ in answers} == {200}
    assert len(Crowd.inside) == 2 * THREADS


async def test_a_file_is_sent_whole_and_closed(marks: list[tuple[str, str]]):
    status, body = await get(ThreadedHandler(), "/file")

    assert (status, len(body)) == (200, 200_000)
    assert [what for what, _ in marks] == ["begin", "end"]


async def test_a_fault_of_ours_is_answered_without_a_traceback():
    status, body = await get(ThreadedHandler(), "/broken")

    assert status == 500
    assert b"secret" not in body
    assert b"Traceback" not in body


async def test_a_body_that_breaks_off_is_not_worked_on(marks: list[tuple[str, str]]):
    communicator = call(ThreadedHandler(), "/show", "POST")
    await communicator.send_input({"type": "http.request", "body": b"hel", "more_body": True})
    await communicator.send_input({"type": "http.disconnect"})

    await communicator.wait(120)

    assert await communicator.receive_nothing()
    assert marks == []


async def test_a_body_in_parts_is_put_together():
    communicator = call(ThreadedHandler(), "/show")
    for part, more in ((b"hel", True), (b"lo", False)):
        await communicator.send_input({"type": "http.request", "body": part, "more_body": more})

    _, body = await answer_of(communicator)

    assert orjson.loads(body)["body"] == "hello"


@pytest.mark.django_db(transaction=True)
async def test_the_connection_of_a_request_is_let_go_when_it_ends(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)
    handler = ThreadedHandler()
    seen: list[Any] = []

    def note(**_: Any) -> None:
        seen.append(connection.connection)

    # Connected behind Django's own receiver, which closes what is too old.
    signals.request_finished.connect(note)
    try:
        status, _ = await get(handler, "/database")
    finally:
        signals.request_finished.disconnect(note)

    assert status == 200
    assert seen == [None]


async def test_only_http_is_answered():
    communicator = ApplicationCommunicator(ThreadedHandler(), {"type": "lifespan"})

    with pytest.raises(ValueError, match="lifespan"):
        await communicator.wait(120)
