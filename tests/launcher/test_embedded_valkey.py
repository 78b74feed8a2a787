from __future__ import annotations

import os
import platform
import stat
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from launcher.embedded import EmbeddedError, Placement, place_servers
from launcher.embedded_valkey import EmbeddedValkey
from tests.support.servers import SECRETS, reachable_directory, remove, spawn_server, stop_server

ONCE = Retry(NoBackoff(), 0)


@pytest.fixture
def data_dir(tmp_path):
    directory = reachable_directory(tmp_path / "data")
    yield directory
    remove(directory, place_servers(directory))


@pytest.fixture
def server(data_dir):
    return EmbeddedValkey(place_servers(data_dir), SECRETS)


@pytest.fixture
def running(server):
    process = spawn_server(server)
    server.wait_ready()
    yield process
    if process.poll() is None:
        stop_server(server, process)


@pytest.fixture
def client(server, running):
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        yield client


def test_what_was_stored_survives_a_restart(server):
    for expected in (None, "kept"):
        process = spawn_server(server)
        server.wait_ready()
        with redis.Redis.from_url(server.url, decode_responses=True) as client:
            assert client.get("key") == expected
            client.set("key", "kept")
        stop_server(server, process)
        assert process.returncode == 0


def test_what_was_synced_survives_a_kill(server):
    process = spawn_server(server)
    server.wait_ready()
    with redis.Redis.from_url(server.url) as client:
        client.set("key", "kept")
        client.waitaof(1, 0, 5000)
    process.kill()
    process.wait()

    process = spawn_server(server)
    server.wait_ready()
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        assert client.get("key") == "kept"
    stop_server(server, process)


def test_settings_are_those_that_were_decided(client):
    wanted = {
        "port": "0",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
        "save": "",
    }

    assert {name: client.config_get(name)[name] for name in wanted} == wanted


@pytest.mark.usefixtures("running")
def test_nobody_gets_in_without_the_password(server):
    socket = str(server.placement.sockets / "valkey.sock")

    for password in (None, "wrong"):
        with (
            redis.Redis(unix_socket_path=socket, password=password, retry=ONCE) as client,
            pytest.raises(redis.exceptions.AuthenticationError),
        ):
            client.ping()


@pytest.mark.usefixtures("running")
def test_another_installations_secrets_are_explained(server):
    other = EmbeddedValkey(server.placement, {"valkey_password": "other"})

    with pytest.raises(EmbeddedError, match="refuses the password"):
        other.probe()


def test_files_and_socket_belong_to_the_server_alone(server, running):
    owner = server.placement.account.uid if server.placement.account else os.geteuid()

    assert owner != 0
    assert Path(f"/proc/{running.pid}").stat().st_uid == owner
    wanted = {
        server.data: 0o700,
        server.data / "valkey.conf": 0o600,
        server.placement.sockets / "valkey.sock": 0o700,
    }
    for path, mode in wanted.items():
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert path.stat().st_uid == owner


def test_password_is_not_on_the_command_line(running):
    shown = Path(f"/proc/{running.pid}/cmdline").read_bytes()

    assert SECRETS["valkey_password"].encode() not in shown


def test_password_with_special_characters_works(data_dir):
    secrets = {"valkey_password": "a b\"c\\d'e#f/g@h:i%j"}
    server = EmbeddedValkey(place_servers(data_dir), secrets)

    process = spawn_server(server)
    server.wait_ready()

    stop_server(server, process)


def test_stale_socket_and_pid_file_are_no_obstacle(server):
    server.prepare()
    (server.data / "valkey.pid").write_text(f"{os.getpid()}\n")
    (server.placement.sockets / "valkey.sock").touch()

    process = spawn_server(server)
    server.wait_ready()

    stop_server(server, process)


def test_tests_may_do_without_durability(data_dir):
    server = EmbeddedValkey(place_servers(data_dir), SECRETS, durable=False)

    server.prepare()

    assert "appendonly no" in (server.data / "valkey.conf").read_text().splitlines()


def test_machine_that_the_wheel_does_not_serve_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    server = EmbeddedValkey(Placement(tmp_path, tmp_path, None), SECRETS)

    with pytest.raises(EmbeddedError, match="linux-riscv64"):
        server.process()
