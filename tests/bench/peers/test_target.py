from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence

import pytest

from bench.installation import InstallationError
from bench.peers.target import Target, await_calls, parse_arrivals, running


class Answers:
    """Listens, and gives each connection its answer."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(10.0)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, args=(answers,))
        self._thread.start()

    def _serve(self, answers: Sequence[bytes]) -> None:
        for answer in answers:
            connection, _ = self._listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    def close(self) -> None:
        self._thread.join()
        self._listener.close()


@pytest.fixture
def broken_then_well() -> Iterator[Answers]:
    found = Answers([b"nonsense\r\n\r\n", b"HTTP/1.1 200 -\r\nContent-Length: 1\r\n\r\n7"])
    yield found
    found.close()


def test_after_a_broken_answer_the_next_question_is_asked_anew(broken_then_well: Answers):
    target = Target(broken_then_well.url, 1)

    with pytest.raises(http.client.HTTPException):
        target.count()

    assert target.count() == 7
    target.close()


def test_arrivals_are_read_line_by_line():
    assert parse_arrivals("3 100\n1 200\n") == [(3, 100), (1, 200)]
    assert parse_arrivals("") == []


def test_the_receiver_listens_on_the_address_that_it_is_given():
    with running("127.0.0.2") as target:
        assert target.url.startswith("http://127.0.0.2:")
        assert target.count() == 0
        assert target.arrivals() == []


def test_an_address_that_is_not_ours_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch):
    silent = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: silent)

    with (
        pytest.raises(InstallationError, match=r"did not start on 192\.0\.2\.1"),
        running("192.0.2.1"),
    ):
        pass


class Counts:
    """Tells one count after the other, the last again and again."""

    def __init__(self, *counts: int) -> None:
        self.left = list(counts)

    def count(self) -> int:
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


def test_calls_are_awaited_until_all_have_come():
    target = Counts(1, 2, 2, 3)

    found = await_calls(target, 3, stall_seconds=60, look_seconds=0)  # type: ignore[arg-type]  # a fake

    assert found == 3


def test_waiting_for_calls_ends_when_none_comes():
    target = Counts(0, 2)

    found = await_calls(target, 3, stall_seconds=0, look_seconds=0)  # type: ignore[arg-type]  # a fake

    assert found < 3
