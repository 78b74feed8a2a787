from __future__ import annotations

import io
import os
import socket
import stat
from dataclasses import replace
from uuid import UUID

import pytest

from executions.triggering.receiver_requests import segment
from launcher import local_state, up
from launcher.console import Console
from launcher.plan import UpOptions
from launcher.run_lock import RunLock
from launcher.spawning import ProcessSpec, Spawner
from launcher.supervised_process import SupervisedProcess
from launcher.supervisor import Supervisor
from launcher.up import Runtime, UpFailure, readiness_table, run_up
from shared.conf import conf
from tests.support.recounting import recounts

TENANT = UUID(int=1)


@pytest.fixture
def options(tmp_path) -> UpOptions:
    return UpOptions(
        data_dir=tmp_path,
        host="127.0.0.1",
        port=18200,
        receiver_port=18201,
        database_url="postgresql://somewhere/db",
        redis_url="redis://somewhere",
        webs=1,
        schedulers=1,
        workers=1,
        recorders=1,
    )


def start(options: UpOptions) -> UpFailure:
    console = Console(io.StringIO())
    try:
        with pytest.raises(UpFailure) as caught:
            run_up(options, console, lambda text: None)
    finally:
        console.close()
    return caught.value


def test_second_start_says_who_runs_and_where(options):
    local_state.write_runtime(options.data_dir, {"public_url": "http://127.0.0.1:9999"})

    with RunLock(options.data_dir):
        failure = start(options)

    assert str(failure) == f"Punctual already runs (pid {os.getpid()}, http://127.0.0.1:9999)"
    assert failure.code == 4


@pytest.mark.parametrize("variable", ["PORT", "RECEIVER_PORT"])
def test_taken_port_is_named_before_anything_starts(options, variable):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        field = variable.lower()
        failure = start(replace(options, database_url="", redis_url="", **{field: taken}))

    assert f"Port {taken} on 127.0.0.1 cannot be used" in str(failure)
    assert f"set {variable}" in str(failure)
    assert failure.code == 1
    assert not (options.data_dir / "postgres").exists()


@pytest.mark.parametrize(
    ("change", "url", "named"),
    [
        ({"host": "0.0.0.0"}, "", "HOST names '0.0.0.0'"),
        ({"host": "::"}, "", "HOST names '::'"),
        ({}, "https://punctual.example.com", "PUBLIC_URL names 'punctual.example.com'"),
        ({"receiver": False}, "", "needs the test receiver"),
    ],
)
def test_a_demo_that_others_could_reach_is_refused(options, monkeypatch, change, url, named):
    if url:
        monkeypatch.setenv("PUBLIC_URL", url)

    failure = start(replace(options, demo=True, **change))

    assert named in str(failure)
    assert list(options.data_dir.glob("*.sock")) == []


def test_host_that_is_no_address_is_refused(options):
    failure = start(replace(options, host="no such host"))

    assert "HOST 'no such host'" in str(failure)


@recounts("process.restarts")
def test_runtime_file_tells_addresses_and_living_processes(options):
    supervisor = Supervisor([], [], lambda name, line: None)
    process = SupervisedProcess(
        ProcessSpec("web", "web-1", ("x",), {}), lambda name, line: None, lambda: None, Spawner()
    )
    process.pid, process.restarts, process.started_at = 123, 2, 4.5
    supervisor.processes.append(process)

    Runtime(options, {}, supervisor).write()

    found = local_state.load_runtime(options.data_dir)
    assert found["public_url"] == "http://127.0.0.1:18200"
    assert found["receiver_url"] == "http://127.0.0.1:18201/"
    assert found["database_url"] == options.database_url
    assert found["pid"] == os.getpid()
    assert found["processes"] == [
        {"kind": "web", "name": "web-1", "pid": 123, "restarts": 2, "started_at": 4.5}
    ]
    mode = (options.data_dir / local_state.RUNTIME_FILE).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_full_disk_is_reported_and_does_not_end_the_watch(options, monkeypatch):
    log: list[str] = []

    def fail(directory, values):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local_state, "write_runtime", fail)

    Runtime(options, {}, Supervisor([], [], lambda name, line: log.append(line))).write()

    assert "No space left on device" in log[0]


def test_readiness_table_shows_new_secrets_once(options):
    made = {"tenant_id": str(TENANT), "api_key": "pk_1", "login_url": "/login/abc"}

    table = readiness_table(options, made)

    assert "http://127.0.0.1:18200/v1/docs/" in table
    assert "pk_1" in table
    assert "http://127.0.0.1:18200/login/abc" in table
    assert f"http://127.0.0.1:18201/{segment(TENANT)}/" in table


def test_readiness_table_has_no_login_link_where_output_is_collected(options):
    made = {"tenant_id": str(TENANT), "api_key": None, "login_url": "/login/abc"}

    table = readiness_table(options, made, secret=False)

    assert "/login/abc" not in table
    assert "manage.py accounts login-link admin" in table


def test_readiness_table_of_a_later_start_has_no_secrets(options):
    table = readiness_table(options, {"tenant_id": str(TENANT), "api_key": None, "login_url": None})

    assert "API key" not in table
    assert "Login link" not in table


@pytest.mark.parametrize("fenced", [True, False])
def test_readiness_table_says_that_a_restored_installation_is_held_back(options, fenced):
    made = {"tenant_id": str(TENANT), "api_key": None, "login_url": None, "fenced": fenced}

    assert ("restore --confirm" in readiness_table(options, made)) is fenced


def test_a_receiver_that_is_turned_off_needs_no_port_and_is_not_shown(options):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = replace(options, receiver_port=other.getsockname()[1])
        up._refuse_taken_ports(replace(taken, receiver=False))
        with pytest.raises(UpFailure, match="RECEIVER_PORT"):
            up._refuse_taken_ports(taken)

    made = {"tenant_id": str(TENANT), "api_key": None, "login_url": None}
    assert "Test receiver" in readiness_table(options, made)
    assert "Test receiver" not in readiness_table(replace(options, receiver=False), made)


def test_it_does_not_start_where_programs_of_commands_have_no_account(options, settings):
    settings.PUNCTUAL = replace(
        conf(), allowed_commands={"sh": "/bin/sh"}, command_user="no-such-user"
    )

    assert "no-such-user" in str(start(options))


def test_where_lines_are_json_readiness_is_one_without_secrets(options, json_lines, settings):
    settings.LOGGING = {**settings.LOGGING, "json": True}
    bootstrap = {"tenant_id": str(TENANT), "api_key": "canary-key", "login_url": "/canary-link"}
    said: list[str] = []

    up._announce(options, bootstrap, said.append)

    [line] = json_lines()
    facts = {"url": options.public_url, "receiver_url": options.receiver_url, "fenced": False}
    assert {"event": "installation.ready", **facts}.items() <= line.items()
    assert "canary" not in repr(line)
    assert said == []
