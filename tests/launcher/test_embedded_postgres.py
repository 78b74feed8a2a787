from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from launcher.embedded import EmbeddedError, place_servers
from launcher.embedded_postgres import EmbeddedPostgres, tunable
from launcher.machine_memory import memory_bytes
from tests.support.ending import has_ended
from tests.support.servers import SECRETS, reachable_directory, remove, spawn_server, stop_server


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    directory = reachable_directory(tmp_path_factory.mktemp("postgres") / "data")
    yield directory
    remove(directory, place_servers(directory))


@pytest.fixture
def server(data_dir):
    return EmbeddedPostgres(place_servers(data_dir), SECRETS, durable=False)


@pytest.fixture
def running(server):
    process = spawn_server(server)
    server.wait_ready()
    yield process
    if process.poll() is None:
        stop_server(server, process)


def show(server, name):
    with psycopg.connect(server.url) as connection:
        [(value,)] = connection.execute("SELECT current_setting(%s)", [name]).fetchall()
    return value


def test_second_start_finds_what_the_first_one_stored(server):
    process = spawn_server(server)
    server.wait_ready()
    with psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 42 AS answer")
    stop_server(server, process)
    assert process.returncode == 0

    process = spawn_server(server)
    server.wait_ready()
    with psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
    stop_server(server, process)


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("listen_addresses", ""),
        ("data_checksums", "on"),
        ("TimeZone", "UTC"),
        ("max_connections", "100"),
        ("max_wal_size", "4GB"),
        ("autovacuum_naptime", "20s"),
        ("server_encoding", "UTF8"),
        ("password_encryption", "scram-sha-256"),
        ("unix_socket_permissions", "0700"),
    ],
)
def test_settings_are_those_that_were_decided(server, name, value):
    assert show(server, name) == value


@pytest.mark.parametrize(
    ("memory_gib", "buffers"), [(0.25, "128MB"), (1, "256MB"), (4, "1024MB"), (64, "1024MB")]
)
def test_tables_are_kept_in_a_quarter_of_the_memory_within_bounds(memory_gib, buffers):
    assert tunable(int(memory_gib * 2**30))["shared_buffers"] == buffers


@pytest.mark.usefixtures("running")
def test_the_server_has_the_buffers_of_this_machine(server):
    megabytes = tunable(memory_bytes())["shared_buffers"]

    assert show(server, "shared_buffers") in {megabytes, megabytes.replace("1024MB", "1GB")}


@pytest.mark.usefixtures("running")
def test_durability_is_off_for_tests_only(server):
    assert show(server, "fsync") == "off"
    durable = EmbeddedPostgres(server.placement, SECRETS)

    assert "fsync=off" not in durable.process().argv


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("password", ["wrong", ""])
def test_nobody_gets_in_without_the_password(server, password, monkeypatch):
    monkeypatch.setenv("PGPASSFILE", "/dev/null")
    sockets = str(server.placement.sockets)

    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(host=sockets, user="punctual", password=password, dbname="punctual")


@pytest.mark.usefixtures("running")
def test_another_installations_secrets_are_explained(server):
    other = EmbeddedPostgres(server.placement, {"postgres_password": "other"}, durable=False)

    with pytest.raises(EmbeddedError, match=r"password in secrets\.json"):
        other.probe()


def test_nothing_listens_on_tcp_and_files_belong_to_the_server_alone(server, running):
    owner = server.placement.account.uid if server.placement.account else os.geteuid()

    assert Path(f"/proc/{running.pid}").stat().st_uid == owner
    assert owner != 0
    for directory in (server.data, server.placement.base / "logs", server.placement.sockets):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert directory.stat().st_uid == owner
    socket = server.placement.sockets / ".s.PGSQL.5432"
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700
    assert (server.data / "pg_hba.conf").read_text().splitlines()[1:] == [
        "local all all scram-sha-256"
    ]
    assert not listening_inodes() & socket_inodes(running.pid)


def listening_inodes() -> set[str]:
    found = set()
    for table in ("tcp", "tcp6"):
        path = Path("/proc/net") / table
        rows = path.read_text().splitlines()[1:] if path.exists() else []
        # Column 4 is the state, 0A is LISTEN; column 10 the inode.
        found |= {row.split()[9] for row in rows if row.split()[3] == "0A"}
    return found


def socket_inodes(pid: int) -> set[str]:
    links = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
    return {link[8:-1] for link in links if link.startswith("socket:[")}


def test_password_is_neither_on_the_command_line_nor_in_the_environment(server):
    spec = server.process()

    assert SECRETS["postgres_password"] not in " ".join(spec.argv)
    assert set(spec.environment) == {"PATH", "LC_ALL", "TZ"}


def test_killed_server_starts_again_over_its_stale_files(server):
    process = spawn_server(server)
    server.wait_ready()
    children = children_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # Until they notice, they hold its memory, and a start beside them ends at once: the
    # supervisor tries again then, and one start by hand does not.
    assert all(has_ended(child) for child in children)
    assert (server.data / "postmaster.pid").exists()

    process = spawn_server(server)
    server.wait_ready()

    stop_server(server, process)


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_stale_pid_that_another_process_has_now_is_no_obstacle(server):
    lines = [str(os.getpid()), str(server.data), "0", "5432", str(server.placement.sockets), "", ""]
    server.prepare()
    (server.data / "postmaster.pid").write_text("\n".join(lines))

    process = spawn_server(server)
    server.wait_ready()

    stop_server(server, process)


def test_interrupted_first_start_is_begun_anew(tmp_path):
    data_dir = reachable_directory(tmp_path / "data")
    placement = place_servers(data_dir)
    server = EmbeddedPostgres(placement, SECRETS, durable=False)
    (placement.base / "postgres.new" / "cluster").mkdir(parents=True)

    server.prepare()

    assert (server.data / "PG_VERSION").read_text() == "18\n"
    assert not (placement.base / "postgres.new").exists()
    remove(data_dir, placement)


def test_server_that_never_answers_is_given_up_after_the_timeout(server):
    with pytest.raises(EmbeddedError, match="postgresql did not answer"):
        server.wait_ready(timeout=0.1)


def test_server_ends_with_the_process_that_started_it(server):
    program = (
        "import sys, pathlib\n"
        "from tests.support.servers import *\n"
        f"placement = place_servers(pathlib.Path({str(server.placement.base)!r}))\n"
        "server = EmbeddedPostgres(placement, SECRETS, durable=False)\n"
        "process = spawn_server(server); server.wait_ready()\n"
        "print(process.pid, flush=True); sys.stdin.read()\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        starter.kill()

    assert has_ended(pid)
