from __future__ import annotations

import socket
import stat
import threading
from pathlib import Path

import pytest

from shared.unix_http import UnixConnection, listener

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


def answer_once(server: socket.socket) -> None:
    server.setblocking(True)
    connection, _ = server.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(ANSWER)


@pytest.mark.parametrize("depth", [1, 40])
def test_a_file_answers_however_long_its_path_is(tmp_path: Path, depth: int):
    directory = tmp_path.joinpath(*["deep"] * depth)
    directory.mkdir(parents=True)
    with listener(directory / "x.sock") as server:
        thread = threading.Thread(target=answer_once, args=[server])
        thread.start()
        connection = UnixConnection(directory / "x.sock", 20)
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"hi"
        connection.close()
        thread.join(20)


def test_only_its_owner_may_connect_and_an_old_file_is_replaced(tmp_path: Path):
    path = tmp_path / "x.sock"
    path.touch(0o644)

    with listener(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_ISSOCK(path.stat().st_mode)


def test_a_file_that_nobody_listens_on_is_an_error_of_the_system(tmp_path: Path):
    listener(tmp_path / "x.sock").close()

    for name in ("x.sock", "none.sock"):
        connection = UnixConnection(tmp_path / name, 5)
        with pytest.raises(OSError, match=r"refused|No such file"):
            connection.request("GET", "/")
        connection.close()


def test_a_directory_that_is_not_there_is_an_error_of_the_system(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        listener(tmp_path / "none" / "x.sock")
