from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator, Sequence

import pytest

from bench.peers.target import Target, parse_arrivals


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
