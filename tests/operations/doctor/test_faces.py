from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from launcher import local_state
from launcher.run_lock import RunLock
from operations.doctor import Verdict, faces


@contextlib.contextmanager
def _server(*answers: bytes) -> Iterator[int]:
    """Listen; say each answer after a line of the caller, the first one without waiting."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                for number, answer in enumerate(answers):
                    if number or answer.startswith(b"HTTP"):
                        connection.recv(65536)
                    connection.sendall(answer)
                connection.recv(65536)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(10)


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _smtp(settings, port: int) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    settings.EMAIL_HOST_USER = ""


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    monkeypatch.setattr(faces, "_SECONDS", 60.0)


def test_without_a_mail_server_it_says_where_messages_go(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"

    assert "console" in faces.mail().evidence
    assert faces.mail().verdict is Verdict.OK


def test_a_mail_server_that_answers_is_good(settings):
    with _server(b"220 mail ESMTP\r\n", b"250 mail\r\n", b"221 bye\r\n") as port:
        _smtp(settings, port)
        found = faces.mail()

    assert found.verdict is Verdict.OK, found.evidence


def test_a_mail_server_that_is_away_is_broken(settings):
    _smtp(settings, _closed_port())

    found = faces.mail()

    assert (found.verdict, found.unreachable) == (Verdict.FAILED, False)
    assert "EMAIL" in found.remedy


def test_a_live_message_goes_around_through_redis(servers, django_db_modify_db_settings):
    assert faces.channel_layer().verdict is Verdict.OK


def test_a_channel_layer_without_redis_is_broken(settings, monkeypatch):
    settings.REDIS_URL = f"redis://127.0.0.1:{_closed_port()}/0"
    monkeypatch.setattr(faces, "_SECONDS", 0.5)

    assert faces.channel_layer().verdict is Verdict.FAILED


@pytest.fixture
def running(tmp_path, monkeypatch):
    """Let an ``up`` run on a data directory whose web process is at the port given."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))

    def at(port: int) -> None:
        local_state.write_runtime(tmp_path, {"public_url": f"http://127.0.0.1:{port}"})

    with RunLock(tmp_path):
        yield at


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ("101 Switching Protocols", Verdict.OK),
        ("403 Forbidden", Verdict.OK),
        ("404 Not Found", Verdict.WARNING),
        ("500 Internal Server Error", Verdict.WARNING),
    ],
)
def test_the_live_route_is_judged_by_its_answer(running, status, verdict):
    with _server(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()) as port:
        running(port)
        found = faces.live_socket()

    assert found.verdict is verdict
    assert f"/ws/live answers {status[:3]}" in found.evidence


def test_a_web_process_that_is_away_is_broken(running):
    running(_closed_port())

    assert faces.live_socket().verdict is Verdict.FAILED


def test_without_up_nobody_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_DIR", str(tmp_path))

    assert faces.live_socket().verdict is Verdict.OK
